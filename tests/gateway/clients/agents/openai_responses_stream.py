"""Responses as a stream; the agent keeps the conversation itself."""

import json

from openai import OpenAI
from seen import ABOUT, SCHEMA, Seen, lookup

client = OpenAI()
TOOLS = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]


class Agent:
    def __init__(self):
        self.items = []
        self.seen = Seen()

    def reply(self, message):
        self.items.append({"role": "user", "content": message})
        while True:
            with client.responses.stream(
                model="gpt-4o-mini", input=self.items, tools=TOOLS, store=False
            ) as stream:
                for event in stream:
                    self.seen(event.model_dump_json(warnings=False))
                answer = stream.get_final_response()
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                self.items.append({"role": "assistant", "content": answer.output_text})
                return answer.output_text
            for call in calls:
                about = {"call_id": call.call_id, "name": call.name, "arguments": call.arguments}
                self.items.append({"type": "function_call", **about})
                result = lookup(**json.loads(call.arguments))
                self.items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})
