"""What the gate decided, in a run's folder."""

from __future__ import annotations

from pathlib import Path

from pytest_convoprobe.gate.types import Decision, Past, Word
from pytest_convoprobe.results.store import RunInfo, StoredRun, open_run

from .support import RUN, trial, writer

RED = Decision(
    "s.yaml::a", "paired", Word.RED, 3, 4, Past(1, 40, "main"), 900.0, 500.0, 3, 1, 1, notes=("n",)
)
GREEN = Decision("s.yaml::b", "confirm", Word.GREEN, 0, 1, mode="report")


def stored(folder: Path, *decisions: Decision, worker: str = "main") -> StoredRun:
    part = writer(folder, RUN, worker, "s3cret-token")
    part.add(trial())
    for one in decisions:
        part.add_decision(one)
    part.close()
    return open_run(part.folder)


def test_decisions_are_read_back(tmp_path: Path) -> None:
    assert stored(tmp_path, RED, GREEN).decisions() == {RED.scenario_id: RED, GREEN.scenario_id: GREEN}


def test_a_run_of_an_earlier_release_has_none(tmp_path: Path) -> None:
    assert stored(tmp_path).decisions() == {}


def test_after_a_rerun_the_last_one_counts_whichever_worker_made_it(tmp_path: Path) -> None:
    again = Decision(GREEN.scenario_id, "confirm", Word.RED, 2, 2)
    stored(tmp_path, GREEN, worker="gw1")
    assert stored(tmp_path, again, worker="gw0").decisions() == {again.scenario_id: again}


def test_a_torn_line_and_one_of_a_later_release_are_left_out(tmp_path: Path) -> None:
    run = stored(tmp_path, GREEN)
    with (run.path / "decisions-main.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"version": 2, "at": 9e9, "scenario_id": "s.yaml::b", "word": "purple"}\n[]\n{"versi')
    assert run.decisions() == {GREEN.scenario_id: GREEN}


def test_a_decision_has_no_secrets(tmp_path: Path) -> None:
    leaky = Decision("s.yaml::s3cret-token", "confirm", Word.GREEN, 0, 1, notes=("s3cret-token",))
    run = stored(tmp_path, leaky)
    assert b"s3cret-token" not in (run.path / "decisions-main.jsonl").read_bytes()


def test_what_the_process_knows_counts_where_the_disk_refused(tmp_path: Path) -> None:
    run = StoredRun(tmp_path, RunInfo(RUN, 0.0), decided={RED.scenario_id: RED})
    assert run.decisions() == {RED.scenario_id: RED}
