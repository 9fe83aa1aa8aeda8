"""Results of conversations whose scenario, metric or settings have changed since."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench, survey

from .. import project

NOTE = (
    "from an older version of their scenario, metric or settings, or of the agent's code (they count; "
    "`convoprobe bench simulate` replaces them)"
)

TODAY = datetime.now(timezone.utc).date().isoformat()


def run(folder: Path, *stages: str) -> tuple[str, ...]:
    """The notes of the results."""
    report = asyncio.run(run_bench(project.load(folder), stages, llm=project.models()))
    return report.results.notes if report.results else ()


def edit(folder: Path) -> None:
    """One scenario, by hand."""
    rows: list[dict[str, Any]] = json.loads((folder / "scenarios.json").read_bytes())
    rows[0]["user_goal"] = "Get a plan for a third shop."
    (folder / "scenarios.json").write_text(json.dumps(rows))


def counts(folder: Path) -> dict[tuple[str, str], tuple[int, int]]:
    """Of each stage and target, what is done and what is missing."""

    async def count() -> dict[tuple[str, str], tuple[int, int]]:
        async with survey(project.load(folder)) as shares:
            return {
                (step, target): (share.done, len(share.missing))
                for step, found in shares.items()
                for target, share in found.items()
            }

    return asyncio.run(count())


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    run(project.write(tmp_path), "all")
    return tmp_path


def test_nothing_is_told_where_nothing_changed(finished: Path) -> None:
    assert run(finished, "aggregate") == ()


def test_results_tell_of_a_scenario_that_was_edited_since(finished: Path) -> None:
    edit(finished)
    notes = run(finished, "aggregate")
    assert notes == tuple(f"{target}: 1 conversation (made {TODAY}) is {NOTE}" for target in ("good", "bad"))


def test_results_tell_of_a_metric_that_was_edited_since(finished: Path) -> None:
    text = (finished / "benchmark.yaml").read_text()
    (finished / "benchmark.yaml").write_text(text.replace("praises a plan", "praises a plan loudly"))
    assert f"good: 2 conversations (made {TODAY}) are {NOTE}" in run(finished, "aggregate")


def test_once_they_are_held_anew_nothing_is_told(finished: Path) -> None:
    edit(finished)
    assert run(finished, "simulate", "evaluate", "aggregate") == ()
    assert run(finished, "aggregate") == ()


def test_what_others_held_is_of_no_version(finished: Path) -> None:
    path = finished / "runs" / "good" / "conversations.json"
    rows = json.loads(path.read_bytes())
    path.write_text(json.dumps([{name: row[name] for name in row if name != "key"} for row in rows]))
    edit(finished)
    assert [note.partition(":")[0] for note in run(finished, "aggregate")] == ["bad"]


def test_scores_of_what_is_to_be_held_anew_are_not_done(finished: Path) -> None:
    assert counts(finished)["evaluate", "good"] == (4, 0)
    edit(finished)
    found = counts(finished)
    assert (found["simulate", "good"], found["evaluate", "good"]) == ((3, 1), (3, 1))


AGENT = "def answer(message):\n    return 'Wonderful, do it!'\n"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A finished benchmark of an agent in the project."""
    (tmp_path / "agent.py").write_text(AGENT)
    targets = "targets: [{id: own, type: python, object: 'agent.py:answer'}]\n"
    head, _, tail = project.CONFIG.partition("targets:")
    config = head + targets + tail[tail.index("generation:") :]
    run(project.write(tmp_path, config=config), "all")
    return tmp_path


def test_a_change_of_the_agents_code_makes_its_conversations_older(own: Path) -> None:
    assert run(own, "aggregate") == ()
    (own / "agent.py").write_text(AGENT.replace("Wonderful", "Splendid"))
    assert run(own, "aggregate") == (f"own: 4 conversations (made {TODAY}) are {NOTE}",)
    assert counts(own)["simulate", "own"] == (0, 4)
    assert run(own, "all") == ()


def test_code_that_is_as_it_was_brings_its_conversations_back(own: Path) -> None:
    (own / "agent.py").write_text(AGENT + "# changed\n")
    run(own, "all")
    (own / "agent.py").write_text(AGENT)
    assert counts(own)["simulate", "own"] == (4, 0)


def test_rows_of_earlier_versions_count_and_are_of_unknown_age(finished: Path) -> None:
    """They have neither the day in the row nor the time in the journal."""
    for path in [*finished.glob(".rows/simulate/*.jsonl"), *finished.glob("runs/*/conversations.json")]:
        text = re.sub(r'"at":[\d.]+,|,\s*"made": ?"[\d-]+"', "", path.read_text())
        path.write_text(text)
    for stamp in finished.glob(".rows/simulate/*.stamp"):
        stamp.unlink()
    report = asyncio.run(run_bench(project.load(finished), ["all"], llm=project.models()))
    assert [stage.made for stage in report.stages] == [0] * len(report.stages)
    assert {ages.words() for ages in report.conversations.values()} == {
        "4 of 4 conversations are of unknown age"
    }
