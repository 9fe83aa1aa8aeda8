"""Time and cost of a trial as tables show them."""

from __future__ import annotations

from typing import Any

from ...formatting import dollars, seconds
from ...llm.ledger import Spending
from ...llm.port import Role
from ...result import ScenarioResult
from ..money import ROLE_NAMES, is_replayed
from ..wire_lines import model_of
from .turns import shown


def cost_of(role: Role, result: ScenarioResult) -> dict[str, Any]:
    """The row of a role, with its model."""
    model = shown(model_of(result, role))
    return {"role": ROLE_NAMES[role], "model": model, **figures(result.spending[role])}


def figures(spent: Spending) -> dict[str, str]:
    """Calls, tokens and dollars, as text that fits a table."""
    retried = spent.attempts - spent.calls
    calls = "its own" if spent.is_agents_own else f"{spent.calls:,}"
    calls += f" (+{retried:,} retried)" if retried > 0 else ""
    if is_replayed(spent):
        calls += " replayed"
    elif spent.replayed:
        calls += f" ({spent.replayed:,} replayed)"
    usage = spent.usage
    return {
        "calls": calls,
        "in": f"{usage.prompt_tokens:,}",
        "out": f"{usage.completion_tokens:,}",
        "cost": dollars(spent.cost),
    }


def times(result: ScenarioResult) -> list[list[str]]:
    """The whole trial, the target's share of it, and its slowest reply."""
    turns = [turn for turn in result.transcript.turns if turn.latency]
    found = [["Whole trial", seconds(result.duration)]]
    if turns:
        slowest = max(turns, key=lambda turn: turn.latency)
        total = sum(turn.latency for turn in turns)
        found.append(["Waiting for the target", f"{seconds(total)}, {seconds(total / len(turns))} a turn"])
        found.append(["Slowest reply", f"{seconds(slowest.latency)}, turn {slowest.number}"])
    return found
