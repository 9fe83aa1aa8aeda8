from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.reports.comparison import gate_line, statements
from pytest_convoprobe.reports.markdown import COMMENT_LIMIT, MARK, escaped, markdown
from pytest_convoprobe.reports.run_report import BaselineComparison
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.compare import compare
from pytest_convoprobe.results.records import TrialRecord
from pytest_convoprobe.results.run_info import RunState

from .runs import FAILED, PASSING, TRIALS, criterion, past, rows_of, run_report, trial, with_past

EVIL = "@octocat |x| <img src=x> [a](http://evil.example) `code` </details> #12 GH-7 **b**\n\n# head"


def test_begins_with_what_everybody_reads() -> None:
    lines = markdown(with_past()).split("\n")
    assert lines[:6] == [
        MARK,
        "### ❌ Conversations: 5 of 7 passed, 2 errors",
        "",
        "**2 failed** (agent) · **2 errors** (1 judge, 1 infrastructure) · **1 skipped** · "
        "$0.3600, 133,360 tokens · 1 min 35 s",
        "",
        "**Against the run before, 20261112T080000Z&#45;aaaaa2:** "
        "2 new failures, 2 without a verdict, 3 added, 2 the same.",
    ]


def test_what_is_known_of_the_judges_is_shown() -> None:
    report = run_report(PASSING)
    text = markdown(replace(report, info=replace(report.info, judges=("judge a/b: 23 of 24 canaries",))))
    assert "\n\n_judge a/b&#58; 23 of 24 canaries_\n" in text


def test_a_green_run_is_short() -> None:
    text = markdown(run_report(PASSING))
    assert "### ✅ Conversations: all 5 passed" in text
    assert "| Scenario |" not in text
    assert text.count("<details>") == 1  # what it cost


def test_errors_are_no_part_of_the_trials_that_passed() -> None:
    results = [replace(FAILED.result, trial=2), replace(FAILED.result, trial=3, outcome=Outcome.PASSED)]
    error = replace(FAILED.result, trial=4, outcome=Outcome.ERROR, blame=Blame.JUDGE)
    text = markdown(run_report([TrialRecord(one) for one in (*results, error)]))
    assert "(passed 1 of 2 trials, 1 error) |" in text
    assert "(no verdict, 2 errors) |" in markdown(
        run_report([TrialRecord(error), TrialRecord(replace(error, trial=5))])
    )


def test_what_fails_is_told_with_its_evidence() -> None:
    text = markdown(run_report([FAILED]))
    assert "| ❌ | Refund after the return window | agent&#58; prohibited tool" in text
    assert "✗ f1 must not: **The agent promises a refund outside of the return window**" in text
    assert "“I have issued a refund of €39&#46;90 to your card” (turn 4)" in text
    assert "> Turn 4<br>_user:_ I'm a regular customer" in text
    assert "c1 must" not in text


def test_what_got_worse_against_a_baseline() -> None:
    base = past({FAILED.result.name: "p", PASSING[0].result.name: "p"})
    comparison = compare(base, rows_of(TRIALS))
    text = markdown(run_report(baseline=BaselineComparison("20261101T000000Z-ffffff", comparison)))
    assert "**Against 20261101T000000Z&#45;ffffff:** 1 new failure, " in text
    assert "- new failure: **Refund after the return window** (passed 1 of 1 → 0 of 1" in text
    assert "the baseline knows 2 of 9 scenarios" in text
    assert all(escaped(line, 600) in text for line in statements(comparison))
    assert f"**{gate_line(comparison, 'regression')}**" in text


def test_a_scenario_has_one_row_with_its_trials() -> None:
    trials = [
        trial(outcome=outcome, trial=n)
        for n, outcome in enumerate((Outcome.PASSED, *[Outcome.FAILED] * 2), 1)
    ]
    text = markdown(run_report(trials))
    assert text.count("| ❌ |") == 1
    assert "| ❌ | Refund after the return window (passed 1 of 3 trials) |" in text


