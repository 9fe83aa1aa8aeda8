"""Chat completions as a stream, with a tool and the usage at the end."""

import json

from openai import OpenAI
from seen import ABOUT, SCHEMA, Seen, lookup

client = OpenAI()
TOOLS = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]


class Agent:
    def __init__(self):
        self.messages = []
        self.seen = Seen()

    def reply(self, message):
        self.messages.append({"role": "user", "content": message})
        while True:
            said = self.streamed()
            self.messages.append(said.model_dump(exclude_none=True, exclude={"parsed"}))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                result = lookup(**json.loads(call.function.arguments))
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

    def streamed(self):
        asked = {"model": "gpt-4o-mini", "messages": self.messages, "tools": TOOLS}
        with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
            for event in stream:
                if event.type == "chunk":
                    self.seen(event.chunk.model_dump_json())
            return stream.get_final_completion().choices[0].message
