"""The same as a stream."""

from anthropic_chat import TOOLS, client
from anthropic_chat import Agent as Whole


class Agent(Whole):
    def answered(self):
        asked = {"model": "claude-sonnet-4-5", "max_tokens": 200, "messages": self.messages}
        with client.messages.stream(**asked, system="You help customers.", tools=TOOLS) as stream:
            for event in stream:
                self.seen(event.model_dump_json(warnings=False))
            return stream.get_final_message()
