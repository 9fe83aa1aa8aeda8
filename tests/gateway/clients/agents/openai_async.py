"""The same with the asynchronous client."""

import json

from openai import AsyncOpenAI
from seen import ABOUT, SCHEMA, Seen, lookup

client = AsyncOpenAI()
TOOLS = [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}]


class Agent:
    def __init__(self):
        self.messages = []
        self.seen = Seen()

    async def reply(self, message):
        self.messages.append({"role": "user", "content": message})
        while True:
            answer = await client.chat.completions.create(
                model="gpt-4o-mini", messages=self.messages, tools=TOOLS
            )
            self.seen(answer.model_dump_json())
            said = answer.choices[0].message
            self.messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                result = lookup(**json.loads(call.function.arguments))
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
