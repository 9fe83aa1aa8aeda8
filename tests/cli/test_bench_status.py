"""What `bench status` makes of rows that others wrote."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.rows.waiting import note_waiting
from pytest_convoprobe.files import locked

from .benchmark import benchmark
from .conftest import Convoprobe

NOWHERE = "http://127.0.0.1:9/v1"


def test_scores_that_only_say_whether_it_passed_are_readable(folder: Path, convoprobe: Convoprobe) -> None:
    path = benchmark(folder, NOWHERE)
    files = {
        "conversations.json": [{"id": "m01_s001_v01", "conversation": [{"role": "user", "content": "Hi"}]}],
        "scores.json": [{"id": "m01_s001_v01", "passed": True, "score": 1.0}],
    }
    files["conversations.json"].append({**files["conversations.json"][0], "id": "m01_s001_v02"})
    files["scores.json"].append({"id": "m01_s001_v02", "passed": None, "score": None})
    run = path / "runs" / "careful"
    run.mkdir(parents=True)
    (path / "scenarios.json").write_text(json.dumps([{"id": row["id"]} for row in files["scores.json"]]))
    for name, rows in files.items():
        (run / name).write_text(json.dumps(rows))
    result = convoprobe("bench", "status", "hours")
    assert result.exit_code == 0, result.output
    assert ["evaluate", "careful", "2", "0", "0", "1"] in [
        line.split() for line in result.stdout.splitlines()
    ]


def test_it_answers_while_a_run_is_at_work_and_says_what_that_waits_for(
    folder: Path, convoprobe: Convoprobe
) -> None:
    there = BenchmarkFolder(benchmark(folder, NOWHERE))
    there.rows.mkdir()
    note_waiting(there, "gen-metrics", "waiting for openai/fake for 42s, try 3 of 6")
    with locked(there.rows):
        result = convoprobe("bench", "status", "hours")
    assert result.exit_code == 0, result.output
    assert "a run is at work in this folder" in result.stdout
    assert "gen-metrics: waiting for openai/fake for 42s, try 3 of 6\n" in result.stdout


def test_it_says_what_a_run_that_was_killed_had_waited_for(folder: Path, convoprobe: Convoprobe) -> None:
    there = BenchmarkFolder(benchmark(folder, NOWHERE))
    there.rows.mkdir()
    note_waiting(there, "gen-metrics", "waiting for openai/fake for 42s, try 3 of 6")
    (stage, *_) = json.loads(convoprobe("bench", "status", "hours", "--json").stdout)
    assert stage["stage"] == "gen-metrics"
    assert stage["waiting"].startswith("its last run was broken off (")
    assert stage["waiting"].endswith(") while it was waiting for openai/fake for 42s, try 3 of 6")