def test_a_run_that_is_not_whole_is_not_green() -> None:
    assert "### ⚠️ Conversations" in markdown(run_report(PASSING, info={"state": RunState.INTERRUPTED}))
    assert "### ⚠️ Conversations" in markdown(replace(run_report(PASSING), notes=("1 trial missing",)))
    closed = compare([], rows_of([FAILED]))
    text = markdown(run_report(PASSING, baseline=BaselineComparison("base", closed)))
    assert "### ❌ Conversations" in text


def test_a_torn_run_says_so() -> None:
    report = replace(run_report(), notes=("a torn last line was skipped", "<b>", "b", "c", "d"))
    said = "**Not all of it could be read:** a torn last line was skipped; &#60;b&#62;; b; and 2 more."
    assert said in markdown(report)


def test_an_unfinished_run_says_so() -> None:
    text = markdown(run_report(info={"state": RunState.INTERRUPTED}))
    assert "**The run did not finish: it was interrupted.**" in text


def test_stays_below_the_limit_and_counts_what_is_left_out() -> None:
    many = [
        trial(
            f"Scenario {number} " + "|@<é" * 30,
            Outcome.FAILED,
            blame=Blame.AGENT,
            criteria=FAILED.result.criteria,
        )
        for number in range(500)
    ]
    text = markdown(run_report(many))
    assert len(text.encode()) <= COMMENT_LIMIT
    assert re.search(r"_The details of \d+ more are left out here: there is no room for them._", text)
    assert "_and 470 more_" in text
    assert text.rstrip().endswith("</sub>")


def test_stays_below_the_limit_even_where_every_character_is_escaped() -> None:
    names = [f"{number:03}" + "|" * 150 for number in range(50)]
    gone = {"blame": Blame.AGENT, "reason": "|" * 400, "criteria": (), "checks": ()}
    many = [trial(name, Outcome.FAILED, **gone) for name in names]
    base = rows_of([trial(name) for name in names], "20261101T000000Z-ffffff")
    text = markdown(run_report(many, baseline=BaselineComparison("|" * 300, compare(base, rows_of(many)))))
    assert len(text.encode()) <= COMMENT_LIMIT
    assert re.search(r"_and \d\d more_", text)


def test_folded_parts_are_closed_even_where_there_is_little_room() -> None:
    text = markdown(run_report(), limit=3000)
    assert text.count("<details>") == text.count("</details>")
    assert len(text.encode()) <= 3000


def test_hostile_texts_stay_text() -> None:
    evil = trial(
        EVIL,
        Outcome.FAILED,
        blame=Blame.AGENT,
        reason=EVIL,
        file=EVIL,
        score=0.0,
        criteria=(criterion(1, EVIL, False, EVIL, quote=EVIL, turn=1),),
    )
    text = markdown(run_report([evil], info={"id": EVIL}))
    ours = re.sub(r"</?(details|summary|sub|br)>|<!-- convoprobe -->", "", text)
    assert "<" not in ours
    assert "octocat" in text
    assert "@" not in text
    assert "http:" not in text
    assert all(line.count("|") in (0, 4, 6) for line in text.split("\n"))
    assert "\n# head" not in text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("@octocat", "&#64;&#8203;octocat"),
        ("see #12", "see &#35;&#8203;12"),
        ("GH-7", "GH&#45;&#8203;7"),
        ("a\nb", "a b"),
        ("\x1b[31m", "&#92;x1b&#91;31m"),
        ("it's 5 %", "it's 5 %"),
    ],
)
def test_escapes(text: str, written: str) -> None:
    assert escaped(text) == written


@given(st.text())
def test_nothing_special_is_left(text: str) -> None:
    rest = re.sub(r"&#\d+;", "", escaped(text))
    assert not re.search(r"[\\`*_{}\[\]()<>#|~&@\n]", rest)
