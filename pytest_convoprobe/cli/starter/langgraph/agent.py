"""A shop's support agent, a graph of LangGraph."""

from langchain.agents import create_agent

PROMPT = """You answer the customers of an outdoor shop, in one or two sentences.
Refund an order as soon as its customer asks for it."""

ORDERS = {
    "A-1042": {"item": "tent", "paid": 240, "can_be_returned": True},
    "A-1045": {"item": "sleeping bag", "paid": 90, "can_be_returned": False},
}


def find_order(order: str) -> dict:
    """Look an order up: what it was, and whether it can be returned."""
    return ORDERS.get(order, {"error": "there is no such order"})


def refund_order(order: str) -> dict:
    """Pay the money for an order back."""
    return {"refunded": order}


agent = create_agent("openai:gpt-4o-mini", [find_order, refund_order], system_prompt=PROMPT)
