"""A shop's support agent in plain code. It calls any model with an API like OpenAI's."""

import json
import os

import httpx

MODEL = "gpt-4o-mini"
API = "https://api.openai.com/v1"
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
            answer = ask_model(self.messages)
            self.messages.append(answer)
            if not answer.get("tool_calls"):
                return answer["content"]
            for call in answer["tool_calls"]:
                result = TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
                content = json.dumps(result)
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})


def ask_model(messages):
    response = httpx.post(
        os.environ.get("OPENAI_BASE_URL", API) + "/chat/completions",
        headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
        json={"model": MODEL, "messages": messages, "tools": SCHEMAS},
        timeout=300,
    )
    response.raise_for_status()
    return response.json()["choices"][0]["message"]
