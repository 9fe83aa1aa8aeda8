from __future__ import annotations

from pytest_convoprobe.judging.criteria import criteria_of
from pytest_convoprobe.judging.types import About, Criterion, CriterionKind, Shows

from .support import evaluation


def test_criteria_travel_under_ids_by_kind() -> None:
    asked = evaluation(
        correctness_criteria=["Asks for the city", "Tells the weather"],
        failure_criteria=["Guesses"],
        tool_usage={
            "tool_call_criteria": [
                {"tool": "get_weather", "assertions": ["Called once the city is known", {"times": 1}]},
                {"tool": "geocode", "assertions": ["If called, with the city"]},
            ]
        },
    )
    assert criteria_of(asked) == (
        Criterion("c1", CriterionKind.CORRECTNESS, "Asks for the city"),
        Criterion("c2", CriterionKind.CORRECTNESS, "Tells the weather"),
        Criterion("f1", CriterionKind.FAILURE, "Guesses"),
        Criterion("t1", CriterionKind.TOOL, "Called once the city is known", "get_weather", About.TOOL),
        Criterion("t2", CriterionKind.TOOL, "If called, with the city", "geocode", About.TOOL),
    )


def test_the_same_text_twice_has_two_ids() -> None:
    asked = evaluation(correctness_criteria=["Polite", "Polite"])
    assert [criterion.id for criterion in criteria_of(asked)] == ["c1", "c2"]


def test_what_the_author_knows_about_a_criterion_is_kept() -> None:
    says = {"text": "Never asks for a password", "about": "agent", "shows": "absence", "opposite": "Asks"}
    asked = evaluation(correctness_criteria=[says, {"text": "Polite"}])
    assert criteria_of(asked) == (
        Criterion(
            "c1",
            CriterionKind.CORRECTNESS,
            "Never asks for a password",
            None,
            About.AGENT,
            Shows.ABSENCE,
            "Asks",
        ),
        Criterion("c2", CriterionKind.CORRECTNESS, "Polite"),
    )
