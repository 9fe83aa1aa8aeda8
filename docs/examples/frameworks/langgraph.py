from langchain.agents import create_agent


def order_status(order: str) -> str:
    """Say where an order is."""
    return f"order {order} is on its way"


agent = create_agent("openai:gpt-5-mini", [order_status], system_prompt="You help the customers of a shop.")
