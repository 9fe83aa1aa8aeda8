"""Stored conversations to change, with verdicts that quote them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_convoprobe.judging.criteria import criteria_of
from pytest_convoprobe.judging.types import About, CriterionResult
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Turn

ORDER = ToolCall("get_order", {"order_id": "A-1042"}, result={"status": "shipped", "arrives": "2026-11-04"})


def scenario(criteria: list[Any], tool_usage: dict[str, Any] | None = None, **parts: Any) -> Scenario:
    """A scenario with these correctness criteria."""
    return Scenario.model_validate(
        {
            "name": "Talk",
            "description": "A talk.",
            "synthetic_user": {"persona": "Somebody", "initial_query": "Where is my order?"},
            "evaluation": {
                "correctness_criteria": criteria,
                "tool_usage": tool_usage or {},
                **parts,
            },
        }
    )


def talk(*turns: tuple[Any, ...]) -> Transcript:
    """Turns of a user message, a reply, and any calls."""
    made = (
        Turn(number, user, Reply(reply, tuple(calls)))
        for number, (user, reply, *calls) in enumerate(turns, 1)
    )
    return Transcript(tuple(made), Termination.USER_DONE)


def judged(
    scenario: Scenario,
    transcript: Transcript,
    quotes: dict[str, tuple[str, int]],
    about: About | None = About.AGENT,
) -> ScenarioResult:
    """A passed trial. `quotes` are those of the criteria by id; one that isn't there held without a quote."""
    found = tuple(
        CriterionResult(criterion, "met", True, "Seen.", *quotes.get(criterion.id, (None, None)))
        for criterion in criteria_of(scenario.evaluation)
    )
    known = tuple(_about(one, about) for one in found)
    return ScenarioResult(
        "Talk", "scenarios/talk.yaml::Talk", "scenarios/talk.yaml", 1, Outcome.PASSED,
        score=1.0, transcript=transcript, criteria=known,
    )  # fmt: skip


def _about(found: CriterionResult, about: About | None) -> CriterionResult:
    return replace(found, criterion=replace(found.criterion, about=about))
