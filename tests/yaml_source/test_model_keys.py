from __future__ import annotations

import pytest

from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.yaml_source import Loc
from pytest_convoprobe.yaml_source.model_keys import is_required, known_keys, limits, owners

CONDITIONS_IN_ORDER = (
    "equals", "not_equals", "one_of", "same_items", "contains", "not_contains", "includes",
    "matches", "not_matches",
    "at_least", "at_most", "above", "below",
)  # fmt: skip


@pytest.mark.parametrize(
    ("loc", "keys"),
    [
        (("synthetic_user", "landmarks", 3), ("turn", "instruction")),
        (("synthetic_user", "script", 0), ("simulate", "instruction", "answer", "reason")),
        (("config", "judge"), ("model", "temperature", "extra_instructions")),
        (
            ("evaluation", "tool_usage", "tool_call_criteria", 0, "assertions", 1, "args", "any.name"),
            CONDITIONS_IN_ORDER,
        ),
        (("metadata",), ()),
        (("nowhere",), ()),
    ],
)
def test_the_keys_of_a_place(loc: Loc, keys: tuple[str, ...]) -> None:
    assert known_keys(Scenario, loc) == keys


def test_where_a_key_belongs() -> None:
    assert owners(Scenario, "patience") == ("in `synthetic_user.clarification_behavior.traits`",)
    assert owners(Scenario, "name") == ("at the top", "in `synthetic_user.history[].tool_calls[]`")
    assert owners(Scenario, "turn") == ("in `synthetic_user.landmarks[]`", "in `evaluation.replies[]`")
    assert owners(Scenario, "colour") == ()


def test_ranges() -> None:
    assert limits(Scenario, ("synthetic_user", "max_turns")) == "from 1 to 100"
    assert limits(Scenario, ("evaluation", "efficiency", "max_tool_calls")) == "at least 0"
    assert limits(Scenario, ("config", "judge", "temperature")) == "from 0 to 2"


def test_what_is_required() -> None:
    assert is_required(Scenario, ("synthetic_user", "persona"))
    assert not is_required(Scenario, ("synthetic_user", "max_turns"))
    assert not is_required(Scenario, ("nowhere", "at all"))
