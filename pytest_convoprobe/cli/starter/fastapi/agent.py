"""A shop's support agent as a service: POST /chat answers the last message of a conversation."""

import json

from fastapi import FastAPI
from openai import AsyncOpenAI
from pydantic import BaseModel

app = FastAPI()
client = AsyncOpenAI()
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


class Conversation(BaseModel):
    messages: list[dict[str, str]]


@app.post("/chat")
async def chat(conversation: Conversation):
    messages = [{"role": "system", "content": PROMPT}, *conversation.messages]
    while True:
        completion = await client.chat.completions.create(model=MODEL, messages=messages, tools=SCHEMAS)
        answer = completion.choices[0].message
        messages.append(answer.model_dump(exclude_none=True))
        if not answer.tool_calls:
            return {"reply": answer.content}
        for call in answer.tool_calls:
            result = TOOLS[call.function.name](**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
