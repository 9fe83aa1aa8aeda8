from agents import Agent, function_tool, set_default_openai_api

set_default_openai_api("chat_completions")  # leave it out for the Responses API


@function_tool
def order_status(order: str) -> str:
    """Say where an order is."""
    return f"order {order} is on its way"


agent = Agent("shop", instructions="You help the customers of a shop.", tools=[order_status])
