"""Agents that answer with objects: whatever their code does while they are read has the limit of the turn."""

from __future__ import annotations

import asyncio
import enum
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role, ToolRequest
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.records import plain
from pytest_convoprobe.settings.models import ModelTarget
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, Termination, ToolCall

from .test_deadline import _judge, talk, talk_with

LIMITS = {"run.turn_timeout": 0.5, "run.scenario_timeout": 3}
PATIENT = {"run.turn_timeout": 60}
"""Where nothing takes its time, a busy machine may."""


def _sleeps() -> None:
    time.sleep(60)


def _spins() -> None:
    while True:
        pass


def _raises() -> None:
    raise RuntimeError("no stock")


def _nothing() -> None:
    pass


class Answer:
    """An answer with a text that is made when it is read."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    @property
    def text(self) -> str:
        self._act()
        return "echo"


class Value:
    """A result of a tool with a text that is made when it is asked for."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def __str__(self) -> str:
        self._act()
        return "a value"


class Calls:
    """Tool calls that are made when they are listed."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def __iter__(self) -> Iterator[str]:
        self._act()
        yield "search"


def _with_value(act: Callable[[], None]) -> Reply:
    return Reply("echo", (ToolCall("search", {}, Value(act)),))


MADE: dict[str, Callable[[Callable[[], None]], Any]] = {
    "in text": Answer,
    "in __str__": _with_value,
    "in __iter__": lambda act: {"text": "echo", "tool_calls": Calls(act)},
}
"""Answers, and the place of their code."""


def synchronous(make: Callable[[], Any]) -> object:
    return lambda message: make()


def asynchronous(make: Callable[[], Any]) -> object:
    async def answer(message: str) -> Any:
        return make()

    return answer


def asynchronous_in_the_end(make: Callable[[], Any]) -> object:
    return lambda message: asynchronous(make)(message)  # type: ignore[operator]


class OwnTarget:
    """A target of the project's own."""

    name = "own"

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    async def start(self, context: ConversationContext) -> OwnTarget:
        return self

    async def send(self, message: str) -> Reply:
        reply: Reply = self._make()
        return reply

    async def aclose(self) -> None:
        """Nothing is open."""


KINDS = (synchronous, asynchronous, asynchronous_in_the_end, OwnTarget)


@pytest.mark.parametrize(
    ("kind", "place", "act"),
    [
        (synchronous, "in text", _sleeps),
        (synchronous, "in __str__", _spins),
        (synchronous, "in __iter__", _sleeps),
        (asynchronous, "in text", _spins),
        (asynchronous_in_the_end, "in __str__", _sleeps),
        (OwnTarget, "in __str__", _sleeps),
    ],
)
def test_an_answer_that_never_ends_when_it_is_read_has_the_limit_of_its_turn(
    tmp_path: Path, kind: Callable[..., object], place: str, act: Callable[[], None]
) -> None:
    agent = kind(lambda: MADE[place](act))
    (result,) = talk(tmp_path, agent, ["hello"], LIMITS)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert result.transcript.termination is Termination.TIMEOUT
    assert "test_replies_of_objects.py:" in result.reason
    assert act.__name__ in result.reason
    assert place in result.trace


@pytest.mark.parametrize("place", MADE)
@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_that_raises_when_it_is_read_is_a_crash_of_the_agent(
    tmp_path: Path, kind: Callable[..., object], place: str
) -> None:
    (result,) = talk(tmp_path, kind(lambda: MADE[place](_raises)), ["hello"], PATIENT)
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert "RuntimeError: no stock" in result.reason
    assert place in result.trace


class Word(str):
    """A text of a class of the project's own."""

    def __str__(self) -> str:
        raise AssertionError("read too late")

    strip = encode = __str__  # type: ignore[assignment]


class Count(enum.IntEnum):
    TWO = 2


def _of_own_types() -> Reply:
    call = ToolCall(Word("search"), {"word": Word("red"), "n": Count.TWO}, [{"a": (Word("b"), 1.5)}])
    return Reply(Word("echo"), (call,))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_kept_of_an_answer_has_the_types_of_json(tmp_path: Path, kind: Callable[..., object]) -> None:
    (result,) = talk(tmp_path, kind(_of_own_types), ["hello"], PATIENT)
    assert result.outcome is Outcome.PASSED, result.reason
    reply = result.transcript.turns[0].reply
    (call,) = reply.tool_calls or ()
    assert {type(value) for value in _leaves([reply.text, call.name, call.arguments, call.result])} == {
        str,
        int,
        float,
    }
    assert (call.name, call.arguments, call.result) == (
        "search",
        {"word": "red", "n": 2},
        [{"a": ["b", 1.5]}],
    )
    assert plain(call.result) == call.result


def _leaves(value: Any) -> Iterator[object]:
    if type(value) is dict:
        value = [*value.keys(), *value.values()]
    if type(value) is list:
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _talk_with_tool(tmp_path: Path, tool: Callable[..., Any]) -> ScenarioResult:
    def model(request: LLMRequest) -> LLMReply:
        if request.context.role is not Role.TARGET:
            return _judge(request)
        if any(message.role == "tool" for message in request.messages):
            return LLMReply("echo")
        return LLMReply("", (ToolRequest("1", "look_up", json.dumps({"text": "x"})),))

    agent = ModelAgent(ModelTarget(model="openai/agent"), tools=[tool])
    return talk_with(tmp_path, [(agent, "hello")], LIMITS, model=model)[0]


def _tool(act: Callable[[], None], *, on_loop: bool) -> Callable[..., Any]:
    def look_up(text: str) -> object:
        """Look it up."""
        return Value(act)

    async def look_up_on_loop(text: str) -> object:
        """Look it up."""
        await asyncio.sleep(0)
        return Value(act)

    look_up_on_loop.__name__ = "look_up"
    return look_up_on_loop if on_loop else look_up


@pytest.mark.parametrize("on_loop", [False, True])
def test_a_result_of_a_tool_is_read_where_the_tool_runs(tmp_path: Path, on_loop: bool) -> None:
    hanging = _talk_with_tool(tmp_path, _tool(_sleeps, on_loop=on_loop))
    assert (hanging.outcome, hanging.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "in _sleeps" in hanging.reason
    for act, error, found in (
        (_raises, f"a {Value.__module__}.Value can't be shown: RuntimeError: no stock", None),
        (_nothing, None, "a value"),
    ):
        told = _talk_with_tool(tmp_path, _tool(act, on_loop=on_loop))
        (call,) = told.transcript.turns[0].reply.tool_calls or ()
        assert (call.error, call.result) == (error, found)


def test_a_check_of_the_project_is_read_where_it_is_made(tmp_path: Path) -> None:
    def checks(act: Callable[[], None]) -> Callable[..., Any]:
        return lambda scenario, transcript: [CheckResult("own", True, "a value", Value(act))]  # type: ignore[arg-type]

    pair = as_target(lambda message: "echo"), "hello"
    limits = {"run.turn_timeout": 0.5, "run.scenario_timeout": 1}
    both = [checks(_sleeps), checks(_nothing)]
    hanging, fine = talk_with(tmp_path, [pair, pair], limits, checks=both)
    assert (hanging.outcome, hanging.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "in _sleeps" in hanging.reason
    (check,) = [check for check in fine.checks if check.name == "own"]
    assert check == CheckResult("own", True, "a value", "a value")
