from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool
def order_status(order: str) -> str:
    """Say where an order is."""
    return f"order {order} is on its way"


about = {"role": "clerk", "goal": "Help customers.", "backstory": "You work in a shop."}
clerk = Agent(**about, llm="openai/gpt-5-mini", tools=[order_status])
task = Task(description="{history}\n\nCustomer: {message}", expected_output="A reply.", agent=clerk)
crew = Crew(agents=[clerk], tasks=[task])
