"""What targets tell of themselves, for the fingerprints of stored runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.settings.models import HttpTarget, ModelTarget, PythonTarget
from pytest_convoprobe.targets.about import ask_description, ask_name
from pytest_convoprobe.targets.factory import as_target, build_target
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.targets.http.agent import HttpAgent
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import ConversationContext, Description, Target, description_of

Context = Callable[..., ConversationContext]


def price(item: str) -> float:
    """The price of an item."""
    return 1.0


async def test_a_model_tells_its_whole_prompt_and_its_tools(context: Context) -> None:
    target = ModelAgent(ModelTarget(system_prompt="Be kind", extra_instructions="And brief"), tools=[price])
    await target.start(context(FakeLLM([])))
    told = description_of(target)
    assert told.system_prompt == "Be kind\n\nAnd brief"
    assert told.tools
    assert [(tool.name, tool.description) for tool in told.tools] == [("price", "The price of an item.")]


def where() -> Description:
    return Description(threading.current_thread().name)


class OwnAgent(FakeTarget):
    def describe(self) -> Description:
        return where()


class Model(ModelAgent):
    def describe(self) -> Description:
        return where()


class Service(HttpAgent):
    def describe(self) -> Description:
        return where()


@pytest.mark.parametrize(
    "target", [Model(ModelTarget()), Service(HttpTarget(type="http", url="http://127.0.0.1:9/x"))]
)
async def test_a_target_that_keeps_its_description_is_asked_without_a_thread(target: Target) -> None:
    assert await ask_description(target) == where()
    assert await ask_name(target) == target.name


async def test_code_of_the_project_is_asked_in_a_thread() -> None:
    assert await ask_description(OwnAgent()) != where()


def test_tools_that_were_not_imported_yet_are_not_known() -> None:
    told = description_of(ModelAgent(ModelTarget(system_prompt="Be kind"), tools=[price]))
    assert told == Description("Be kind", None)


def test_a_function_and_the_fake_tell_nothing() -> None:
    assert description_of(as_target(lambda message: "hi")) == Description()
    assert description_of(FakeTarget()) == Description()


def test_another_method_of_that_name_is_no_description() -> None:
    class Agent(FakeTarget):
        def describe(self) -> str:
            return "An agent"

    assert description_of(Agent()) == Description()


OWN = """
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.targets.port import Description


class Agent(FakeTarget):
    def describe(self):
        return Description(system_prompt="Mine")
"""


async def test_a_target_of_the_project_is_asked(context: Context, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(OWN)
    target = build_target(PythonTarget(object="agent.py:Agent"), rootdir=tmp_path)
    await target.start(context(FakeLLM([])))
    assert description_of(target) == Description("Mine")
