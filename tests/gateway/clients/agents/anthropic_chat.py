"""Messages with a tool, by the SDK of Anthropic."""

from anthropic import Anthropic
from seen import ABOUT, SCHEMA, Seen, lookup

client = Anthropic()
TOOLS = [{**ABOUT, "input_schema": SCHEMA}]


class Agent:
    def __init__(self):
        self.messages = []
        self.seen = Seen()

    def reply(self, message):
        self.messages.append({"role": "user", "content": message})
        while True:
            answer = self.answered()
            content = [block.model_dump(exclude_none=True) for block in answer.content]
            self.messages.append({"role": "assistant", "content": content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return answer.content[0].text
            results = [
                {"type": "tool_result", "tool_use_id": call.id, "content": lookup(**call.input)}
                for call in calls
            ]
            self.messages.append({"role": "user", "content": results})

    def answered(self):
        asked = {"model": "claude-sonnet-4-5", "max_tokens": 200, "messages": self.messages}
        answer = client.messages.create(**asked, system="You help customers.", tools=TOOLS)
        self.seen(answer.model_dump_json())
        return answer
