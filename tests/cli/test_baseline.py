"""`convoprobe baseline`: the past that lives in the repository."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.cli.baseline_changes import finish
from pytest_convoprobe.errors import Blame
from pytest_convoprobe.gate.types import Decision, Past, Word
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.results.baseline_update import BaselineUpdate, with_runs
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.store import Git, RunState, RunWriter, open_run

from ..results.test_pasts import commits
from .conftest import Convoprobe
from .stored import errored, failed, passed, store

PRINTS = Prints(
    scenario="a" * 16, prompts="b" * 16, own_prompts="c" * 16, judge="d" * 16, judge_model="openai/gpt-4o",
    user="e" * 16, user_model="openai/gpt-4o-mini",
)  # fmt: skip
QUIET = {"dry_run": False, "as_json": True}
FILE = Path("scenarios/_baseline.json")


@pytest.fixture(autouse=True)
def scenarios(folder: Path) -> None:
    (folder / "scenarios").mkdir()
    for name in ("late", "gift"):
        (folder / "scenarios" / f"{name}.yaml").write_text("")


def night(folder: Path, day: int, name: str = "late", marks: str = "...", **more: Any) -> str:
    """A stored run with a conversation for each mark."""
    kinds = {".": passed, "x": failed, "e": lambda name, **values: errored(name, Blame.JUDGE, **values)}
    trials = [kinds[mark](name, trial=number) for number, mark in enumerate(marks, start=1)]
    return store(folder, day, trials, **{"prints": PRINTS, **more})


def entries() -> dict[str, Any]:
    return json.loads(FILE.read_text("utf-8"))["scenarios"]


def past(name: str = "late") -> str:
    entry = entries()[f"{name}.yaml::{name}"]
    return f"{entry['failed']} of {entry['of']} {entry['talks']}"


class TestUpdate:
    def test_runs_are_added_once_and_in_order(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, marks="..x")
        night(folder, 2, "gift")
        result = convoprobe("baseline", "update")
        assert result.exit_code == 0, result.output
        assert "scenarios/late.yaml::late: new, 1 of 3 failed" in result.output
        assert "wrote scenarios/_baseline.json" in result.output
        night(folder, 3, marks="...")
        second = convoprobe("baseline", "update").output
        assert "scenarios/late.yaml::late: 1 of 3 failed → 1 of 6 failed" in second
        assert "6 conversations left out: the file has them already, or newer ones" in second
        assert past() == "1 of 6 ..x..."
        before = FILE.read_bytes()
        assert "nothing changes: no new conversation counts" in convoprobe("baseline", "update").output
        assert FILE.read_bytes() == before

    def test_a_dry_run_writes_nothing(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1)
        output = convoprobe("baseline", "update", "latest", "--dry-run").output
        assert "new, 0 of 3 failed" in output
        assert "would write scenarios/_baseline.json" in output
        assert not FILE.exists()

    def test_the_newest_fifty_are_kept(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, marks="x" * 3 + "." * 40)
        night(folder, 2, marks="." * 9)
        convoprobe("baseline", "update")
        assert past() == "1 of 50 x" + "." * 49

    def test_a_change_begins_the_past_again_and_is_named(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, marks="x..")
        convoprobe("baseline", "update")
        night(folder, 2, marks=".", prints=replace(PRINTS, scenario="f" * 16, judge_model="openai/gpt-5"))
        output = convoprobe("baseline", "update").output
        assert (
            "1 of 3 failed → 0 of 1 failed (begins again, because of a change: scenario, judge's model"
            in output
        )
        assert past() == "0 of 1 ."

    def test_what_does_not_count_is_listed(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, marks="...e")
        night(folder, 2, marks="x", ended=False)
        night(folder, 3, marks=".", prints=Prints("a" * 16, "b" * 16))
        output = convoprobe("baseline", "update").output
        assert "1 conversation left out: they have no verdict on the agent" in output
        assert "broke off" in output
        assert "no fingerprints" in output
        assert past() == "0 of 3 ..."

    @pytest.mark.parametrize("decided", [True, False])
    def test_a_regression_does_not_become_the_past(
        self, folder: Path, convoprobe: Convoprobe, decided: bool
    ) -> None:
        night(folder, 1, marks="." * 40)
        convoprobe("baseline", "update")
        run = night(folder, 2, marks="xxxxx")
        if decided:
            writer = RunWriter(folder / ".convoprobe", run, redactor=Redactor(environ={}))
            writer.add_decision(Decision("scenarios/late.yaml::late", "paired", Word.RED, 5, 5, Past(0, 40)))
            writer.close()
        output = convoprobe("baseline", "update").output
        assert past() == "0 of 40 " + "." * 40
        assert ("was red on" if decided else "5 of 5 failed and 0 of 40 before; if that is meant") in output

    def test_a_scenario_whose_file_is_gone_is_taken_out(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, "gift")
        night(folder, 2)
        convoprobe("baseline", "update")
        (folder / "scenarios" / "gift.yaml").unlink()
        night(folder, 3)
        assert "(its file is gone)" in convoprobe("baseline", "update").output
        assert list(entries()) == ["late.yaml::late"]

    def test_a_broken_file_is_not_written_over(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1)
        FILE.write_text('{"version": 1,\n<<<<<<< HEAD\n')
        result = convoprobe("baseline", "update")
        assert result.exit_code == 2
        assert "scenarios/_baseline.json:2: a merge left its marks here" in result.output
        assert "<<<<" in FILE.read_text()

    def test_code_that_no_commit_has_is_no_past_of_a_branch(
        self, folder: Path, convoprobe: Convoprobe
    ) -> None:
        (commit,) = commits(folder, 1)
        dirty = night(folder, 1, marks="xx", git=Git(commit, "main", dirty=True))
        result = convoprobe("baseline", "update")
        assert result.exit_code == 2
        assert "without changes that no commit has" in result.output
        assert dirty in result.output
        night(folder, 2, git=Git(commit, "main"))
        assert f"note: run {dirty} left out: it had changes" in convoprobe("baseline", "update").output
        assert past() == "0 of 3 ..."
        newest = night(folder, 3, marks="xx", git=Git(commit, "main", dirty=True))
        output = convoprobe("baseline", "update").output
        assert f"note: 2 runs left out, the newest is {newest}: they had changes" in output

    def test_without_a_run_there_is_an_error(self, convoprobe: Convoprobe) -> None:
        result = convoprobe("baseline", "update")
        assert result.exit_code == 2
        assert "there are no stored runs" in result.output

    def test_json(self, folder: Path, convoprobe: Convoprobe) -> None:
        run = night(folder, 1)
        data = json.loads(convoprobe("baseline", "update", "--json").output)
        assert data["changes"] == [
            {
                "scenario_id": "scenarios/late.yaml::late",
                "file": "scenarios/_baseline.json",
                "before": None,
                "after": {"failed": 0, "of": 3, "newest": run},
                "why": "",
            }
        ]
        assert (data["written"], data["files"]) == (True, ["scenarios/_baseline.json"])


class TestAccept:
    def test_the_past_begins_again_with_a_reason(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, marks="." * 20)
        convoprobe("baseline", "update")
        night(folder, 2, marks="xxx.")
        result = convoprobe("baseline", "accept", "late", "--reason", "#12: shorter \n answers")
        assert result.exit_code == 0, result.output
        assert "0 of 20 failed → 3 of 4 failed" in result.output
        assert past() == "3 of 4 xxx."
        assert "3 of 4 failed, and what fails more often than not blocks nothing; if its" in result.output
        accepted = entries()["late.yaml::late"]["accepted"]
        assert accepted["reason"] == "#12: shorter answers"
        night(folder, 3, marks="..")
        convoprobe("baseline", "update")
        assert past() == "3 of 6 xxx..."
        assert entries()["late.yaml::late"]["accepted"] == accepted

    def test_without_a_conversation_it_is_empty_until_the_next_update(
        self, folder: Path, convoprobe: Convoprobe
    ) -> None:
        night(folder, 1, marks="." * 20)
        night(folder, 2, "gift")
        convoprobe("baseline", "update")
        convoprobe("baseline", "accept", "scenarios/late.yaml::late", "--reason", "#12")
        assert past() == "0 of 0 "
        assert "nothing changes" in convoprobe("baseline", "update").output

    def test_all_scenarios_of_a_run(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1, marks="." * 9)
        night(folder, 2, "gift", "xx")
        night(folder, 3, marks="xx")
        convoprobe("baseline", "update", "latest~2")
        result = convoprobe(
            "baseline", "accept", "--all", "latest", "latest~1", "--reason", "#12: a new model"
        )
        assert result.exit_code == 0, result.output
        assert (past(), past("gift")) == ("2 of 2 xx", "2 of 2 xx")
        assert convoprobe("baseline", "accept", "--reason", "#12").exit_code == 2

    def test_a_reason_is_needed_and_a_scenario_too(self, folder: Path, convoprobe: Convoprobe) -> None:
        night(folder, 1)
        assert convoprobe("baseline", "accept", "late").exit_code == 2
        assert convoprobe("baseline", "accept", "late", "--reason", " ").exit_code == 2
        unknown = convoprobe("baseline", "accept", "refund", "--reason", "#12")
        assert unknown.exit_code == 2
        assert "no scenario 'refund'" in unknown.output
        assert not FILE.exists()


def test_of_two_updates_at_once_none_is_lost(folder: Path) -> None:
    """The second one begins while the first has read the file and not written it yet."""
    began = threading.Event()
    stored = [
        open_run(folder / ".convoprobe" / "runs" / night(folder, day, name))
        for day, name in ((1, "late"), (2, "gift"))
    ]

    def second() -> BaselineUpdate:
        began.set()
        return with_runs(folder, stored[1:])

    other = threading.Thread(target=finish, args=(second, folder), kwargs=QUIET)

    def first() -> BaselineUpdate:
        update = with_runs(folder, stored[:1])
        other.start()
        assert not began.wait(0.1)
        return update

    finish(first, folder, **QUIET)
    other.join()
    assert (past("late"), past("gift")) == ("0 of 3 ...", "0 of 3 ...")


def test_a_run_that_was_stopped_is_said_to_be(folder: Path, convoprobe: Convoprobe) -> None:
    night(folder, 1, marks="..")
    night(folder, 2, marks="x", ended=False, state=RunState.STOPPED)
    assert "was stopped early" in convoprobe("baseline", "update").output
