"""Responses with a tool; the provider keeps the conversation, so each request has only what is new."""

import json

from openai import OpenAI
from seen import ABOUT, SCHEMA, Seen, lookup

client = OpenAI()
TOOLS = [{"type": "function", **ABOUT, "parameters": SCHEMA, "strict": False}]


class Agent:
    def __init__(self):
        self.previous = None
        self.seen = Seen()

    def reply(self, message):
        new = [{"role": "user", "content": message}]
        while True:
            answer = client.responses.create(
                model="gpt-4o-mini", input=new, tools=TOOLS, previous_response_id=self.previous
            )
            self.seen(answer.model_dump_json())
            self.previous = answer.id
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return answer.output_text
            new = [
                {
                    "type": "function_call_output",
                    "call_id": call.call_id,
                    "output": lookup(**json.loads(call.arguments)),
                }
                for call in calls
            ]
