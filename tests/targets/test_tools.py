from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import json
import threading
from collections.abc import Callable
from datetime import date
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.llm.port import ToolRequest
from pytest_convoprobe.targets.tools import Toolbox, make_tool
from pytest_convoprobe.transcript import ToolCall


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Item:
    name: str
    count: int = 1


class Address(BaseModel):
    city: str


def schema(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(make_tool(function).spec.parameters)


async def call(function: Callable[..., Any], arguments: Any, name: str | None = None) -> ToolCall:
    toolbox = Toolbox([function])
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return await toolbox.call(ToolRequest("1", name or toolbox.specs[0].name, text))


# What the model is told


def test_names_types_defaults_and_descriptions() -> None:
    def get_weather(city: str, unit: Literal["C", "F"] = "C") -> str:
        """Get the weather.

        Args:
            city: The name of the city.
        """
        return city + unit

    spec = make_tool(get_weather).spec
    assert (spec.name, spec.description) == ("get_weather", "Get the weather.")
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "city": {"type": "string", "description": "The name of the city."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        },
        "required": ["city"],
    }


def test_a_function_without_parameters_has_an_empty_object() -> None:
    def ping() -> None: ...

    assert schema(ping) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_function_without_docstring_is_described_by_its_name() -> None:
    def ping() -> None: ...

    assert make_tool(ping).spec.description == "ping"


def test_missing_hints_allow_anything_or_follow_the_default() -> None:
    def find(query, limit=10, start=None):  # type: ignore[no-untyped-def]
        ...

    properties = schema(find)["properties"]
    assert properties["query"] == {}
    assert properties["limit"] == {"type": "integer", "default": 10}
    assert properties["start"] == {"default": None}


def test_optional_parameters_may_be_null() -> None:
    def find(name: Optional[str] = None) -> None: ...  # noqa: UP045

    assert schema(find)["properties"]["name"]["anyOf"] == [{"type": "string"}, {"type": "null"}]


@pytest.mark.parametrize("note", ["the city", Field(description="the city")])
def test_annotated_descriptions_win_over_the_docstring(note: Any) -> None:
    def find(city: str) -> None:
        """Find.

        :param city: not this
        """

    find.__annotations__ = {"city": Annotated[str, note]}
    assert schema(find)["properties"]["city"]["description"] == "the city"


def test_parameters_may_be_called_like_members_of_a_model() -> None:
    def find(schema: str, model_config: int, _private: bool, json: str = "") -> None: ...

    assert list(schema(find)["properties"]) == ["schema", "model_config", "_private", "json"]


def test_variable_arguments_are_left_out_and_open_the_object() -> None:
    def find(*words: str, **options: str) -> None: ...

    described = schema(find)
    assert described["properties"] == {}
    assert described["additionalProperties"] is True


def test_a_default_that_is_no_json_is_not_told(recwarn: pytest.WarningsRecorder) -> None:
    def find(kind: Any = object) -> None: ...

    assert schema(find)["properties"]["kind"] == {}
    assert not recwarn.list


def test_a_type_that_cannot_be_described_is_an_error() -> None:
    def find(lock: threading.Event) -> None: ...

    with pytest.raises(TargetStartError, match="the tool `find` can't be described to a model"):
        make_tool(find)


def test_hints_that_cannot_be_resolved_do_no_harm() -> None:
    def find(city: NoSuchType) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert schema(find)["properties"]["city"] == {}


def test_a_lambda_has_no_name() -> None:
    with pytest.raises(TargetStartError, match="a lambda can't be a tool"):
        make_tool(lambda city: city)


def test_two_tools_of_one_name_are_an_error() -> None:
    def ping() -> None: ...

    with pytest.raises(TargetStartError, match="two tools are called `ping`"):
        Toolbox([ping, ping])


def test_a_partial_has_the_name_of_its_function_and_what_is_left_of_its_parameters() -> None:
    def find(table: str, number: int) -> str:
        """Find it."""
        return f"{table}{number}"

    spec = make_tool(functools.partial(find, "orders")).spec
    assert (spec.name, spec.description) == ("find", "Find it.")
    assert list(spec.parameters["properties"]) == ["number"]
    assert spec.parameters["properties"]["number"] == {"type": "integer"}


