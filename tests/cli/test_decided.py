"""Commands on runs in which the gate decided: a conversation that failed as before fails nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.gate.types import Decision, Past, Word
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.results.store import RunWriter

from .conftest import Convoprobe
from .stored import errored, failed, passed, store

LATE = "scenarios/late.yaml::late"
AS_BEFORE = Decision(LATE, "paired", Word.GREEN, 1, 2, Past(3, 40, "scenarios/_baseline.json"), 0.7, 500.0)
RED = replace(AS_BEFORE, word=Word.RED, failed=5, talks=5)


def decided(folder: Path, *decisions: Decision) -> str:
    """A stored run whose scenario failed once, passed once, and had one conversation without a verdict."""
    trials = [failed("late"), passed("late", trial=2), errored("late", Blame.JUDGE, trial=3), passed("gift")]
    run = store(folder, 1, trials)
    writer = RunWriter(folder / ".convoprobe", run, redactor=Redactor(environ={}))
    for decision in decisions:
        writer.add_decision(decision)
    writer.close()
    return run


@pytest.mark.parametrize(
    ("decision", "status", "words"),
    [
        (AS_BEFORE, 0, "finished"),
        (RED, 1, f"{LATE}: 5 of 5 failed, base 3 of 40: more often than before"),
        (replace(RED, mode="report"), 1, "the gate decided no scenario green"),
        (replace(AS_BEFORE, word=Word.UNDECIDED), 1, "the gate decided no scenario green"),
    ],
)
def test_check_goes_by_the_decision(
    folder: Path, convoprobe: Convoprobe, decision: Decision, status: int, words: str
) -> None:
    decided(folder, decision)
    result = convoprobe("check")
    assert (result.exit_code, words in result.output) == (status, True), result.output
    assert "1 trial failed" not in result.output


def test_check_counts_what_the_gate_did_not_decide(folder: Path, convoprobe: Convoprobe) -> None:
    decided(folder, replace(AS_BEFORE, scenario_id="scenarios/gift.yaml::gift"))
    result = convoprobe("check")
    assert result.exit_code == 1
    assert "1 trial failed" in result.output


def test_show_has_the_sentence_and_the_figures(folder: Path, convoprobe: Convoprobe) -> None:
    run = decided(folder, AS_BEFORE, Decision("scenarios/gift.yaml::gift", "paired", Word.GREEN, 0, 1))
    whole = convoprobe("show", run).output
    assert f"  green     {LATE}: 1 of 2 failed, base 3 of 40: as before" in whole
    assert "  green     1 other scenario: no failure" in whole
    one = convoprobe("show", run, "late").output
    assert "gate green: 1 of 2 failed, base 3 of 40: as before" in one
    assert "compared with scenarios/_baseline.json; e-value 0.7, red from 500" in one
    assert len(json.loads(convoprobe("show", run, "--json").output)["decisions"]) == 2


def test_runs_have_a_column_for_the_gate_where_one_decided(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 2, [passed("late")])
    assert "GATE" not in convoprobe("runs").output
    decided(folder, RED)
    lines = convoprobe("runs").output.splitlines()
    assert "GATE" in lines[0]
    assert "red" in lines[2].split()


def test_compare_says_that_it_counts_each_trial(folder: Path, convoprobe: Convoprobe) -> None:
    before = store(folder, 2, [passed("late"), passed("gift")])
    head = decided(folder, AS_BEFORE)
    result = convoprobe("compare", before, head)
    assert f"note: this counts each trial; the gate of {head} decided" in result.output


def test_trends_of_a_scenario_have_what_the_gate_said(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 2, [passed("late"), passed("gift")])
    assert "GATE" not in convoprobe("trends", "--scenario", "late").output
    decided(folder, AS_BEFORE)
    output = convoprobe("trends", "--scenario", "late").output
    assert "GATE" in output
    assert "1/2 green 1 judge" in " ".join(output.split())
