"""A new stage is an entry of the registry and a module: everything that lists stages knows it then."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport, run_bench, survey
from pytest_convoprobe.benchmark.stages import registry
from pytest_convoprobe.benchmark.stages.options import Options
from pytest_convoprobe.cli import main

from .. import new_stages, project


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = registry.StageEntry(
        "count-turns",
        "Count the turns.",
        "Count the turns of each conversation.",
        steps=("count-turns",),
        package=new_stages.__name__,
    )
    *before, last = registry.STAGES
    monkeypatch.setattr(registry, "STAGES", (*before, entry, last))


def run(folder: Path, **options: bool) -> PipelineReport:
    loaded, wanted = project.load(folder), Options(**options)
    return asyncio.run(run_bench(loaded, ["all"], llm=project.models(), options=wanted))


def test_it_runs_in_its_place_and_is_counted_everywhere(tmp_path: Path) -> None:
    folder = project.write(tmp_path)
    report = run(folder)
    assert [stage.stage for stage in report.stages][-3:] == ["simulate", "evaluate", "count-turns"]
    assert {target: one.made for target, one in report.stages[-1].targets.items()} == {"good": 4, "bad": 4}
    rows = json.loads((folder / "runs" / "good" / "turns.json").read_bytes())
    assert [row["turns"] for row in rows] == [2] * 4
    assert json.loads((folder / "cost.json").read_bytes())["count_turns"]["calls"] == 0
    assert run(folder).stages[-1].made == 0


def test_a_dry_run_and_the_status_know_it(tmp_path: Path) -> None:
    folder = project.write(tmp_path)
    assert run(folder, dry_run=True).forecasts[-1].stage == "count-turns"
    run(folder)

    async def done() -> dict[str, int]:
        async with survey(project.load(folder)) as found:
            return {target: plan.done for target, plan in found["count-turns"].items()}

    assert asyncio.run(done()) == {"good": 4, "bad": 4}


def test_it_has_a_command(tmp_path: Path) -> None:
    run(project.write(tmp_path))
    assert "count-turns    Count the turns." in CliRunner().invoke(main, ["bench", "--help"]).output
    found = CliRunner().invoke(main, ["bench", "count-turns", str(tmp_path), "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout)["stages"][0]["targets"]["good"]["before"] == 4
