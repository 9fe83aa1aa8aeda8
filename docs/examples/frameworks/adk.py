from google.adk.agents import LlmAgent
from google.adk.models.lite_llm import LiteLlm


def order_status(order: str) -> str:
    """Say where an order is."""
    return f"order {order} is on its way"


def create_agent() -> LlmAgent:
    model = LiteLlm("openai/gpt-5-mini")
    return LlmAgent(name="shop", model=model, instruction="You help customers.", tools=[order_status])
