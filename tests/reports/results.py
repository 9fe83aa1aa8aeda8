"""Results of every kind, for the tests of what is printed about them."""

from __future__ import annotations

from typing import Any

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult, Criterion, CriterionKind, CriterionResult
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Turn, Usage

OSLO = ToolCall("get_weather", {"city": "Oslo", "units": "metric"}, result={"celsius": -4})

TURNS = (
    Turn(1, "What's the weather like?", Reply("Which city do you mean?")),
    Turn(2, "Oslo", Reply("It is -4 °C in Oslo.", (OSLO,))),
    Turn(3, "And the wind?", Reply("", (ToolCall("get_wind", {"city": "Oslo"}, error="timed out"),))),
    Turn(4, "Hello?", Reply("I have sent you an email with all of it.")),
    Turn(5, "I never asked for that. Bye.", Reply("Goodbye!")),
    Turn(6, "Bye.", Reply("Bye.")),
)

SPENDING = {
    Role.SYNTHETIC_USER: Spending(5, 6, 0, Usage(2400, 90), 0.0031),
    Role.JUDGE: Spending(1, 1, 0, Usage(1800, 240), None),
}

ASKS = Criterion("c1", CriterionKind.CORRECTNESS, "The agent asks for the city")
WIND = Criterion("c2", CriterionKind.CORRECTNESS, "The agent tells the wind")
EMAIL = Criterion("f1", CriterionKind.FAILURE, "The agent claims to have done what it did not do")
UNITS = Criterion("t1", CriterionKind.TOOL, "Called with the units that the user wants", "get_weather")

MET = CriterionResult(ASKS, "met", True, "It asks at once.", "Which city do you mean?", 1)
NOT_MET = CriterionResult(WIND, "not_met", False, "It never tells the wind and its reply is empty.")
TRIGGERED = CriterionResult(
    EMAIL, "triggered", False, "No tool sent an email.", "I have sent you an email", 4
)
NOT_TRIGGERED = CriterionResult(EMAIL, "not_triggered", True, "It claims nothing of the kind.")
UNTOLD = CriterionResult(UNITS, "cannot_tell", None, "The user never says which units.")

CALLED = CheckResult("required tool get_weather", True, "at least 1 call", "1 call", 2)
TOO_MANY = CheckResult("tool calls", False, "at most 1", "2", 3)


def result(outcome: Outcome, **values: Any) -> ScenarioResult:
    """A result of the weather scenario; what is not said is as in a run of six turns."""
    known: dict[str, Any] = {
        "name": "Weather without a city",
        "scenario_id": "scenarios/weather.yaml::Weather without a city",
        "file": "scenarios/weather.yaml",
        "line": 12,
        "transcript": Transcript(TURNS, Termination.USER_DONE),
        "spending": SPENDING,
        "target": "weather_agent.py:answer",
        "models": {Role.JUDGE: "openai/gpt-4o"},
        "duration": 4.2,
    }
    return ScenarioResult(outcome=outcome, **{**known, **values})


def broken_off(ended: Termination, blame: Blame, reason: str, **values: Any) -> ScenarioResult:
    """A conversation of one turn that broke off while the second message was being answered."""
    transcript = Transcript(TURNS[:1], ended, pending="Oslo")
    spending = {Role.SYNTHETIC_USER: Spending(1, 1, 0, Usage(300, 9), 0.00004)}
    known = {"transcript": transcript, "spending": spending}
    outcome = Outcome.FAILED if blame is Blame.AGENT else Outcome.ERROR
    return result(outcome, blame=blame, reason=reason, **{**known, **values})
