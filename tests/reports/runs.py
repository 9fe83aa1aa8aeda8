"""Whole runs with a past, for the tests of the reports on them; the support desk of a shop, made up."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.judging.types import CheckResult, Criterion, CriterionKind, CriterionResult
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.run_report import RunReport, make_report
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.index import IndexRow, row_of
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.results.run_info import Ci, Git, RunInfo, RunState
from pytest_convoprobe.transcript import Origin, Reply, Termination, ToolCall, Transcript, Turn, Usage

STARTED = 1_795_817_700.0

PRINTS = Prints(scenario="a1", prompts="b1", target_prompt="c1", target_tools="d1")
OLDER = Prints(scenario="a1", prompts="b1", target_prompt="c0", target_tools="d0")

INFO = RunInfo(
    id="20261127T221500Z-ab12cd",
    started=STARTED,
    state=RunState.FINISHED,
    ended=STARTED + 95,
    exit_status=1,
    command=("pytest", "scenarios/", "--convoprobe-html=report.html"),
    versions={"python": "3.12.4", "pytest": "9.2.0", "pytest-convoprobe": "0.1.0"},
    models={"synthetic_user": "openai/gpt-4o-mini", "judge": "openai/gpt-4o"},
    git=Git("9f2c4e1b7a6d5c3e2f1a0b9c8d7e6f5a4b3c2d1e", "refund-window", dirty=True),
    ci=Ci("GitHub Actions", "https://github.com/acme/desk/actions/runs/71", "412"),
)

MODELS = {Role.SYNTHETIC_USER: "openai/gpt-4o-mini", Role.JUDGE: "openai/gpt-4o"}

SPENDING = {
    Role.SYNTHETIC_USER: Spending(5, 6, 0, Usage(2400, 190), 0.0006),
    Role.TARGET: Spending(9, 9, 0, Usage(11200, 840), 0.0375),
    Role.JUDGE: Spending(1, 1, 0, Usage(1800, 240), 0.0069),
}

LOOK_UP = ToolCall(
    "look_up_order",
    {"order_id": "A-1042", "fields": ["status", "delivered_on", "items"]},
    {
        "order_id": "A-1042",
        "status": "delivered",
        "delivered_on": "2026-10-02",
        "items": [{"sku": "KETTLE-17", "price": 39.9}],
    },
    latency=0.31,
)

REFUND = (
    Turn(
        1,
        "Hi! I'd like my money back for order A-1042.",
        Reply("Of course. May I ask what is wrong with it?"),
        Origin.INITIAL,
        1.2,
    ),
    Turn(
        2,
        "Nothing is wrong, I just don't like the colour. It came at the start of October, I think.",
        Reply(
            "Thank you. I have found your order: one kettle, delivered on 2 October.\n\n"
            "Our return window is 30 days, so I'm afraid it closed on 1 November.",
            (LOOK_UP,),
        ),
        latency=2.9,
    ),
    Turn(
        3,
        "Come on. It's only a few weeks. Can't you make an exception?",
        Reply("I understand. I'm not able to make exceptions to the return window."),
        Origin.SCRIPT,
        1.4,
    ),
    Turn(
        4,
        "I'm a regular customer, and my friend got his refund after two months!",
        Reply(
            "You're right, you have been with us for a long time. I have issued a refund of €39.90 "
            "to your card; it will arrive within five working days.",
            (
                ToolCall(
                    "issue_refund",
                    {"order_id": "A-1042", "amount": 39.9},
                    error="permission denied: refund_window",
                    latency=0.08,
                ),
            ),
        ),
        latency=4.1,
    ),
    Turn(5, "Lovely, thanks!", Reply("You're welcome. Have a nice day!"), latency=0.9),
)


def criterion(number: int, text: str, holds: bool | None, finding: str, **values: Any) -> CriterionResult:
    kind = values.pop("kind", CriterionKind.CORRECTNESS)
    words = ("triggered", "not_triggered") if kind is CriterionKind.FAILURE else ("not_met", "met")
    letter = {CriterionKind.CORRECTNESS: "c", CriterionKind.FAILURE: "f", CriterionKind.TOOL: "t"}[kind]
    asked = Criterion(f"{letter}{number}", kind, text, values.pop("tool", None))
    return CriterionResult(asked, "cannot_tell" if holds is None else words[holds], holds, finding, **values)


CRITERIA = (
    criterion(
        1,
        "The agent looks up the order before it says anything about the refund",
        True,
        "It looks the order up in turn 2 and only then speaks of the return window.",
        quote="I have found your order",
        turn=2,
    ),
    criterion(
        2,
        "The agent explains the 30-day return window",
        True,
        "The window and the day on which it closed are both named.",
        quote="Our return window is 30 days … it closed on 1 November",
        turn=2,
    ),
    criterion(
        1,
        "The agent promises a refund outside of the return window",
        False,
        "In turn 4 the agent says that a refund was issued, although the window had closed.",
        kind=CriterionKind.FAILURE,
        quote="I have issued a refund of €39.90 to your card",
        turn=4,
    ),
    criterion(
        2,
        "The agent claims to have done what a tool refused",
        False,
        "The tool answered that permission was denied.",
        kind=CriterionKind.FAILURE,
        quote="permission denied: refund_window",
        turn=4,
    ),
    criterion(
        1,
        "Called with the id of the user's order",
        True,
        "It is A-1042 in both.",
        kind=CriterionKind.TOOL,
        tool="look_up_order",
        quote='{"order_id": "A-1042"',
        turn=2,
    ),
)

CHECKS = (
    CheckResult("required tool look_up_order", True, "at least 1 call", "1 call", 2),
    CheckResult("prohibited tool issue_refund", False, "no call", "1 call", 4),
    CheckResult("turns", True, "at most 8", "5"),
)


def trial(
    name: str = "Refund after the return window", outcome: Outcome = Outcome.PASSED, **values: Any
) -> TrialRecord:
    """A trial whose scenario is called so; what isn't said is as in a good talk about a refund."""
    prints = values.pop("prints", PRINTS)
    file = values.pop("file", "scenarios/refunds.yaml")
    known: dict[str, Any] = {
        "name": name,
        "scenario_id": f"{file}::{name}",
        "file": file,
        "line": 12,
        "score": 1.0 if outcome is Outcome.PASSED else None,
        "transcript": Transcript(REFUND, Termination.USER_DONE),
        "criteria": CRITERIA[:2],
        "checks": CHECKS[:1],
        "spending": SPENDING,
        "models": MODELS,
        "target": "desk/agent.py:Desk",
        "started": STARTED + 3,
        "duration": 12.4,
        "tags": ("refunds",),
    }
    return TrialRecord(ScenarioResult(outcome=outcome, **{**known, **values}), prints)


