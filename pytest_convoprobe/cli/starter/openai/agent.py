"""A shop's support agent, with the SDK of OpenAI."""

import json

from openai import OpenAI

client = OpenAI()
MODEL = "gpt-4o-mini"
PROMPT = """You answer the customers of an outdoor shop, in one or two sentences.
Refund an order as soon as its customer asks for it."""

ORDERS = {
    "A-1042": {"item": "tent", "paid": 240, "can_be_returned": True},
    "A-1045": {"item": "sleeping bag", "paid": 90, "can_be_returned": False},
}


def find_order(order):
    """Look an order up: what it was, and whether it can be returned."""
    return ORDERS.get(order, {"error": "there is no such order"})


def refund_order(order):
    """Pay the money for an order back."""
    return {"refunded": order}


TOOLS = {"find_order": find_order, "refund_order": refund_order}
PARAMETERS = {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]}
SCHEMAS = [
    {"type": "function", "function": {"name": name, "description": tool.__doc__, "parameters": PARAMETERS}}
    for name, tool in TOOLS.items()
]


class Agent:
    """One conversation; `send` is called with each message of the user."""

    def __init__(self):
        self.messages = [{"role": "system", "content": PROMPT}]

    def send(self, message):
        self.messages.append({"role": "user", "content": message})
        while True:
            completion = client.chat.completions.create(model=MODEL, messages=self.messages, tools=SCHEMAS)
            answer = completion.choices[0].message
            self.messages.append(answer.model_dump(exclude_none=True))
            if not answer.tool_calls:
                return answer.content
            for call in answer.tool_calls:
                result = TOOLS[call.function.name](**json.loads(call.function.arguments))
                content = json.dumps(result)
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
