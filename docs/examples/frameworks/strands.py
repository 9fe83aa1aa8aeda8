from strands import Agent, tool
from strands.models.openai import OpenAIModel


@tool
def order_status(order: str) -> str:
    """Say where an order is."""
    return f"order {order} is on its way"


model = OpenAIModel(model_id="gpt-5-mini")
agent = Agent(model, tools=[order_status], system_prompt="You help customers.", callback_handler=None)
