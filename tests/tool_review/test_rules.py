from __future__ import annotations

from typing import Any

import pytest

from pytest_convoprobe.llm.port import ToolSpec
from pytest_convoprobe.tool_review.rules import IDS, review

TEXT = {"type": "string", "description": "The order's number, such as A-1."}
GOOD = {"type": "object", "properties": {"order": TEXT}, "required": ["order"]}


def tool(name: str = "get_order", description: str = "Looks up an order.", **schema: Any) -> ToolSpec:
    return ToolSpec(name, description, {**GOOD, **schema})


def found(*tools: ToolSpec) -> list[tuple[str, str]]:
    return [(one.category, one.issue) for one in review(tools)]


def test_good_tools_have_no_findings() -> None:
    assert (
        found(tool(), tool("cancel_order", "Cancels an order for good."), ToolSpec("now", "The time.", {}))
        == []
    )


@pytest.mark.parametrize(
    ("wrong", "rule", "words"),
    [
        (tool(description=" "), "no-description", "it has no description"),
        (tool(description="Get order."), "no-description", "only repeats its name"),
        (tool(description="x" * 1025), "long-description", "1,025 characters"),
        (tool("get order"), "refused-name", "refuse its name"),
        (tool("x" * 65), "refused-name", "refuse its name"),
        (tool(properties={"a b": TEXT}, required=[]), "refused-name", "`a b`"),
        (tool(properties={"order": {"description": "Its number."}}), "untyped-parameter", "`order`"),
        (tool(properties={"order": {"type": "string"}}), "undocumented-parameter", "`order`"),
        (tool(type="array", items={}), "refused-schema", "not an object"),
        (tool(anyOf=[{"required": ["order"]}]), "refused-schema", "`anyOf`"),
        (tool(required=["id"]), "refused-schema", "requires `id`"),
        (tool(properties={"order": {**TEXT, "type": "array"}}), "refused-schema", "no `items`"),
        (tool(properties={"order": {"$ref": "#/$defs/no", "description": "d"}}), "refused-schema", "nowhere"),
        (tool(properties={"order": {**TEXT, "type": "object"}}), "refused-by-gemini", "no properties"),
        (tool(properties={"order": {"enum": [1, 2], "description": "d"}}), "refused-by-gemini", "texts only"),
    ],
)
def test_each_fault_is_found(wrong: ToolSpec, rule: str, words: str) -> None:
    assert [(one, True) for one, issue in found(wrong) if words in issue] == [(rule, True)]


def test_faults_are_found_at_any_depth() -> None:
    dates = {"type": "array", "items": {"type": "object", "properties": {"from": {}}}}
    deep = {"order": {**TEXT, "type": "object", "properties": {"dates": dates}}}
    assert ("untyped-parameter", "the parameter `order.dates[].from` has no type") in found(
        tool(properties=deep)
    )


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (tool(), tool("getOrder", "Finds it."), "case and signs"),
        (tool(), tool("find_order"), "the same description"),
        (tool(), tool(), "the same name"),
        (
            tool(
                "a",
                "Looks up one order by its number and gives status, date of delivery and the full address.",
            ),
            tool(
                "b", "Looks up one order by number and gives status, date of delivery and the full address."
            ),
            "nearly the same",
        ),
    ],
)
def test_tools_that_cannot_be_told_apart(one: ToolSpec, other: ToolSpec, words: str) -> None:
    ((rule, issue),) = found(one, other)
    assert rule == "alike"
    assert words in issue


def test_opposites_are_not_alike() -> None:
    words = "the server that has this number, at once and without asking anybody whether that is all right"
    assert found(tool("start", f"Starts {words}"), tool("stop", f"Stops {words}")) == []


def test_too_many_tools_and_rules_left_out() -> None:
    many = [tool(f"tool_{number}", f"Does thing number {number}.") for number in range(129)]
    assert [rule for rule, _ in found(*many)] == ["too-many"]
    assert found(*many[1:]) == []
    assert review([tool(description="")], ["no-description"]) == []
    assert {"alike", "too-many", "no-description"} <= set(IDS)


def test_hostile_schemas_are_only_findings() -> None:
    hostile: Any = {"type": ["object", 3], "properties": ["x"], "required": "order", "$defs": 1, "anyOf": 2}
    assert {rule for rule, _ in found(ToolSpec("a", "Does it.", hostile))} == {"refused-schema"}


def test_names_that_are_none_and_hundreds_of_tools() -> None:
    odd = ToolSpec("odd", "Does it", {"type": "object", "required": [{"a": 1}]})
    assert "its `required` has something else than names" in [one.issue for one in review([odd])]
    many = [ToolSpec(f"t{number}", f"Does the thing {number} for people.", {}) for number in range(300)]
    assert {one.category for one in review(many)} == {"too-many"}
