"""Lists of expected calls: `tool_usage.expected_calls`."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import ScenarioError
from pytest_convoprobe.judging.call_lists import matching
from pytest_convoprobe.judging.checks import run_checks
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.transcript import ToolCall, Transcript

from .support import call, calling, evaluation


def cancel(order: str) -> ToolCall:
    return call("cancel", order=order)


def wanted(*orders: str) -> list[Any]:
    return [{"tool": "cancel", "args": {"order": order}} for order in orders]


def listed(transcript: Transcript, order: str, *calls: Any, **usage: Any) -> CheckResult:
    expected = {"order": order, "calls": list(calls)}
    asked = evaluation(tool_usage={"expected_calls": expected, **usage})
    return next(one for one in run_checks(asked, transcript) if one.name == f"expected calls ({order})")


A, B, X = call("a"), call("b"), call("x")


@pytest.mark.parametrize(
    ("made", "strict", "in_order", "unordered", "superset", "subset"),
    [
        ([A, B], True, True, True, True, True),
        ([B, A], False, False, True, True, True),
        ([A, X, B], False, True, False, True, False),
        ([X, B, A], False, False, False, True, False),
        ([A], False, False, False, False, True),
        ([A, A, B], False, True, False, True, False),
        ([], False, False, False, False, True),
        ([B, A, B], False, True, False, True, False),
    ],
)
def test_what_each_order_means(
    made: list[ToolCall], strict: bool, in_order: bool, unordered: bool, superset: bool, subset: bool
) -> None:
    orders = ("strict", "in_order", "unordered", "superset", "subset")
    found = [listed(calling(made), order, "a", "b").holds for order in orders]
    assert found == [strict, in_order, unordered, superset, subset]


def test_two_calls_of_one_tool_in_the_wrong_order_fail() -> None:
    result = listed(calling([cancel("22")], [cancel("11")]), "strict", *wanted("11", "22"))
    assert not result.holds
    assert result.expected == (
        'exactly these calls, in this order: cancel with order = "11"; cancel with order = "22"'
    )
    assert result.found == (
        'another order: cancel({"order": "22"}) in turn 1, then cancel({"order": "11"}) in turn 2; '
        "cancel in turn 1 comes too early"
    )
    assert result.turn == 1
    assert listed(calling([cancel("22")], [cancel("11")]), "unordered", *wanted("11", "22")).holds


def test_what_is_missing_has_the_nearest_call() -> None:
    result = listed(calling([cancel("11")], [cancel("33")]), "superset", *wanted("11", "22"))
    assert result.found == (
        'call 2 is missing: cancel with order = "22" (the nearest is cancel({"order": "33"}) in turn 2, '
        'where order is "33")'
    )
    assert (result.holds, result.turn) == (False, 2)


def test_what_nobody_expected_is_named() -> None:
    result = listed(calling([A], [X, X, X, X], [B]), "unordered", "a", "b")
    assert result.found.startswith("not expected: x({}) in turn 2; not expected: x({})")
    assert result.found.endswith("1 more were not expected")
    assert result.turn == 2


def test_the_first_free_call_is_not_always_the_right_one() -> None:
    """`*` also fits what only the second item can have."""
    anything: list[Any] = ["*", {"tool": "cancel", "args": {"order": "22"}}]
    assert listed(calling([cancel("22"), A]), "unordered", *anything).holds
    assert listed(calling([cancel("22"), A]), "superset", *anything).holds
    overlapping = [{"tool": "c*", "args": {"order": {"matches": pattern}}} for pattern in (".", "1|2", "1")]
    for made in permutations([cancel("1"), cancel("2"), cancel("3")]):
        assert listed(calling(list(made)), "unordered", *overlapping).holds
    assert not listed(calling([cancel("3"), cancel("3"), cancel("1")]), "unordered", *overlapping).holds


@given(st.lists(st.lists(st.integers(0, 5), unique=True), max_size=6))
def test_a_matching_is_as_large_as_any(fits: list[list[int]]) -> None:
    def most(item: int, free: frozenset[int]) -> int:
        if item == len(fits):
            return 0
        with_it = [1 + most(item + 1, free - {at}) for at in fits[item] if at in free]
        return max([most(item + 1, free), *with_it])

    found = matching(fits)
    assert len(found) == len(set(found.values())) == most(0, frozenset(range(6)))
    assert all(at in fits[item] for item, at in found.items())


# Uses and attempts

FAILED = ToolCall("a", error="no service")
REFUSED = ToolCall("x", executed=False)


def test_a_failed_attempt_at_an_expected_call_is_neither() -> None:
    assert listed(calling([FAILED, A, B]), "strict", "a", "b").holds
    missing = listed(calling([FAILED, B]), "strict", "a", "b")
    assert missing.found == "call 1 is missing: a (the nearest is a({}) in turn 1, where it failed)"
    assert listed(calling([FAILED, B]), "strict", "a", "b", count_failed_calls=True).holds


def test_an_attempt_at_another_call_is_one_too_many() -> None:
    for order in ("strict", "unordered", "subset"):
        result = listed(calling([A, REFUSED, B]), order, "a", "b")
        assert (result.holds, result.found) == (False, "not expected: x({}) in turn 1")
    for order in ("in_order", "superset"):
        assert listed(calling([A, REFUSED, B]), order, "a", "b").holds


def test_an_empty_list_forbids_all_calls() -> None:
    for order in ("strict", "unordered", "subset"):
        assert listed(calling([]), order).holds
        assert not listed(calling([A]), order).holds


# What isn't known


def test_arguments_that_nobody_reports_decide_nothing() -> None:
    bare = ToolCall("cancel", unreported=("arguments",))
    with pytest.raises(ScenarioError, match=r"tool_usage\.expected_calls, `args` of cancel cannot"):
        listed(calling([bare]), "strict", *wanted("11"))
    assert listed(calling([bare]), "strict", "cancel").holds


def test_a_call_of_which_nobody_knows_whether_it_was_made_decides_nothing() -> None:
    asked = ToolCall("a", unreported=("result",), on_wire=True)
    with pytest.raises(ScenarioError, match=r"expected calls \(strict\) cannot be checked"):
        listed(calling([asked]), "strict", "a")


def test_the_tools_of_the_list_are_listed() -> None:
    usage = {"expected_calls": {"order": "superset", "calls": ["a"]}, "only_listed": True}
    assert all(one.holds for one in run_checks(evaluation(tool_usage=usage), calling([A])))
    assert [one.holds for one in run_checks(evaluation(tool_usage=usage), calling([A, X]))] == [False, True]


def test_a_name_that_is_spelled_otherwise_is_an_error() -> None:
    with pytest.raises(ScenarioError, match=r"tool_usage\.expected_calls: `findOrder` matches no tool"):
        listed(calling([call("find_order")]), "strict", "findOrder")


# The order of items


@pytest.mark.parametrize(
    ("items", "value", "holds"),
    [
        (["11", "22"], ["22", "11"], True),
        (["11", "22"], ["11", "22", "22"], False),
        (["11", "22", "22"], ["11", "22"], False),
        (["11", "22"], "11, 22", False),
        ([1, True], [True, 1.0], True),
        ([{"a": 1}, [2]], [[2], {"a": 1}], True),
        ([], [], True),
        ([], ["11"], False),
    ],
)
def test_items_in_any_order(items: list[Any], value: Any, holds: bool) -> None:
    usage = {"tool_call_criteria": [{"tool": "a", "assertions": [{"args": {"ids": {"same_items": items}}}]}]}
    (result,) = run_checks(evaluation(tool_usage=usage), calling([call("a", ids=value)]))
    assert result.holds is holds
    assert "has in any order the items" in result.expected
