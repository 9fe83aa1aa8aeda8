from __future__ import annotations

import pytest

from pytest_convoprobe.scenario.models import ToolUsage
from pytest_convoprobe.scenario.tool_names import compare_names, resembling

TOOLS = ("get_order", "delete_order", "mcp__shop__cancel_order", "block_user")


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("delete_ordr", "delete_order"),
        ("deleteOrder", "delete_order"),
        ("DELETE-ORDER", "delete_order"),
        ("delete_orders", "delete_order"),
        ("cancel_order", "mcp__shop__cancel_order"),
        ("mcp__shop__delete_*", "delete_order"),
        ("delte_*", "delete_order"),
        ("mcp__shp__cancel_*", "mcp__shop__cancel_order"),
        ("*_usr", "block_user"),
        ("delete_order_tool", "delete_order"),
        ("tool.delete_order", "delete_order"),
    ],
)
def test_a_name_that_is_slightly_wrong_resembles_a_tool(name: str, tool: str) -> None:
    assert resembling(name, TOOLS) == tool


@pytest.mark.parametrize(
    "name",
    [
        "set_order",
        "create_order",
        "unblock_user",
        "send_money",
        "mcp__bank__cancel_order",
        "pay_*",
        "order",
        "*_mail",
    ],
)
def test_another_tool_is_not_a_misspelt_one(name: str) -> None:
    assert resembling(name, TOOLS) is None


def test_an_unknown_required_tool_is_a_problem_even_if_it_resembles_none() -> None:
    found = compare_names(ToolUsage(required_tools=("send_money",)), TOOLS[:2])
    assert found.problems == (
        "required_tools: the target has no tool `send_money`; its tools are `get_order`, `delete_order`",
    )


def test_an_unknown_prohibited_tool_is_a_problem_if_it_resembles_one() -> None:
    found = compare_names(ToolUsage(prohibited_tools=("delete_ordr", "launch_rocket", "delete_*")), TOOLS)
    assert found.problems == (
        "prohibited_tools: the target has no tool `delete_ordr`; did you mean `delete_order`? "
        "If not, allow that one: `optional_tools: [delete_order]`",
    )
    assert found.notes == ("prohibited_tools: the target has no tool `launch_rocket`, so this can't fail",)


@pytest.mark.parametrize("allowed", ["required_tools", "optional_tools"])
def test_a_tool_that_is_allowed_by_its_name_is_not_what_another_name_was_meant_to_be(allowed: str) -> None:
    usage = ToolUsage.model_validate({"prohibited_tools": ["charge_card"], allowed: ["change_card"]})
    found = compare_names(usage, ("change_card",))
    assert (found.problems, len(found.notes)) == ((), 1)


@pytest.mark.parametrize(
    "name",
    [
        "delete_{order,user}",
        "get|set",
        "^delete_.+$",
        "!get_*",
        "/delete.*/",
        "delete_order()",
        "a, b",
        "x[ab",
    ],
)
@pytest.mark.parametrize("key", ["required_tools", "optional_tools", "prohibited_tools"])
def test_a_pattern_of_another_language_matches_nothing(key: str, name: str) -> None:
    with pytest.raises(ValueError, match="this matches no tool: write a name as it is"):
        ToolUsage.model_validate({key: [name]})


@pytest.mark.parametrize("criterion", [{"tool": "a|b"}, {"tool": "a", "assertions": [{"before": "b|c"}]}])
def test_so_do_those_of_criteria(criterion: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="this matches no tool"):
        ToolUsage.model_validate({"tool_call_criteria": [criterion]})


def test_a_name_with_an_invisible_character_is_another_name() -> None:
    with pytest.raises(ValueError, match="invisible characters"):
        ToolUsage(prohibited_tools=("delete_\u200border",))


@pytest.mark.parametrize(
    "name", ["Get order", "shop.delete_*", "mcp__a__b", "löschen", "a-b:c/d", "get_[ab]*"]
)
def test_names_and_patterns_that_tools_can_have(name: str) -> None:
    assert ToolUsage(prohibited_tools=(name,)).prohibited_tools == (name,)


@pytest.mark.parametrize("side", ["before", "after"])
def test_the_tools_of_criteria_must_exist(side: str) -> None:
    criteria = [{"tool": "get_order", "assertions": [{side: "pay"}]}, {"tool": "book", "assertions": ["x"]}]
    problems = compare_names(ToolUsage.model_validate({"tool_call_criteria": criteria}), TOOLS).problems
    assert [problem.partition(";")[0] for problem in problems] == [
        f"tool_call_criteria, `{side}`: the target has no tool `pay`",
        "tool_call_criteria: the target has no tool `book`",
    ]


def test_a_pattern_that_matches_no_tool() -> None:
    found = compare_names(ToolUsage(required_tools=("pay_*",), prohibited_tools=("wipe_*",)), TOOLS)
    assert found.problems[0].startswith("required_tools: no tool of the target matches `pay_*`")
    assert found.notes == ("prohibited_tools: no tool of the target matches `wipe_*`, so this can't fail",)


def test_a_criterion_that_only_forbids_a_tool_is_a_prohibition() -> None:
    criteria = [{"tool": "launch_rocket", "assertions": [{"times": 0}]}]
    found = compare_names(ToolUsage.model_validate({"tool_call_criteria": criteria}), TOOLS)
    assert (found.problems, len(found.notes)) == ((), 1)


def test_an_optional_tool_matters_only_where_others_are_forbidden() -> None:
    assert compare_names(ToolUsage(optional_tools=("delete_ordr",)), TOOLS).problems == ()
    (problem,) = compare_names(ToolUsage(optional_tools=("delete_ordr",), only_listed=True), TOOLS).problems
    assert problem.endswith("no tool `delete_ordr`; did you mean `delete_order`?")
