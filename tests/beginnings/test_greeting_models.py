"""Agents that greet and call models themselves: their calls are attributed, recorded and replayed."""

from __future__ import annotations

import pytest

from .project import Project, outcome

AGENT = """
import openai
from pytest_convoprobe import Reply

class Agent:
    def __init__(self, context):
        self.client = openai.OpenAI(api_key="none", max_retries=0, **self.where(context))
        self.said = [{"role": "system", "content": "You sell zebras."}]
    def where(self, context):
        return {}
    def greet(self):
        return self.ask()
    def send(self, message):
        self.said.append({"role": "user", "content": message})
        return self.ask()
    def ask(self):
        done = self.client.chat.completions.create(model="agent", messages=self.said)
        self.said.append({"role": "assistant", "content": done.choices[0].message.content})
        return done.choices[0].message.content

class Own(Agent):
    def where(self, context):
        return {"base_url": context.model_url}

class Instructs(Agent):
    def greet(self):
        self.said.append({"role": "user", "content": "Greet the customer."})
        return self.ask()

class Cued(Agent):
    greet = None
"""


@pytest.fixture
def shop(project: Project) -> Project:
    project.write("agent.py", AGENT)
    return project


def several(project: Project, number: int = 4) -> None:
    for one in range(number):
        user = {"first": "agent", "initial_query": f"I want zebra number {one}.", "max_turns": 1}
        project.scenario(user, name=f"Zebra {one}", file=f"zebra_{one}.yaml")


@pytest.mark.parametrize("agent", ["Agent", "Own"])
def test_the_calls_of_greetings_are_recorded_and_replayed(shop: Project, agent: str) -> None:
    models = {"openai": shop.server.base_url}
    shop.target(type="python", object=f"agent.py:{agent}", models=models)
    several(shop)
    assert outcome(shop.run("--convoprobe-replay=auto")) == {"passed": 4}
    for trial in shop.report()["trials"]:
        greeting, answer = trial["transcript"]["turns"]
        assert [len(turn["wire"]["calls"]) for turn in (greeting, answer)] == [1, 1]
        assert greeting["usage"] is not None
    before = len(shop.server.requests)
    assert outcome(shop.run("--convoprobe-replay=only")) == {"passed": 4}
    assert len(shop.server.requests) == before


def test_a_cue_is_a_message_like_any_other(shop: Project) -> None:
    models = {"openai": shop.server.base_url}
    shop.target(type="python", object="agent.py:Cued", models=models, greeting_cue="(The call begins.)")
    several(shop)
    assert outcome(shop.run("--convoprobe-replay=auto")) == {"passed": 4}
    assert outcome(shop.run("--convoprobe-replay=only")) == {"passed": 4}


def test_a_call_that_may_be_anybodys_is_refused(shop: Project) -> None:
    shop.target(type="python", object="agent.py:Instructs", models={"openai": shop.server.base_url})
    several(shop, 1)
    result = shop.run("--convoprobe-replay=off")
    assert outcome(result) == {"errors": 1}
    assert "belongs to no conversation" in " ".join(line.strip() for line in result.outlines)
    assert "context.model_url" in " ".join(line.strip() for line in result.outlines)
