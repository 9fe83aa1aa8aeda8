"""What the calls of a run cost, written down as they end: also those of trials that never came to a result.

A line for each call, in a file of each process, `calls-WORKER.jsonl`. A conversation that is interrupted, or
whose process dies, leaves no trial. What it has cost is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ..llm.budget import Spent
from ..llm.ledger import Spending
from ..llm.port import Role
from ..transcript import Usage
from .kept_json import read_lines
from .records import read_spending, spending_record

ByRole = Mapping[Role, Spending]


class Spends(Protocol):
    """What has spent something: a result, or a digest of one."""

    @property
    def spending(self) -> ByRole: ...


def calls_file(worker: str) -> str:
    """The name of a worker's file of calls."""
    return f"calls-{worker}.jsonl"


def call_record(scenario_id: str, trial: int, role: Role, spent: Spending) -> dict[str, Any]:
    """One call, or the tokens that an agent reports with a reply, as plain data."""
    return {"scenario_id": scenario_id, "trial": trial, "role": role.value, **spending_record(spent)}


def read_calls(folder: Path) -> dict[Role, Spending]:
    """By role, what all calls of the run in a folder cost. Lines that can't be read are left out."""
    spent: dict[Role, Spending] = {}
    for role, one in read_lines(sorted(folder.glob(calls_file("*"))), _call):
        add_spending(spent, {role: one})
    return spent


def spent_live(folder: Path, worker: str) -> Spent:
    """What a worker has spent of the budget, as far as its file says: a replayed call costs nothing."""
    path = folder / calls_file(worker)
    paths = [path] if path.exists() else []
    calls = [one for _, one in read_lines(paths, _call) if not one.replayed]
    return Spent(sum(one.cost or 0.0 for one in calls), sum(one.usage.total for one in calls))


def _call(data: Any) -> tuple[Role, Spending]:
    return Role(data["role"]), read_spending(data)


def add_spending(total: dict[Role, Spending], more: ByRole) -> None:
    """Add to a sum by role."""
    for role, spent in more.items():
        total[role] = total.get(role, Spending()) + spent


def without_result(calls: ByRole, results: Iterable[Spends]) -> dict[Role, Spending]:
    """What the calls of a run cost beyond what its results say: by role, only roles that have something."""
    shown: dict[Role, Spending] = {}
    for one in results:
        add_spending(shown, one.spending)
    rest = {role: _rest(spent, shown.get(role, Spending())) for role, spent in calls.items()}
    return {role: spent for role, spent in rest.items() if spent.calls > 0 or spent.is_agents_own}


def _rest(whole: Spending, part: Spending) -> Spending:
    """What is left. The file may lack lines, so nothing is less than zero."""
    prompt = max(0, whole.usage.prompt_tokens - part.usage.prompt_tokens)
    completion = max(0, whole.usage.completion_tokens - part.usage.completion_tokens)
    return Spending(
        max(0, whole.calls - part.calls),
        max(0, whole.attempts - part.attempts),
        max(0, whole.replayed - part.replayed),
        Usage(prompt, completion),
        None if whole.cost is None else max(0.0, whole.cost - (part.cost or 0.0)),
    )
