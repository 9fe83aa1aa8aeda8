"""Two runs side by side, for the tests of the page on them; the support desk of `runs`, before and now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_convoprobe.reports.run_pair import RunPair, ScenarioPair
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.compare import Change, compare
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.transcript import Reply, Termination, Transcript, Turn

from .runs import CRASHED, CRITERIA, FAILED, INFO, PASSING, REFUND, SKIPPED, rows_of, trial

BEFORE = replace(
    INFO, id="20261112T080000Z-aaaaa2", git=replace(INFO.git, branch="main") if INFO.git else None
)

STOOD_FIRM = Transcript(
    (
        *REFUND[:3],
        replace(REFUND[3], reply=Reply("I'm sorry, the window of 30 days has closed.", ())),
        Turn(5, "That's a pity.", Reply("I understand. Have a nice day!"), latency=0.9),
    ),
    Termination.USER_DONE,
)
"""It differs from the usual talk about a refund from turn 4 on."""

REFUSED = trial(transcript=STOOD_FIRM, criteria=CRITERIA[:2], tags=("refunds", "policy"))
WAS_FULL = replace(
    CRASHED,
    result=replace(PASSING[3].result, **{"name": "Empty basket", "scenario_id": CRASHED.result.scenario_id}),
)
LATE = trial(
    "Where is my parcel?",
    Outcome.FAILED,
    file="scenarios/orders.yaml",
    criteria=CRITERIA[2:3],
    reason="it is late",
    blame=FAILED.result.blame,
    score=0.5,
)

THEN = (REFUSED, WAS_FULL, LATE, PASSING[1], trial("Old scenario"))
NOW = (FAILED, CRASHED, PASSING[0], PASSING[1], trial("New scenario"), SKIPPED)


def run_pair(before: Iterable[TrialRecord] = THEN, now: Iterable[TrialRecord] = NOW) -> RunPair:
    """What was read of two runs of these trials; each scenario has one trial in each."""
    then, later = ({one.result.scenario_id: one for one in trials} for trials in (before, now))
    found = compare(rows_of(then.values(), BEFORE.id), rows_of(later.values()))
    pairs = [
        ScenarioPair(change, then.get(change.scenario_id), later.get(change.scenario_id))
        for change in found.changes
        if change.kind is not Change.SAME
    ]
    return RunPair(BEFORE, INFO, found, tuple(pairs))