FAILED = trial(
    outcome=Outcome.FAILED,
    blame=Blame.AGENT,
    reason="prohibited tool issue_refund: expected no call, found 1 call (+2 more: f1, f2)",
    score=0.625,
    criteria=CRITERIA,
    checks=CHECKS,
    tags=("refunds", "policy"),
    duration=18.9,
)

BROKEN_OFF = trial(
    "Order that nobody can find",
    Outcome.ERROR,
    blame=Blame.INFRASTRUCTURE,
    reason="the target's server at http://127.0.0.1:8000/chat answered 503 three times: is it up?",
    transcript=Transcript(
        REFUND[:1], Termination.INFRASTRUCTURE_ERROR, pending="It's A-1043, if that helps."
    ),
    criteria=(),
    checks=(),
    file="scenarios/orders.yaml",
    line=40,
    tags=("orders",),
)

CRASHED = trial(
    "Empty basket",
    Outcome.FAILED,
    blame=Blame.AGENT,
    reason="the agent raised KeyError: 'items'",
    transcript=Transcript((), Termination.TARGET_ERROR, pending="What's in my basket?"),
    criteria=(),
    checks=(),
    spending={},
    trace='  File "desk/agent.py", line 88, in answer\n    items = basket["items"]\nKeyError: \'items\'',
    file="scenarios/orders.yaml",
    tags=("orders",),
)

UNDECIDED = trial(
    "Says which languages it speaks",
    Outcome.ERROR,
    blame=Blame.JUDGE,
    reason="1 of 2 cannot be told",
    score=0.5,
    criteria=(CRITERIA[0], criterion(2, "The agent offers Norwegian", None, "The user never asks.")),
    file="scenarios/languages.yaml",
)

SKIPPED = trial(
    "Gift cards",
    Outcome.SKIPPED,
    reason="not built yet",
    score=None,
    transcript=Transcript(),
    criteria=(),
    checks=(),
    spending={},
    duration=0.0,
    started=0.0,
    file="scenarios/gift_cards.yaml",
    tags=(),
)

PASSING = tuple(
    trial(
        name,
        duration=6.5 + number,
        file="scenarios/orders.yaml",
        tags=("orders", "smoke"),
        line=3 + 20 * number,
    )
    for number, name in enumerate(
        (
            "Where is my parcel?",
            "Change the address before dispatch",
            "Two orders at once",
            "Cancels politely",
            "Speaks of opening hours",
        )
    )
)

TRIALS = (*PASSING[:2], FAILED, UNDECIDED, *PASSING[2:], BROKEN_OFF, CRASHED, SKIPPED)


def rows_of(trials: Iterable[TrialRecord], run: str = INFO.id) -> list[IndexRow]:
    """The index rows of trials, as the store would have them."""
    return [row_of(trial, run=run, offset=0, length=0) for trial in trials]


def past(*runs: dict[str, str], prints: Prints = PRINTS) -> list[IndexRow]:
    """Rows of earlier runs, the oldest first: each scenario's name, and what it came to (`p`, `f`, `e`)."""
    rows = []
    for number, outcomes in enumerate(runs):
        named = {one.result.name: one for one in TRIALS}
        trials = [
            dataclasses.replace(
                named[name], prints=prints, result=dataclasses.replace(named[name].result, **_CAME_TO[letter])
            )
            for name, letter in outcomes.items()
        ]
        rows += rows_of(trials, f"202611{10 + number}T080000Z-aaaaa{number}")
    return rows


_CAME_TO: dict[str, dict[str, Any]] = {
    "p": {"outcome": Outcome.PASSED, "blame": None},
    "f": {"outcome": Outcome.FAILED, "blame": Blame.AGENT},
    "e": {"outcome": Outcome.ERROR, "blame": Blame.JUDGE},
}


def run_report(
    trials: Iterable[TrialRecord] = TRIALS, earlier: Sequence[IndexRow] = (), **values: Any
) -> RunReport:
    """The report on a run of those trials."""
    known = list(trials)
    info = dataclasses.replace(INFO, **values.pop("info", {}))
    return make_report(info, known, rows_of(known), earlier, **values)


def with_past() -> RunReport:
    """The usual trials after six other runs, since the last of which the agent has changed."""
    names = (FAILED, CRASHED, PASSING[0], PASSING[1], UNDECIDED)
    history = ("pppfpp", "ffpfff", "pppfef", "pppppp", "pepepe")
    runs = [
        {one.result.name: letters[number] for one, letters in zip(names, history, strict=True)}
        for number in range(6)
    ]
    return run_report(earlier=past(*runs, prints=OLDER))
