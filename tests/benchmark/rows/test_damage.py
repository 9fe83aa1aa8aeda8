"""Folders that something has happened to between two runs: nothing is lost, and what is wrong is said."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench

from .. import project


def calls(folder: Path) -> int:
    """How many calls all stages take; they come to whole results, of which there is nothing to say."""
    models = project.models()
    report = asyncio.run(run_bench(project.load(folder), ["all"], llm=models))
    assert report.complete
    assert report.results is not None
    assert report.results.notes == ()
    return len(models.requests)


@pytest.fixture
def done(tmp_path: Path) -> Path:
    folder = project.write(tmp_path / "done")
    assert calls(folder) > 0
    return folder


def _lines_gone(folder: Path) -> None:
    for path in folder.glob(".rows/*/*.jsonl"):
        path.unlink()


def _one_stage_gone(folder: Path) -> None:
    shutil.rmtree(folder / ".rows" / "evaluate")


def _all_gone(folder: Path) -> None:
    shutil.rmtree(folder / ".rows")


@pytest.mark.parametrize("damage", [_lines_gone, _one_stage_gone, _all_gone])
def test_what_is_in_the_files_for_people_is_not_paid_for_again(
    done: Path, damage: Callable[[Path], None]
) -> None:
    results = (done / "results.json").read_bytes()
    damage(done)
    assert calls(done) == 0
    assert (done / "results.json").read_bytes() == results


def test_a_folder_that_was_moved_goes_on(done: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    done.rename(moved)
    assert calls(moved) == 0


def test_results_that_cannot_be_written_are_told_by_their_file(done: Path) -> None:
    (done / "results.json").unlink()
    (done / "results.json").mkdir()
    report = asyncio.run(run_bench(project.load(done), ["all"], llm=project.models()))
    assert report.results is not None
    assert "results.json cannot be written: " in report.results.unwritten
    assert [target.overall.scored for target in report.results.targets] == [4, 4]


@pytest.mark.parametrize("numbers", [{"calls": "x"}, {"cost": []}, {"cost": None}])
def test_costs_of_another_system_are_no_trouble(done: Path, numbers: dict[str, Any]) -> None:
    _all_gone(done)
    section = {"by_target": {"good": {"by_role": {"target": numbers}}}}
    (done / "cost.json").write_text(json.dumps({"simulate": section}))
    assert calls(done) == 0


def test_a_field_that_is_null_is_one_that_is_not_there(done: Path) -> None:
    _all_gone(done)
    for name in ("conversations", "scores"):
        file = done / "runs" / "good" / f"{name}.json"
        rows = json.loads(file.read_bytes())
        for row in rows:
            row.update(dict.fromkeys(("sample", "metric_id", "key", "termination"), None))
        file.write_text(json.dumps(rows))
    assert calls(done) == 0
