from __future__ import annotations

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_convoprobe.scenario.models import Landmark, Scenario, SimulatedTurns, SyntheticUser, ToolAssertion
from pytest_convoprobe.scenario.rules import (
    landmark_complaints,
    pattern_complaint,
    script_complaints,
    script_length,
    skip_complaint,
)

FREE = st.integers(1, 9).map(lambda turns: SimulatedTurns(simulate=turns))
SCRIPTS = st.lists(st.just("hello") | FREE, max_size=8)
UNTIL_DONE = SimulatedTurns(simulate="until_done")


@given(SCRIPTS, st.integers(1, 100))
def test_a_script_is_refused_exactly_if_it_is_too_long(script: list[str | SimulatedTurns], most: int) -> None:
    assert bool(list(script_complaints(script, most))) == (script_length(script) > most)


@given(SCRIPTS)
def test_a_script_fits_into_the_number_of_turns_that_the_message_names(
    script: list[str | SimulatedTurns],
) -> None:
    needed = script_length(script)
    assert list(script_complaints(script, needed)) == []
    ((_, message),) = script_complaints(script, needed - 1)
    assert f"needs {needed} turns" in message


@given(SCRIPTS, SCRIPTS.filter(bool))
def test_only_the_last_item_may_run_until_done(
    before: list[str | SimulatedTurns], after: list[str | SimulatedTurns]
) -> None:
    assert list(script_complaints([*before, UNTIL_DONE], None)) == []
    (((place,), message),) = script_complaints([*before, UNTIL_DONE, *after], None)
    assert place == len(before) + 1
    assert "nothing can follow" in message


def _turn_by_turn(script: list[str | SimulatedTurns]) -> list[bool]:
    """For each turn after the first whether it is literal."""
    turns: list[bool] = []
    for item in script:
        turns += [True] if isinstance(item, str) else [False] * int(item.simulate)
    return turns


@given(SCRIPTS.filter(bool), st.integers(1, 60))
def test_a_landmark_stands_on_a_turn_that_is_simulated(script: list[str | SimulatedTurns], turn: int) -> None:
    literal = [False, *_turn_by_turn(script)]
    good = turn <= len(literal) and not literal[turn - 1]
    landmark = Landmark(turn=turn, instruction="x")
    assert bool(list(landmark_complaints([landmark], 100, script))) != good


@given(st.lists(st.integers(1, 10)))
def test_each_turn_has_one_landmark(turns: list[int]) -> None:
    landmarks = [Landmark(turn=turn, instruction="x") for turn in turns]
    assert len(list(landmark_complaints(landmarks, 10, []))) == len(turns) - len(set(turns))


@given(st.text())
def test_whatever_is_no_pattern_is_told_and_nothing_else_happens(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = pattern_complaint(pattern)
    assert told is None or told.startswith("not a regular expression")


@pytest.mark.parametrize(
    "skip",
    [True, False, "later", "No network in CI", "flaky", "WIP", "#123: no answer", "not yet", "CI 2", "冬"],
)
def test_a_good_skip(skip: object) -> None:
    assert skip_complaint(skip) is None


@pytest.mark.parametrize(
    "skip",
    [
        *(None, 0, 1, "", "  ", "yes", "False", "null", [], {}),
        *(
            "n",
            "N",
            "0",
            "1",
            "0.0",
            "False.",
            "false  # see below",
            "False, see #3",
            "\uff46alse.",
            "(false)",
            "'no'",
            "no!",
            "-",
            "...",
            "\u200b",
            "flase",
            "Fales",
        ),
        *("tru", "true true", "n/a", "not", "never", "disabled", "nein", "1 2", "fal\u200bse"),
    ],
)
def test_a_bad_skip(skip: object) -> None:
    assert skip_complaint(skip)


def test_in_python_a_mistake_is_one_of_pydantics_errors() -> None:
    with pytest.raises(ValidationError, match="`times` is the exact number"):
        ToolAssertion(times=1, at_most=2)


def test_a_scenario_is_built_in_python() -> None:
    scenario = Scenario(
        name="a",
        description="b",
        synthetic_user=SyntheticUser(persona="c", initial_query="d", script=["e", {"simulate": 1}]),
        evaluation={"correctness_criteria": ["f"]},
    )
    assert scenario.synthetic_user.script == ("e", SimulatedTurns(simulate=1))
    assert Scenario.model_validate(scenario.model_dump()) == scenario


def test_a_scenario_does_not_change() -> None:
    traits = SyntheticUser(persona="c", initial_query="d").clarification_behavior.traits
    with pytest.raises(ValidationError, match="frozen"):
        traits.patience = "low"  # type: ignore[misc]
