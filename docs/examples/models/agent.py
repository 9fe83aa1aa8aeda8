import json

from openai import OpenAI

client = OpenAI()
PROMPT = "You answer the customers of a shop. Look an order up before you speak about it."
PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
TOOL = {"name": "order_status", "description": "Say where an order is.", "parameters": PARAMETERS}
ORDERS = {"A-1042": "shipped, and arrives on Monday"}


def order_status(order):
    return ORDERS.get(order, "there is no such order")


class Agent:
    def __init__(self):
        self.messages = [{"role": "system", "content": PROMPT}]

    def send(self, message):
        self.messages.append({"role": "user", "content": message})
        while True:
            answer = client.chat.completions.create(
                model="gpt-4o-mini", messages=self.messages, tools=[{"type": "function", "function": TOOL}]
            )
            said = answer.choices[0].message
            self.messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                result = order_status(**json.loads(call.function.arguments))
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
