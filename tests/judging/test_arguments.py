"""What conditions on values accept, and how they name what is wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.judging.arguments import unmet, wanted
from pytest_convoprobe.scenario.approvals import ApprovalRule
from pytest_convoprobe.scenario.assertions import ToolAssertion
from pytest_convoprobe.scenario.models import ArgumentCondition

DATA = {
    "n": 90,
    "price": 89.9,
    "digits": "95",
    "yes": True,
    "nothing": None,
    "city": "Oslo, Norway",
    "list": ["a", 2],
    "address": {"city": "Oslo", "zip": "0150", "at": {"lat": 59.9}},
    "items": [{"sku": "A-1", "quantity": 1}, {"sku": "B-7", "quantity": 3}],
    "only": [{"sku": "A-1", "quantity": 1}],
    "range": {"min": 1},
}


def conditions(args: dict[str, Any]) -> dict[str, ArgumentCondition]:
    return ToolAssertion.model_validate({"args": args}).args


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("n", {"at_least": 90}),
        ("n", {"at_most": 90.0}),
        ("n", {"above": 89.9, "below": 91}),
        ("price", {"above": 89, "below": 90}),
        ("n", {"not_equals": 91}),
        ("n", {"not_equals": "90"}),
        ("yes", {"not_equals": 1}),
        ("nothing", {"not_equals": 0}),
        ("nothing", {"one_of": [1, None]}),
        ("n", {"one_of": [89, 90.0]}),
        ("city", {"not_contains": "Sweden"}),
        ("list", {"not_contains": "b"}),
        ("list", {"not_contains": True}),
        ("address", {"not_contains": "country"}),
        ("n", {"not_contains": "9"}),
        ("city", {"not_matches": "^Norway"}),
        ("address", {"city": "Oslo"}),
        ("address", {"city": {"matches": "^O"}, "at": {"lat": {"above": 59}}}),
        ("address", {"at.lat": {"above": 59}}),
        ("address", {"includes": {"zip": {"one_of": ["0150", "0151"]}}}),
        ("address.at", {"lat": {"below": 60}}),
        ("items", {"includes": [{"sku": "B-7", "quantity": {"at_least": 2}}]}),
        ("items", {"includes": [{"sku": "B-7"}, {"sku": "A-1"}]}),
        ("items", {"1": {"sku": "B-7"}}),
        ("list", {"includes": ["a", {"at_least": 1}]}),
        ("list", ["a", 2]),
        ("range", {"includes": {"min": {"at_most": 1}}}),
    ],
)
def test_a_condition_that_holds(name: str, condition: Any) -> None:
    assert unmet(conditions({name: condition}), DATA) == ()


@pytest.mark.parametrize(
    ("name", "condition", "problems"),
    [
        ("n", {"at_least": 91}, ["n is 90"]),
        ("n", {"above": 90}, ["n is 90"]),
        ("n", {"below": 90}, ["n is 90"]),
        ("price", {"at_least": 89.91}, ["price is 89.9"]),
        ("digits", {"at_least": 90}, ['digits is "95", which is not a number']),
        ("yes", {"at_least": 0}, ["yes is true, which is not a number"]),
        ("nothing", {"below": 5}, ["nothing is null, which is not a number"]),
        ("nothing", {"not_equals": None}, ["nothing is null"]),
        ("n", {"not_equals": 90.0}, ["n is 90"]),
        ("n", {"one_of": [1, "90"]}, ["n is 90"]),
        ("yes", {"one_of": [1]}, ["yes is true"]),
        ("city", {"not_contains": "Oslo"}, ['city is "Oslo, Norway"']),
        ("list", {"not_contains": 2.0}, ['list is ["a", 2]']),
        (
            "digits",
            {"not_contains": 9},
            ['digits is "95", a text, which has texts as parts: put the part in quotes'],
        ),
        (
            "digits",
            {"not_contains": 1},
            ['digits is "95", a text, which has texts as parts: put the part in quotes'],
        ),
        (
            "digits",
            {"contains": 95},
            ['digits is "95", a text, which has texts as parts: put the part in quotes'],
        ),
        ("city", {"not_matches": "(?i)OSLO"}, ['city is "Oslo, Norway"']),
        ("missing", {"not_equals": 1}, ["missing is missing"]),
        ("missing", {"not_contains": "x"}, ["missing is missing"]),
        ("address", {"city": "Bergen"}, ['address.city is "Oslo"']),
        ("address", {"at": {"lat": {"above": 60}}}, ["address.at.lat is 59.9"]),
        ("address", {"city": "Oslo", "country": "NO"}, ["address.country is missing"]),
        (
            "address",
            {"city": "Bergen", "zip": {"matches": "^5"}},
            ['address.city is "Oslo"', 'address.zip is "0150"'],
        ),
        ("city", {"name": "Oslo"}, ['city is "Oslo, Norway", which has no keys']),
        ("items", {"includes": [{"sku": "C-9"}]}, ['items has no item with item.sku = "C-9"']),
        (
            "items",
            {"includes": [{"sku": "B-7", "quantity": {"above": 3}}]},
            ['items has no item with item.sku = "B-7" and item.quantity above 3'],
        ),
        ("only", {"includes": [{"sku": "A-1", "quantity": 2}]}, ["only.0.quantity is 1"]),
        (
            "address",
            {"includes": ["Oslo"]},
            ['address is {"city": "Oslo", "zip": "0150", "at": {"lat": 59.9}}, which is not a list'],
        ),
    ],
)
def test_what_is_wrong_names_the_innermost_key(name: str, condition: Any, problems: list[str]) -> None:
    assert list(unmet(conditions({name: condition}), DATA)) == problems


@pytest.mark.parametrize("key", ["at_least", "at_most", "above", "below"])
def test_what_is_not_a_number_is_in_no_range(key: str) -> None:
    assert unmet(conditions({"n": {key: 0}}), {"n": math.nan})


def test_in_words() -> None:
    args = {
        "amount": {"at_least": 90, "below": 95.5, "not_equals": 91},
        "unit": {"one_of": ["C", 1]},
        "note": {"not_contains": "x", "not_matches": "y"},
        "address": {"city": "Oslo"},
        "items": {"includes": [{"sku": "B-7", "n": {"above": 1}}]},
    }
    assert wanted(conditions(args)) == (
        'amount is not 91 and amount at least 90 and amount below 95.5 and unit is one of ["C", 1] and '
        'note doesn\'t contain "x" and note doesn\'t match /y/ and address.city = "Oslo" and '
        'items has an item with item.sku = "B-7" and item.n above 1'
    )


def test_rules_for_approvals_have_the_same_conditions() -> None:
    rule = ApprovalRule.model_validate(
        {"tool": "refund", "answer": "approve", "args": {"to": {"amount": {"below": 9}}}}
    )
    assert unmet(rule.args, {"to": {"amount": 8}}) == ()
    assert unmet(rule.args, {"to": {"amount": 9}}) == ("to.amount is 9",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


def holds(condition: dict[str, Any], value: Any) -> bool:
    return not unmet({"x": ArgumentCondition.model_validate(condition)}, {"x": value})


@given(JSON, JSON)
def test_a_condition_or_its_opposite_holds_for_every_value(value: Any, other: Any) -> None:
    assert holds({"equals": other}, value) is not holds({"not_equals": other}, value)
    assert holds({"one_of": [other]}, value) is holds({"equals": other}, value)
    if isinstance(value, str) and not isinstance(other, (str, list)):
        assert not holds({"contains": other}, value)
        assert not holds({"not_contains": other}, value)
    elif other != "" and not isinstance(other, list):
        assert holds({"contains": other}, value) is not holds({"not_contains": other}, value)
    assert holds({"matches": "a"}, value) is not holds({"not_matches": "a"}, value)


@given(JSON, st.floats(-9, 9))
def test_a_number_is_on_one_side_of_a_bound_and_nothing_else_is(value: Any, bound: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    assert (holds({"at_least": bound}, value) + holds({"below": bound}, value)) == number
    assert (holds({"above": bound}, value) + holds({"at_most": bound}, value)) == number


@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), JSON, min_size=1, max_size=3), JSON)
def test_a_mapping_includes_each_part_of_it(value: dict[str, Any], more: Any) -> None:
    parts = {key: {"equals": item} for key, item in value.items()}
    assert holds({"includes": parts}, {**value, "c": more})
    assert not holds({"includes": {**parts, "d": {"equals": more}}}, value)
    assert holds({"includes": [{"equals": value}]}, [more, value])
