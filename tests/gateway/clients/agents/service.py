"""An agent behind HTTP: `python service.py PORT`. It calls a model with the SDK of OpenAI.

A request may say where its models are (`model_url`); otherwise the environment does, as for any program.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai import OpenAI
from seen import ABOUT, SCHEMA, Seen, lookup

TOOLS = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]
conversations = {}


class Conversation:
    def __init__(self):
        self.messages = []
        self.seen = Seen()

    def reply(self, client, message):
        self.messages.append({"role": "user", "content": message})
        while True:
            answer = client.chat.completions.create(model="gpt-4o-mini", messages=self.messages, tools=TOOLS)
            self.seen(answer.model_dump_json())
            said = answer.choices[0].message
            self.messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                result = lookup(**json.loads(call.function.arguments))
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        conversation = conversations.setdefault(asked["conversation"], Conversation())
        with OpenAI(base_url=asked.get("model_url")) as client:
            body = json.dumps({"reply": conversation.reply(client, asked["message"])}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("READY", server.server_port, flush=True)  # noqa: T201
    server.serve_forever()
