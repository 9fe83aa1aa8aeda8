"""The recorded benchmark under scenarios/benchmarks: all stages by replay, with no key and no network."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_convoprobe.benchmark.format.project import LoadedBenchmark, load_project
from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport, run_bench

EXAMPLE = Path(__file__).resolve().parents[3] / "scenarios" / "benchmarks" / "promises"
CHECKED_IN = ("config.yaml", "_recordings")


@pytest.fixture
def begun(tmp_path: Path) -> LoadedBenchmark:
    """A copy as it was before its first run: begun by hand, and nothing that a stage has written."""
    for name in CHECKED_IN:
        source = EXAMPLE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    shutil.copy(EXAMPLE / "begun.yaml", tmp_path / "benchmark.yaml")
    shutil.copy(EXAMPLE / "begun_scenarios.json", tmp_path / "scenarios.json")
    return load_project(tmp_path, root=tmp_path, environ={})


async def run(loaded: LoadedBenchmark) -> PipelineReport:
    return await run_bench(loaded, ["all"])


async def test_the_replay_of_all_stages_makes_what_is_checked_in(begun: LoadedBenchmark) -> None:
    report = await run(begun)
    assert report.complete
    assert [stage.made for stage in report.stages] == [1, 2, 4, 16, 16]
    made = {"benchmark.yaml": "benchmark.yaml", "scenarios.json": "scenarios.json"}
    for name, expected in {**made, "results.json": "expected_results.json"}.items():
        assert (begun.folder.path / name).read_text("utf-8") == (EXAMPLE / expected).read_text("utf-8"), name


async def test_nothing_of_it_is_called_live_or_unreadable(begun: LoadedBenchmark) -> None:
    report = await run(begun)
    spent = [spending for stage in report.stages for spending in stage.spending.values()]
    assert spent
    assert [one.calls for one in spent] == [one.replayed for one in spent]
    assert report.results is not None
    assert [target.overall.unreadable for target in report.results.targets] == [0, 0]


async def test_its_scenarios_as_checked_in_are_up_to_date(begun: LoadedBenchmark) -> None:
    folder = begun.folder.path
    shutil.copy(EXAMPLE / "benchmark.yaml", folder)
    shutil.copy(EXAMPLE / "scenarios.json", folder)
    report = await run(load_project(folder, root=folder, environ={}))
    assert report.complete
    assert [stage.made for stage in report.stages] == [0, 0, 0, 16, 16]
