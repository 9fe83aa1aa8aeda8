"""`cost.json`: what each stage has cost, whatever came of it, over all runs of the folder."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ResultsError
from ...files import cannot, read_file, write_atomically
from ...llm.ledger import Spending
from ..format.folder import BenchmarkFolder
from .call_log import LostCalls, has_calls, keep_lost
from .journal import read_lines
from .spending import Sum, as_numbers

ESTIMATED = "estimated_calls"
"""How many of the calls were in flight when their process died: their tokens and cost are estimates."""

ALL = "all"
"""What has no target."""

CALIBRATE = "calibrate"
"""A section that is there once an evaluator was measured against people: its scores have this table."""

_NUMBERS = ("calls", "attempts", "replayed", "prompt_tokens", "completion_tokens", "cost")
_OURS = (*_NUMBERS, "by_role", "by_target")
_CARRIED = "carried.json"
_LINES = "*/*.jsonl"


SumsByTarget = defaultdict[str, Sum]
"""What is being added up, by target (or `all`)."""


def write_cost(folder: BenchmarkFolder, stages: Mapping[str, Sequence[str]]) -> None:
    """Add up all lines that were ever written, failures too, if there is a newer one than the file.

    `stages` are the sections that are always there, each with the tables that it adds up. What else others
    have in the file stays. The caller has the folder's lock.
    """
    if not _is_old(folder):
        return
    carried = _read(folder.rows / _CARRIED)
    tables = {**stages, CALIBRATE: (CALIBRATE,)}
    tickets: set[str] = set()
    rows = {step: _spent_on_rows(folder, step, tickets) for steps in tables.values() for step in steps}
    lost = LostCalls.read(folder.rows, tickets)
    sections = {
        name: _section([*(rows[step] for step in steps), _of_steps(lost, steps)], carried.get(name))
        for name, steps in tables.items()
    }
    if folder.cost.exists() and not any(_all(sections.values()).values()):
        return  # another system's: nothing was spent that it doesn't know of
    shown = {name: _shown(found) for name, found in sections.items() if found or name != CALIBRATE}
    shown["total"] = _shown(_all(sections.values()))
    before = _read(folder.cost)
    costs: dict[str, Any] = {
        name: {**_others(before.get(name)), **section} for name, section in shown.items()
    }
    costs |= {name: value for name, value in before.items() if name not in costs}
    if lost.estimated:
        costs[ESTIMATED] = lost.estimated
    _write(folder.cost, (json.dumps(costs, indent=2) + "\n").encode("ascii"))
    keep_lost(folder.rows, tickets)


def _spent_on_rows(folder: BenchmarkFolder, step: str, tickets: set[str]) -> SumsByTarget:
    """By target, what all lines of a step cost. The tickets of their calls are added to `tickets`."""
    sums: SumsByTarget = defaultdict(Sum)
    for file in (folder.rows / step).glob("*.jsonl"):
        for line in read_lines(file):
            sums[file.stem].add(line.head.get("spent", {}))
            tickets.add(str(line.head.get("ticket", "")))
    return sums


def _of_steps(lost: LostCalls, steps: Sequence[str]) -> SumsByTarget:
    """By target, what calls cost that came to no row."""
    found: SumsByTarget = defaultdict(Sum)
    for (step, target), one in lost.sums.items():
        if step in steps:
            found[target or ALL].add(as_numbers(one.by_role()))
    return found


def _others(section: Any) -> Mapping[str, Any]:
    """What of a section isn't ours."""
    found = section if isinstance(section, Mapping) else {}
    return {name: value for name, value in found.items() if name not in _OURS}


def carry_over(folder: BenchmarkFolder) -> None:
    """Keep what `cost.json` says where the lines that it was made of are not there: in a fresh checkout."""
    worked = any(folder.rows.glob(_LINES)) or has_calls(folder.rows)
    # Otherwise the calls of rows that were interrupted would count once more.
    if folder.cost.exists() and not worked and not (folder.rows / _CARRIED).exists():
        _write(folder.rows / _CARRIED, read_file(folder.cost))


def was_worked_in(folder: BenchmarkFolder) -> bool:
    """Whether a row was made there, or tokens were used; rows that were taken over are elsewhere, too."""
    lines = (line for file in folder.rows.glob(_LINES) for line in read_lines(file))
    made = any((line.made and not line.head.get("adopted")) or _used_tokens(line.head) for line in lines)
    return made or has_calls(folder.rows)


def _used_tokens(head: Mapping[str, Any]) -> bool:
    return any(prompt or completion for *_, prompt, completion, _ in head.get("spent", {}).values())


def _is_old(folder: BenchmarkFolder) -> bool:
    try:
        written = folder.cost.stat().st_mtime_ns
    except FileNotFoundError:
        return True
    if has_calls(folder.rows):
        return True
    # The clocks of file systems tick every few milliseconds: within one tick nobody knows what came first.
    return any(lines.stat().st_mtime_ns >= written for lines in folder.rows.glob(_LINES))


ByTarget = Mapping[str, Mapping[str, Spending]]
"""What was spent, by target (or `all`) and by role."""


def _section(parts: Sequence[SumsByTarget], carried: Any) -> ByTarget:
    sums: defaultdict[str, Sum] = defaultdict(Sum)
    for target, part in _parts(carried, "by_target"):
        for role, numbers in _parts(part, "by_role"):
            sums[target].add({role: [_number(numbers.get(name, 0)) for name in _NUMBERS]})
    for by_target in parts:
        for target, one in by_target.items():
            sums[target].add(as_numbers(one.by_role()))
    return {target: sums[target].by_role() for target in sorted(sums)}


def _parts(data: Any, name: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The objects within a part of an object; nothing of what another system may have there instead."""
    found = data.get(name) if isinstance(data, Mapping) else None
    items = found.items() if isinstance(found, Mapping) else ()
    return [(key, value) for key, value in items if isinstance(value, Mapping)]


def _number(found: Any) -> int | float | None:
    """None for a cost that isn't known; 0 for what is not a number."""
    return found if found is None or isinstance(found, (int, float)) else 0


def _all(sections: Iterable[ByTarget]) -> ByTarget:
    sums: defaultdict[str, Sum] = defaultdict(Sum)
    for section in sections:
        for target, by_role in section.items():
            sums[target].add(as_numbers(by_role))
    return {target: sums[target].by_role() for target in sorted(sums)}


def _shown(by_target: ByTarget) -> dict[str, Any]:
    total = Sum()
    for by_role in by_target.values():
        total.add(as_numbers(by_role))
    return {
        **_with_roles(total.by_role()),
        "by_target": {target: _with_roles(by_role) for target, by_role in by_target.items()},
    }


def _with_roles(by_role: Mapping[str, Spending]) -> dict[str, Any]:
    whole = Sum()
    for one in by_role.values():
        whole.add(as_numbers({"all": one}))
    total = whole.by_role().get("all", Spending())
    return {**_numbers(total), "by_role": {role: _numbers(one) for role, one in by_role.items()}}


def _numbers(one: Spending) -> dict[str, Any]:
    return dict(zip(_NUMBERS, as_numbers({"": one})[""], strict=True))


def _write(path: Path, content: bytes) -> None:
    try:
        write_atomically(path, content)
    except OSError as error:
        raise ResultsError(cannot(path, "written", error)) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_file(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
