"""How long the agent took for a turn, where that was measured."""

from __future__ import annotations

from ..errors import ScenarioError
from ..formatting import exact_seconds, seconds
from ..transcript import Transcript
from .types import CheckResult

LATENCY = "latency of each turn"


def slowest_turn(limit: float, transcript: Transcript) -> CheckResult | ScenarioError:
    """The check of `max_turn_latency`; an error where the time says nothing about the agent."""
    # A greeting answers no message, so there may be no time of it.
    unknown = [turn.number for turn in transcript.turns if turn.number > 0 and turn.latency <= 0]
    if transcript.replayed:
        return _replayed()
    if unknown or not transcript.turns:
        turn = f"turn {unknown[0]}" if unknown else "a turn"
        return ScenarioError(f"{_UNDECIDED}nobody measured how long {turn} took. {_TAKE_OUT}")
    slowest = max(transcript.turns, key=lambda turn: turn.latency)
    found = f"{seconds(slowest.latency)} in turn {slowest.number}"
    holds = slowest.latency <= limit
    return CheckResult(LATENCY, holds, f"at most {exact_seconds(limit)}", found, slowest.number)


def _replayed() -> ScenarioError:
    error = ScenarioError(f"{_UNDECIDED}calls of the agent's model were answered from a recording, {_LIVE}")
    error.remedies = ("run.replay=off",)
    return error


_UNDECIDED = "efficiency.max_turn_latency cannot be checked: "
_TAKE_OUT = "Take the limit out of the scenario"
_LIVE = "which is faster than the agent is. Run the scenario live, or take the limit out of it"
