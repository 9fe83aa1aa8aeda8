from __future__ import annotations

import dataclasses
import enum
import json
from collections import UserDict
from datetime import date
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pytest_convoprobe.targets.plain_values import plain
from pytest_convoprobe.targets.reply_parts import RAW_ARGUMENTS, as_arguments, as_tool_call, as_usage
from pytest_convoprobe.transcript import ToolCall, Usage


class Named(NamedTuple):
    name: str
    args: dict[str, int]


@pytest.mark.parametrize(
    "value",
    [
        ToolCall("f", {"a": 1}),
        {"name": "f", "arguments": {"a": 1}},
        {"name": "f", "args": {"a": 1}},
        {"tool_name": "f", "input": {"a": 1}},
        {"id": "x", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
        SimpleNamespace(name="f", arguments='{"a": 1}'),
        SimpleNamespace(function=SimpleNamespace(name="f", arguments='{"a": 1}')),
        ("f", {"a": 1}),
        Named("f", {"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shapes_of_a_tool_call(value: object) -> None:
    assert as_tool_call(value) == ToolCall("f", {"a": 1})


def test_result_error_and_latency_of_a_tool_call() -> None:
    call = as_tool_call({"name": "f", "result": {"n": 1}, "error": "late", "latency": 0.5})
    assert (call.result, call.error, call.latency) == ({"n": 1}, "late", 0.5)


@pytest.mark.parametrize(
    ("value", "unreported"),
    [
        ({"name": "f", "arguments": None, "result": None}, ("arguments",)),
        ({"name": "f", "arguments": "", "result": None}, ()),
        ({"name": "f", "arguments": {}}, ("result",)),
        ({"name": "f", "argz": {"a": 1}, "output": 1}, ("arguments",)),
        ({"name": "f", "args": {}, "error": "late"}, ()),
        ({"function": {"name": "f"}}, ("arguments", "result")),
        (("f",), ("arguments", "result")),
        (("f", {}), ("result",)),
        ("f", ("arguments", "result")),
        (ToolCall("f"), ()),
    ],
)
def test_parts_that_a_tool_call_does_not_mention(value: object, unreported: tuple[str, ...]) -> None:
    assert as_tool_call(value).unreported == unreported


@pytest.mark.parametrize(
    ("mark", "error"),
    [
        ({"isError": True}, "no such order"),
        ({"is_error": True}, "no such order"),
        ({"status": "error"}, "no such order"),
        ({"status": "success", "is_error": False}, None),
    ],
)
def test_a_call_that_is_only_marked_as_failed_has_failed(mark: dict[str, Any], error: str | None) -> None:
    call = as_tool_call({"name": "f", "arguments": {}, "result": "no such order", **mark})
    assert (call.error, call.failed) == (error, error is not None)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"error": ""}, None),
        ({"error": {}}, None),
        ({"error": False, "result": "ok"}, None),
        ({"status": "failed", "output": "no stock"}, "no stock"),
        ({"error": "no stock"}, "no stock"),
    ],
)
def test_which_fields_of_a_call_say_that_it_failed(fields: dict[str, Any], error: str | None) -> None:
    assert as_tool_call({"name": "f", "arguments": {}, **fields}).error == error


def test_mappings_of_any_type_are_mappings() -> None:
    shown = plain({"a": UserDict(b=MappingProxyType({"c": 1}))})
    assert shown == {"a": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    ("value", "executed"),
    [
        ({"name": "f", "executed": False}, False),
        ({"name": "f", "arguments": '{"city": "Os'}, False),
        ({"name": "f", "arguments": '{"city": "Os', "result": "sunny"}, True),
        ({"name": "f", "arguments": "Oslo"}, True),
        (ToolCall("f", error="refused", executed=False), False),
        (ToolCall("f", error="late"), True),
    ],
)
def test_whether_a_call_was_carried_out(value: object, executed: bool) -> None:
    assert as_tool_call(value).executed is executed


@pytest.mark.parametrize("value", [{}, {"name": ""}, {"name": 3}, (), (1, 2), ("a", {}, 1, 2), 7])
def test_what_is_no_tool_call(value: object) -> None:
    with pytest.raises(ValueError, match="a tool call"):
        as_tool_call(value)


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        (None, {}),
        ("", {}),
        ('{"a": [1]}', {"a": [1]}),
        ('{"a": ', {RAW_ARGUMENTS: '{"a": '}),
        ("[1]", {RAW_ARGUMENTS: [1]}),
        ({1: date(2026, 1, 2)}, {"1": "2026-01-02"}),
    ],
)
def test_arguments(value: object, arguments: dict[str, Any]) -> None:
    assert as_arguments(value) == arguments


@pytest.mark.parametrize(
    "value",
    [
        Usage(3, 4),
        (3, 4),
        {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        {"input_tokens": 3, "output_tokens": 4},
        SimpleNamespace(prompt_tokens=3, completion_tokens=4),
    ],
)
def test_shapes_of_usage(value: object) -> None:
    assert as_usage(value) == Usage(3, 4)


def test_half_of_the_usage_is_not_the_usage() -> None:
    assert as_usage({"prompt_tokens": 3}) is None
    assert as_usage({"output_tokens": 4}) is None
    assert as_usage({"prompt_tokens": 3, "total_tokens": 7}) == Usage(3, 4)
    assert as_usage({"output_tokens": 4, "total_tokens": 7}) == Usage(3, 4)
    assert as_usage({"prompt_tokens": 3, "completion_tokens": 0}) == Usage(3, 0)


@pytest.mark.parametrize("value", [None, {}, {"total": 3}])
def test_usage_that_tells_nothing(value: object) -> None:
    assert as_usage(value) is None


@pytest.mark.parametrize(
    "value",
    [
        (3, "4"),
        {"prompt_tokens": -1},
        {"input_tokens": 1.5},
        Usage(-5, 3),
        (10**30, 1),
        (10**5000, 1),
        (True, 1),
    ],
    ids=["text", "negative", "fraction", "negative usage", "absurd", "unprintable", "a word"],
)
def test_usage_that_is_no_count(value: object) -> None:
    with pytest.raises(ValueError, match="two counts of tokens"):
        as_usage(value)


class Answer(BaseModel):
    output: str


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Order:
    number: int
    on: date


class Opaque:
    def __repr__(self) -> str:
        return "Opaque()"  # without an address, which would differ between xdist's workers

    def __str__(self) -> str:
        return "opaque thing"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Order(1, date(2026, 1, 2)), {"number": 1, "on": "2026-01-02"}),
        (Answer(output="x"), {"output": "x"}),
        (Colour.RED, "red"),
        ((1, 2), [1, 2]),
        (float("nan"), "nan"),
        ([float("inf")], ["inf"]),
        (Opaque(), "opaque thing"),
        ({"a": Opaque()}, {"a": "opaque thing"}),
        ("\ud800", "?"),
    ],
    ids=repr,
)
def test_values_become_json(value: object, expected: object) -> None:
    assert plain(value) == expected


def test_a_value_that_contains_itself_becomes_text() -> None:
    value: list[object] = []
    value.append(value)
    assert plain(value) == "[[...]]"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(ANYTHING)
def test_plain_values_can_always_be_written_as_json(value: object) -> None:
    json.dumps(plain(value), allow_nan=False).encode("utf-8")


@given(ANYTHING)
def test_arguments_are_always_a_mapping(value: object) -> None:
    assert isinstance(as_arguments(value), dict)
