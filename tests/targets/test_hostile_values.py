"""Values that can't be shown, have no end, or are too long: whatever they are, one conversation has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pytest_convoprobe.cutting import at_most
from pytest_convoprobe.errors import TargetCrashed
from pytest_convoprobe.llm.port import ToolRequest
from pytest_convoprobe.targets.plain_values import plain
from pytest_convoprobe.targets.reply_forms import Collecting, ReplyReader, as_reply
from pytest_convoprobe.targets.tools import Toolbox
from pytest_convoprobe.transcript import Reply, ToolCall


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError("no words for it")


class Plain:
    pass


def loop() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Mute(), "test_hostile_values.Mute can't be shown: RuntimeError: no words for it"),
        ({"deep": [Mute()]}, "test_hostile_values.Mute can't be shown: RuntimeError: no words for it"),
        ([10**4999], "a number of about 5,000 digits can't be shown"),
    ],
)
def test_what_cant_be_shown_is_the_agents_fault_in_words(value: object, words: str) -> None:
    with pytest.raises(TargetCrashed) as caught:
        as_reply(Reply("Done", (ToolCall("look", {}, value),)))
    assert words in str(caught.value)
    assert "its call of `look`" in str(caught.value)
    assert "0x" not in str(caught.value)


async def test_a_tools_result_that_cant_be_shown_is_an_error_for_the_model() -> None:
    def look() -> object:
        return Mute()

    call = await Toolbox([look]).call(ToolRequest("1", "look", "{}"))
    assert call.executed
    assert call.error is not None
    assert call.error.endswith("Mute can't be shown: RuntimeError: no words for it")


def test_objects_have_no_addresses() -> None:
    assert plain([Plain()]) == ["<tests.targets.test_hostile_values.Plain object>"]


def test_a_value_that_contains_itself_ends() -> None:
    assert plain(loop()) == "[1, [...]]"


def test_a_value_that_has_itself_many_times_ends() -> None:
    value: list[Any] = [1]
    for _ in range(60):
        value = [value, value]
    with at_most(1000):
        assert len(str(plain(value))) < 20_000


def test_a_value_nested_too_deeply_ends() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert "nested too deeply" in str(plain(value))


def test_a_long_reply_is_cut_and_says_so() -> None:
    reply = as_reply("a" * 20_000_000 + " the end")
    assert len(reply.text) <= 1_000_000
    assert reply.text.endswith("the end")
    assert reply.cut == ("text",)


def test_each_part_of_a_call_says_if_it_was_cut() -> None:
    call = ToolCall("f", {"a": "x" * 500}, [1] * 500, error="no " * 500)
    (read,) = as_reply(Reply("hi", (call,)), 200).tool_calls or ()
    assert read.cut == ("arguments", "result", "error")
    assert as_reply(Reply("hi", (read,))).tool_calls == (read,)
    assert (as_reply(Reply("hi", (read,))).tool_calls or ())[0].cut == read.cut


def test_messages_say_if_they_were_cut() -> None:
    calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]
    messages = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "r" * 500},
        {"role": "assistant", "content": "a" * 500},
    ]
    reply = as_reply(messages, 200)
    assert reply.cut == ("text",)
    assert (reply.tool_calls or ())[0].cut == ("result",)


def test_of_a_stream_no_more_is_kept_than_fits() -> None:
    collecting = Collecting(100)
    for piece in _pieces():
        collecting.add(piece)
    reply = ReplyReader(100).read(collecting.stream)
    assert reply.text.startswith("ab" * 50 + " … (1,900 characters left out)")
    assert reply.cut == ("text",)


def _pieces() -> Iterator[str]:
    for _ in range(1000):
        yield "ab"


async def test_a_tools_long_result_is_cut_and_says_so() -> None:
    def read() -> str:
        return "x" * 5000

    call = await Toolbox([read]).call(ToolRequest("1", "read", "{}"), most_text=1000)
    assert call.cut == ("result",)
    assert len(call.result) <= 1000


@pytest.mark.parametrize("shape", [lambda calls: Reply("Done", calls), lambda calls: ("Done", calls)])
def test_more_tool_calls_than_can_be_are_refused_and_not_cut(shape: Any) -> None:
    reply = as_reply(shape([ToolCall("look")] * 10_000))
    assert len(reply.tool_calls or ()) == 10_000
    with pytest.raises(ValueError, match="more than the 10,000 tool calls"):
        as_reply(shape([ToolCall("look")] * 10_001))
