"""The page of a large run: 2,000 trials of 20 turns, after eleven runs of the same size."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.reports.html import write_html
from pytest_convoprobe.reports.run_report import RunReport
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Turn
from tests.reports.browser import open_browser
from tests.reports.runs import CHECKS, CRITERIA, rows_of, run_report, trial

TRIALS, TURNS, EARLIER = 2000, 20, 11

_WORDS = (
    "order refund parcel please tell me when it will arrive thank you kettle return window address".split()
)
_BLAMES = {Outcome.PASSED: None, Outcome.FAILED: Blame.AGENT, Outcome.ERROR: Blame.JUDGE}


def make(path: Path) -> float:
    """Write the page; its size in MB."""
    write_html(_report(), path)
    return path.stat().st_size / 1e6


def first_paint(path: Path) -> float:
    """Seconds from asking for the page to seeing the first of it, in a browser that has just started."""
    script = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
    with open_browser() as browser:
        browser.open(path)
        return float(browser.run(script)) / 1000


def _report() -> RunReport:
    chance = random.Random(5)
    trials = [_trial(number, chance) for number in range(TRIALS)]
    rows = rows_of(trials)
    earlier = [
        dataclasses.replace(row, run=f"202611{1 + run:02}T080000Z-{run:06x}")
        for run in range(EARLIER)
        for row in rows
    ]
    return run_report(trials, earlier)


def _trial(number: int, chance: random.Random) -> TrialRecord:
    (outcome,) = chance.choices([Outcome.PASSED, Outcome.FAILED, Outcome.ERROR], [8, 1, 1])
    return trial(
        f"Scenario {number}: {_text(6, chance)}",
        outcome,
        blame=_BLAMES[outcome],
        reason="" if outcome is Outcome.PASSED else _text(12, chance),
        transcript=Transcript(tuple(_turn(n + 1, chance) for n in range(TURNS)), Termination.MAX_TURNS),
        criteria=CRITERIA,
        checks=CHECKS,
        file=f"scenarios/part{number % 40}.yaml",
    )


def _turn(number: int, chance: random.Random) -> Turn:
    """Some 100 words, and a tool in every other turn."""
    call = ToolCall("look_up_order", {"order_id": f"A-{number}"}, {"note": _text(20, chance)}, latency=0.3)
    return Turn(number, _text(30, chance), Reply(_text(70, chance), (call,) * (number % 2)), latency=1.3)


def _text(words: int, chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=words))
