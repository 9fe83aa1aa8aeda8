"""Objects of known frameworks are never called by a guess. The classes here only have the modules' names."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pytest_convoprobe.errors import TargetStartError
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.frameworks import FRAMEWORKS
from pytest_convoprobe.targets.given_objects import Use
from pytest_convoprobe.targets.port import ConversationContext


def answers(self: object, message: str, *more: object) -> str:
    return f"{type(self).__name__}: {message}"


def made(module: str, method: str = "run", name: str = "Agent", bases: tuple[type, ...] = ()) -> Any:
    """A class of a framework's module, with a method that would be taken."""
    return type(name, bases, {method: answers, "__module__": module})


async def said(agent: object, context: Callable[..., ConversationContext]) -> str:
    conversation = await as_target(agent, use=Use.ONE_BY_ONE).start(context())
    try:
        return (await conversation.send("hello")).text
    finally:
        await conversation.aclose()


@pytest.mark.parametrize(
    ("module", "method", "framework", "line"),
    [
        ("langchain_core.runnables.base", "invoke", "LangChain", "chain.ainvoke([*history"),
        ("langchain_openai.chat_models", "__call__", "LangChain", "chain.ainvoke([*history"),
        ("llama_index.core.agent", "run", "LlamaIndex", "ctx=self.context"),
        ("autogen_agentchat.agents", "run", "AutoGen", "task=message"),
        ("haystack.core.pipeline", "run", "Haystack", "ChatMessage.from_user"),
        ("dspy.primitives.module", "__call__", "DSPy", "dspy.History"),
        ("agno.agent", "run", "Agno", "add_history_to_context"),
        ("semantic_kernel.agents", "send", "Semantic Kernel", "thread=self.thread"),
        ("transformers.pipelines", "__call__", "Transformers", "def answer(message, history)"),
    ],
)
def test_an_object_of_a_framework_is_refused_with_a_wrapper(
    module: str, method: str, framework: str, line: str
) -> None:
    with pytest.raises(TargetStartError, match=f"it belongs to {framework}") as caught:
        as_target(made(module, method)())
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("module", "name", "framework", "given"),
    [
        ("langgraph.graph.state", "StateGraph", "LangGraph", "the compiled graph"),
        ("pydantic_ai.result", "RunResult", "PydanticAI", "the `Agent`"),
        ("google.adk.tools", "AgentTool", "Google ADK", "the agent, the `App` or the `Runner`"),
        ("crewai.task", "Task", "CrewAI", "the `Crew` or the `Agent`"),
    ],
)
def test_where_there_is_an_adapter_the_refusal_says_what_it_takes(
    module: str, name: str, framework: str, given: str
) -> None:
    with pytest.raises(TargetStartError, match=f"it belongs to {framework}, but isn't") as caught:
        as_target(made(module, name=name)())
    assert f"Give {given}" in str(caught.value)


async def test_so_is_one_that_a_class_or_a_factory_makes(context: Callable[..., ConversationContext]) -> None:
    kind = made("pydantic_ai.agent")
    for source in (kind, lambda: kind()):
        with pytest.raises(TargetStartError, match="could not be started: it belongs to PydanticAI"):
            await said(source, context)


def test_so_is_a_method_that_is_named_explicitly() -> None:
    agent = made("pydantic_ai.agent", "run_sync")()
    for method in (agent.run_sync, functools.partial(agent.run_sync, model="small")):
        with pytest.raises(TargetStartError, match="it belongs to PydanticAI"):
            as_target(method)


def test_so_are_a_class_method_and_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    class Runner:
        @classmethod
        def run(cls, agent: object, message: str) -> str:
            return message

    def chat(message: str) -> str:
        return message

    Runner.__module__ = chat.__module__ = "pydantic_ai.run"
    chat.__qualname__ = "chat"
    package = ModuleType("pydantic_ai")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "pydantic_ai", package)
    for agent in (functools.partial(Runner.run, "an agent"), chat, functools.partial(chat)):
        with pytest.raises(TargetStartError, match="it belongs to PydanticAI"):
            as_target(agent)


async def test_a_file_of_the_projects_may_have_the_name_of_a_framework(
    context: Callable[..., ConversationContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(message: str) -> str:
        return f"ours: {message}"

    answer.__module__, answer.__qualname__ = "swarm", "answer"
    monkeypatch.setitem(sys.modules, "swarm", ModuleType("swarm"))
    assert await said(answer, context) == "ours: hello"


def test_so_is_a_method_that_an_object_of_the_projects_hands_on() -> None:
    class Wrapper:
        def __init__(self) -> None:
            self.inner = made("pydantic_ai.agent")()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.inner, name)

    with pytest.raises(TargetStartError, match="it belongs to PydanticAI"):
        as_target(Wrapper())


def test_so_is_a_class_of_the_projects_that_adds_no_method_of_its_own() -> None:
    kind = type("Mine", (made("dspy.primitives", "__call__"),), {"forward": answers, "__module__": "shop"})
    with pytest.raises(TargetStartError, match="it belongs to DSPy"):
        as_target(kind())


@pytest.mark.parametrize("method", ["reply", "__call__", "run"])
async def test_a_method_that_the_project_has_written_is_its_own(
    context: Callable[..., ConversationContext], method: str
) -> None:
    class Base:
        def __call__(self, message: str) -> str:
            return "the framework's"

    Base.__module__ = "smolagents.agents"
    kind = type("Mine", (Base,), {method: answers, "__module__": "shop.agents"})
    assert await said(kind(), context) == "Mine: hello"


def test_a_run_in_place_of_the_frameworks_own_is_not_called_by_a_guess() -> None:
    kind = type("Mine", (made("agno.agent"),), {"run": answers, "__module__": "shop.agents"})
    with pytest.raises(TargetStartError, match="it belongs to Agno"):
        as_target(kind())


async def test_methods_of_a_class_that_keeps_the_history_may_be_named(
    context: Callable[..., ConversationContext],
) -> None:
    base = made("llama_index.core.chat_engine.types", "stream", "BaseChatEngine")
    engine = made("llama_index.core.chat_engine.simple", "chat", "SimpleChatEngine", (base,))()
    assert await said(engine.chat, context) == "SimpleChatEngine: hello"
    with pytest.raises(TargetStartError, match="it belongs to LlamaIndex"):
        as_target(engine)


async def test_a_package_of_the_projects_that_is_called_agents_is_no_framework(
    context: Callable[..., ConversationContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, module = made("agents.shop"), ModuleType("agents")
    monkeypatch.setitem(sys.modules, "agents", module)
    assert await said(kind(), context) == "Agent: hello"
    module.Runner = object  # type: ignore[attr-defined]
    with pytest.raises(TargetStartError, match="it belongs to OpenAI Agents SDK"):
        as_target(made("agents.handoffs", name="Handoff")())


async def test_modules_that_only_begin_alike_are_others(context: Callable[..., ConversationContext]) -> None:
    assert await said(made("smolagents_for_shops.agent")(), context) == "Agent: hello"


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_every_wrapper_is_python(framework: Any) -> None:
    assert ast.parse(framework.wrapper).body
