"""A store of 100,000 trials, and what answers from it take.

`python -m tests.perf.history make FOLDER` writes the store, `python -m tests.perf.history list FOLDER` (or
`trends`, `flaky`, `compare`) answers once: each in a process of its own, so that its memory can be measured.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from pytest_convoprobe.judging.types import Criterion, CriterionKind, CriterionResult
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.compare import compare
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.history import flaky, trends
from pytest_convoprobe.results.store import Git, IndexRow, RunInfo, RunState, RunWriter, list_runs
from pytest_convoprobe.transcript import Reply, Termination, Transcript, Turn, Usage

RUNS, SCENARIOS = 200, 500
"""500 scenarios in each of 200 runs are 100,000 trials."""

_TURNS = tuple(Turn(n, f"What about {n}?", Reply(f"It is {n}. " * 20), latency=0.5) for n in range(1, 4))
_CRITERIA = tuple(Criterion(f"c{n}", CriterionKind.CORRECTNESS, f"It tells the {n}") for n in range(1, 4))
_SPENT = {
    Role.SYNTHETIC_USER: Spending(2, 2, 0, Usage(900, 40), 0.0004),
    Role.JUDGE: Spending(1, 1, 0, Usage(1200, 200), 0.0009),
}


def make(folder: Path) -> None:
    """Write the store: each line was once written by the writer that a run uses, and is used again."""
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as scratch:
        lines = {passed: _written(Path(scratch) / str(passed), passed) for passed in (True, False)}
    for number in range(RUNS):
        run = f"202611{1 + number // 24:02}T{number % 24:02}0000Z-{number:06x}"
        writer = RunWriter(folder, run, redactor=Redactor(environ={}))
        ended = RunInfo(run, 1.0 + number, RunState.FINISHED, git=Git(f"{number:040x}"), ended=2.0 + number)
        writer.write_info(ended)
        writer.close()
        steady = [chance.random() < (0.7 if scenario % 10 == 0 else 0.99) for scenario in range(SCENARIOS)]
        _copy([lines[passed][scenario] for scenario, passed in enumerate(steady)], writer.folder)


Line = tuple[bytes, list[Any]]


def _written(folder: Path, passed: bool) -> list[Line]:
    """What the writer makes of one trial of each scenario: the trial's line, and its row."""
    writer = RunWriter(folder, "run", redactor=Redactor(environ={}))
    for scenario in range(SCENARIOS):
        writer.add(_trial(scenario, passed), Prints("a" * 16, "b" * 16, "c" * 16, f"{scenario:016x}"))
    writer.close()
    trials = (writer.folder / "trials-main.jsonl").read_bytes().splitlines(keepends=True)
    rows = (writer.folder / "index-main.jsonl").read_bytes().splitlines()
    return list(zip(trials, map(json.loads, rows), strict=True))


def _copy(lines: list[Line], folder: Path) -> None:
    (folder / "trials-main.jsonl").write_bytes(b"".join(trial for trial, _ in lines))
    offsets = accumulate((len(trial) for trial, _ in lines), initial=0)
    rows = ([row[0], offset, *row[2:]] for (_, row), offset in zip(lines, offsets, strict=False))
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    (folder / "index-main.jsonl").write_text(text)


def _trial(scenario: int, passed: bool) -> ScenarioResult:
    return ScenarioResult(
        name=f"A customer with problem {scenario}",
        scenario_id=f"scenarios/area{scenario % 20}/customers.yaml::A customer with problem {scenario}",
        file=f"scenarios/area{scenario % 20}/customers.yaml",
        line=scenario,
        outcome=Outcome.PASSED if passed else Outcome.FAILED,
        reason="" if passed else "It tells the 2",
        score=1.0 if passed else 2 / 3,
        transcript=Transcript(_TURNS, Termination.USER_DONE),
        criteria=tuple(
            CriterionResult(one, "met", passed or one.id != "c2", "It does, in its second reply.", "It is", 1)
            for one in _CRITERIA
        ),
        spending=_SPENT,
        started=1.0,
        duration=3.0,
        target="agents.shop:answer",
        tags=("nightly",),
    )


def _rows(folder: Path) -> chain[IndexRow]:
    return chain.from_iterable(ref.open().rows() for ref in list_runs(folder))


def _list(folder: Path) -> int:
    return len(list_runs(folder))


def _compare(folder: Path) -> int:
    """One half of all runs against the other: more than any command asks for."""
    refs = list_runs(folder)
    halves = refs[: len(refs) // 2], refs[len(refs) // 2 :]
    base, head = ([row for ref in half for row in ref.open().rows()] for half in halves)
    return len(compare(base, head).changes)


QUESTIONS: dict[str, Callable[[Path], int]] = {
    "list": _list,
    "trends": lambda folder: len(trends(_rows(folder))),
    "flaky": lambda folder: len(flaky(_rows(folder))),
    "compare": _compare,
}


if __name__ == "__main__":
    what, where = sys.argv[1], Path(sys.argv[2])
    sys.stdout.write(f"{make(where) if what == 'make' else QUESTIONS[what](where)}\n")
