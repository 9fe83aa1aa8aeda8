from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5-mini", instructions="You help the customers of a shop.")


@agent.tool_plain
def order_status(order: str) -> str:
    """Say where an order is."""
    return f"order {order} is on its way"
