from smolagents import OpenAIModel, ToolCallingAgent, tool


@tool
def order_status(order: str) -> str:
    """Say where an order is.

    Args:
        order: The number of the order.
    """
    return f"order {order} is on its way"


agent = ToolCallingAgent([order_status], OpenAIModel("gpt-5-mini"), instructions="You help customers.")