def test_an_object_that_can_be_called_is_a_tool_named_after_its_class() -> None:
    class Finder:
        def __call__(self, number: int) -> int:
            """Find it."""
            return number

    spec = make_tool(Finder()).spec
    assert (spec.name, spec.description) == ("Finder", "Find it.")
    assert spec.parameters["properties"]["number"] == {"type": "integer"}


# Calls


async def test_the_result_and_the_arguments_are_kept() -> None:
    def add(a: int, b: int = 2) -> int:
        return a + b

    made = await call(add, {"a": 1})
    assert (made.name, made.arguments, made.result, made.error) == ("add", {"a": 1}, 3, None)
    assert made.latency is not None
    assert made.latency >= 0


async def test_arguments_are_converted() -> None:
    seen: list[Any] = []

    def order(size: Size, items: list[Item], to: Address, on: date, note: str | None = None) -> None:
        seen.extend([size, items, to, on, note])

    made = await call(
        order, {"size": "large", "items": [{"name": "a"}], "to": {"city": "Rome"}, "on": "2026-01-02"}
    )
    assert made.error is None
    assert seen == [Size.LARGE, [Item("a")], Address(city="Rome"), date(2026, 1, 2), None]


async def test_positional_only_keyword_only_and_further_arguments() -> None:
    def find(a: int, /, *, b: int, **more: Any) -> list[Any]:
        return [a, b, more]

    assert (await call(find, {"a": 1, "b": 2, "c": 3})).result == [1, 2, {"c": 3}]


async def test_a_positional_argument_that_was_left_out_keeps_its_place() -> None:
    def find(a: int = 1, b: int = 2, /) -> list[int]:
        return [a, b]

    assert (await call(find, {"b": 5})).result == [1, 5]


async def test_no_arguments_may_be_an_empty_text() -> None:
    def ping() -> str:
        return "pong"

    assert (await call(ping, "")).result == "pong"


async def test_synchronous_tools_run_in_threads() -> None:
    def where() -> int:
        return threading.get_ident()

    assert (await call(where, {})).result != threading.get_ident()


async def test_asynchronous_tools_run_on_the_loop() -> None:
    async def where() -> int:
        await asyncio.sleep(0)
        return threading.get_ident()

    assert (await call(where, {})).result == threading.get_ident()


@pytest.mark.parametrize(
    ("arguments", "name", "words"),
    [
        ({"a": 1}, "subtract", "there is no tool `subtract`; the tools are: `add`"),
        ('{"a": 1', "add", "the arguments are not valid JSON"),
        ("[1, 2]", "add", "the arguments have to be a JSON object"),
        ({"b": 1}, "add", "wrong arguments for `add`: a: Field required"),
        ({"a": "x"}, "add", "a: Input should be a valid integer"),
        ({"a": 1, "c": 1}, "add", "c: Extra inputs are not permitted"),
        ({"a": 1, "b": 0}, "add", "ZeroDivisionError: division by zero"),
    ],
)
async def test_what_goes_wrong_is_the_error_of_the_call(arguments: Any, name: str, words: str) -> None:
    def add(a: int, b: int = 1) -> float:
        return a / b

    made = await call(add, arguments, name)
    assert words in (made.error or "")
    assert made.result is None


async def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    def add(a: int) -> int:
        return a

    assert (await call(add, '{"a": 1')).arguments == {"_raw": '{"a": 1'}


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), StopIteration()])
async def test_nothing_that_a_tool_raises_gets_out(error: BaseException) -> None:
    def fail() -> None:
        raise error

    assert (await call(fail, {})).error is not None


async def test_a_tool_may_say_that_what_it_stands_on_is_away() -> None:
    def fail() -> None:
        raise TargetUnavailable("the database is down")

    with pytest.raises(TargetUnavailable, match="the database is down"):
        await call(fail, {})


# Whether the function was called


async def test_a_call_that_never_reached_the_function_is_marked() -> None:
    def look_up(order: int) -> int:
        raise ValueError(order)

    given = {"torn": '{"order": 1', "a list": "[1]", "nothing": "{}", "a word": '{"order": "x"}'}
    assert [(await call(look_up, text)).executed for text in given.values()] == [False] * 4
    assert not (await call(look_up, {"order": 1}, "look_upp")).executed
    failed = await call(look_up, {"order": 1})
    assert (failed.executed, failed.error) == (True, "ValueError: 1")
