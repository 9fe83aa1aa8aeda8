"""Chat completions with a tool, by the SDK of OpenAI; the client is made when the module is imported."""

import json

from openai import OpenAI
from seen import ABOUT, SCHEMA, Seen, lookup

client = OpenAI()
TOOLS = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]


class Agent:
    def __init__(self):
        self.messages = [{"role": "system", "content": "You help customers."}]
        self.seen = Seen()

    def reply(self, message):
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
