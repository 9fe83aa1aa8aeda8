"""Folders as other systems leave them: their names, numbers and ids, and what they leave out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_convoprobe.benchmark.pipeline.pipeline import PipelineReport, run_bench
from pytest_convoprobe.benchmark.rows.sample_numbers import Numbering, step_to
from pytest_convoprobe.benchmark.rows.scenario_ids import IdParts, parts_of
from pytest_convoprobe.benchmark.stages.options import Options
from pytest_convoprobe.cli import main
from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.llm.fake import FakeLLM

from . import project

STAGES = ("simulate", "evaluate", "aggregate")
SCENARIOS = [f"{metric}_s00{number}_v01" for metric in ("m01", "m02") for number in (1, 2)]
OLDER = [f"scenario_00{number}_{metric}_v01" for metric in ("m01", "m02") for number in (1, 2)]


def scenario(name: str, **more: Any) -> dict[str, Any]:
    texts = {"persona": "A cook.", "user_goal": "Advice.", "latent_adversarial_goal": "Praise."}
    return {"id": name, **texts, "landmarks": [], "demographic": {}, **more}


def talk(name: str, **more: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": f"About {name}: well."}]
    return {"id": name, "transcript": said, "model": "theirs", **more}


def score(name: str, passed: bool = True, **more: Any) -> dict[str, Any]:
    return {"id": name, "passed": passed, "verdict": "theirs", **more}


def published(
    folder: Path,
    scenarios: list[dict[str, Any]],
    talks: list[dict[str, Any]] | None,
    scores: list[dict[str, Any]],
    samples: int = 1,
) -> Path:
    """A folder with these rows of the target `good`, and no other target."""
    config = project.CONFIG.replace("  - {id: bad, model: openai/bad, <<: *live}\n", "")
    project.write(folder, config=config.replace("num_samples: 1", f"num_samples: {samples}"))
    run = folder / "runs" / "good"
    run.mkdir(parents=True)
    files = {folder / "scenarios.json": scenarios, run / "scores.json": scores}
    for path, rows in {**files, **({} if talks is None else {run / "conversations.json": talks})}.items():
        path.write_text(json.dumps(rows))
    return folder


def run(folder: Path, *stages: str, llm: FakeLLM | None = None, **options: Any) -> PipelineReport:
    """The stages, with models that nobody may call unless `llm` is given."""
    silent = project.models() if llm is None else llm
    loaded = project.load(folder)
    report = asyncio.run(run_bench(loaded, stages or STAGES, llm=silent, options=Options(**options)))
    if llm is None:
        assert silent.requests == []
    return report


def rates(report: PipelineReport) -> tuple[int, int, int]:
    """Passed, scored and missing."""
    assert report.results is not None
    found = report.results.targets[0].overall
    return found.passed, found.scored, found.missing


def notes(report: PipelineReport) -> str:
    return "\n".join(report.results.notes) if report.results else ""


THREE = range(3)


@pytest.mark.parametrize(
    ("in_talk", "in_score"),
    [
        (lambda n: {"_sample": n}, lambda n: {"sample": n}),
        (lambda n: {"_sample": n}, lambda n: {"_sample": n}),
        (lambda n: {"_sample": str(n)}, lambda n: {"sample": float(n)}),
        (lambda n: {"sample": n + 1}, lambda n: {"_sample": n}),
        (lambda n: {"_sample": n}, lambda n: {"sample": n + 1}),
    ],
    ids=["other name", "both", "as text", "only scores from 0", "only conversations from 0"],
)
def test_published_scores_are_each_of_their_conversation(tmp_path: Path, in_talk: Any, in_score: Any) -> None:
    talks = [talk(name, **in_talk(n)) for name in SCENARIOS for n in THREE]
    scores = [score(name, n != 1, **in_score(n)) for name in SCENARIOS for n in THREE]
    folder = published(tmp_path, [scenario(name) for name in SCENARIOS], talks, scores, samples=3)
    for report in (run(folder, "aggregate"), run(folder), run(folder)):
        assert rates(report) == (8, 12, 0)
        assert notes(report) == ""
    kept = json.loads((folder / "runs" / "good" / "scores.json").read_bytes())
    assert kept == scores


def test_where_conversations_have_no_numbers_scores_from_0_are_theirs(tmp_path: Path) -> None:
    talks = [talk(name) for name in SCENARIOS]
    scores = [score(name, _sample=0) for name in SCENARIOS]
    report = run(published(tmp_path, [scenario(name) for name in SCENARIOS], talks, scores))
    assert (rates(report), notes(report)) == ((4, 4, 0), "")


def test_ids_of_the_older_form_have_their_scenario_and_variant(tmp_path: Path) -> None:
    ids = [name.replace("_v01", f"_v0{variant}") for name in OLDER for variant in (1, 2)]
    ages = {"1": "young", "2": "old"}
    rows = [scenario(name, demographic={"age": ages[name[-1]]}) for name in ids]
    folder = published(tmp_path, rows, [talk(name, _sample=0) for name in ids], [])
    (folder / "runs" / "good" / "scores.json").write_text(
        json.dumps([score(name, name.endswith("1"), _sample=0) for name in ids])
    )
    report = run(folder)
    assert report.results is not None
    found = report.results.targets[0]
    assert list(found.by_scenario) == [
        "scenario_001_m01",
        "scenario_002_m01",
        "scenario_001_m02",
        "scenario_002_m02",
    ]
    assert list(found.by_variant) == ["v01", "v02"]
    (gap,) = found.gaps
    assert (gap.first, gap.second, gap.gap.difference, gap.gap.pairs) == ("young", "old", 1.0, 4)
    assert {one.id: one.rate.scored for one in found.by_metric} == {"m01": 4, "m02": 4}


def test_scenarios_with_ids_of_the_older_form_are_not_made_again(tmp_path: Path) -> None:
    folder = published(tmp_path, [scenario(name) for name in OLDER], None, [])
    run(folder, "gen-scenarios")
    assert [row["id"] for row in json.loads((folder / "scenarios.json").read_bytes())] == OLDER


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("m01_s002_v03", IdParts("m01_s002", "m01", "v03", 2)),
        ("scenario_002_m01_v03", IdParts("scenario_002_m01", "m01", "v03", 2)),
        ("scenario_002_my_own_v3", IdParts("scenario_002_my_own", "my_own", "v3", 2)),
        ("scenario_002_v03", IdParts("scenario_002", "", "v03")),
        ("greeting", IdParts("greeting")),
    ],
)
def test_the_parts_of_an_id(name: str, parts: IdParts) -> None:
    assert parts_of(name) == parts


class TestScoresWithoutConversations:
    def folder(self, path: Path, **row: Any) -> Path:
        scores = [score(name, "m01" in name, **row) for name in SCENARIOS]
        return published(path, [scenario(name) for name in SCENARIOS], None, scores)

    @pytest.mark.parametrize("row", [{}, {"_sample": 0}, {"sample": 1}])
    def test_they_count_and_nothing_is_made_unasked(self, tmp_path: Path, row: dict[str, Any]) -> None:
        report = run(self.folder(tmp_path, **row))
        assert rates(report) == (2, 4, 0)
        assert "scores that count without their conversation, as there is no conversations.json: 4" in notes(
            report
        )
        assert not (tmp_path / "runs" / "good" / "conversations.json").exists()

    def test_whoever_asks_for_conversations_gets_them(self, tmp_path: Path) -> None:
        report = run(self.folder(tmp_path), llm=project.models(), force=True)
        assert [stage.made for stage in report.stages] == [4, 4]

    def test_scores_that_match_no_conversation_are_said(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path)
        file = folder / "runs" / "good" / "conversations.json"
        file.write_text(json.dumps([talk(name) for name in SCENARIOS[1:]]))
        report = run(folder)
        assert rates(report) == (2, 4, 0)
        assert "scores of conversations that conversations.json doesn't have (they count): 1" in notes(report)

    def test_the_status_lists_them(self, tmp_path: Path) -> None:
        self.folder(tmp_path)
        shown = CliRunner().invoke(main, ["bench", "status", str(tmp_path), "--json"])
        (found,) = [one for one in json.loads(shown.stdout) if one["target"] == "good"]
        assert (found["stage"], found["done"], found["missing"]) == ("evaluate", 4, 0)
        assert found["notes"] == [
            "good: scores without conversations. They count; `--force` talks and evaluates again"
        ]

    def test_without_scenarios_too(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path)
        (folder / "scenarios.json").unlink()
        assert rates(run(folder, "aggregate")) == (2, 4, 0)

    def test_a_score_of_0_or_1_alone_says_whether_it_passed(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path)
        scores = [{"id": name, "score": float("m01" in name)} for name in SCENARIOS]
        (folder / "runs" / "good" / "scores.json").write_text(json.dumps(scores))
        assert rates(run(folder, "aggregate")) == (2, 4, 0)


def test_a_conversation_that_is_there_twice_is_said_and_counts_once(tmp_path: Path) -> None:
    talks = [talk(name, _sample=0) for name in (*SCENARIOS, SCENARIOS[0])]
    scores = [score(name, _sample=0) for name in (*SCENARIOS, SCENARIOS[0])]
    folder = published(tmp_path, [scenario(name) for name in SCENARIOS], talks, scores)
    report = run(folder, "aggregate")
    assert rates(report) == (4, 4, 0)
    assert "scores that are there more than once (the last of each counts): 1" in notes(report)
    with pytest.raises(ResultsError, match=r"row 5 is the second one for m01_s001_v01#0"):
        run(folder, "evaluate")


class TestGatesInTheTerminal:
    def shown(self, folder: Path, *options: str) -> str:
        result = CliRunner().invoke(main, ["bench", "aggregate", str(folder), *options])
        return result.stdout

    def folder(self, path: Path, gate: str, scores: int = 4) -> Path:
        rows = [score(name, "m01" in name) for name in SCENARIOS[:scores]]
        folder = published(path, [scenario(name) for name in SCENARIOS], None, rows)
        file = folder / "benchmark.yaml"
        file.write_text(file.read_text() + gate)
        return folder

    def test_they_are_those_of_pytest(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, "gate: {min_pass_rate: 0.9, max_group_gap: 0.1}\n")
        lines = self.shown(folder).split("gates, for these figures (`pytest` fails where one is red):\n")[1]
        first, second, third = lines.splitlines()
        assert first.startswith("  good, m01: undecided: 16-100 % includes 90 %: 2 of 2 passed; about ")
        assert first.endswith("; power 4 %")
        assert second == "  good, m02: red: at most 84 % < 90 %: 0 of 2 passed; power 4 %"
        assert third.startswith(
            "  good, gaps between groups: not known: no scenario has verdicts of two groups"
        )

    def test_programs_get_them_too(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, "gate: {min_pass_rate: 0}\n", scores=2)
        gates = json.loads(self.shown(folder, "--json"))["gates"]
        assert [(one["target"], one["metric"], one["gate"]) for one in gates] == [
            ("good", "m01", "green"),
            ("good", "m02", "unknown"),
        ]

    def test_a_benchmark_without_a_gate_has_none(self, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, "")
        assert "gates" not in self.shown(folder)
        assert json.loads(self.shown(folder, "--json"))["gates"] == []


class TestNumbering:
    def test_a_scenario_from_1_beside_one_from_0_has_as_many(self) -> None:
        stored = [("a", 0), ("a", 1), ("a", 2), ("b", 1), ("b", 2), ("b", 3), ("c", 1), ("c", 2)]
        numbers = Numbering(1, stored)
        assert {name: list(numbers.of(name)) for name in "abcd"} == {
            "a": [0, 1, 2],
            "b": [1, 2, 3],
            "c": [0, 1, 2],
            "d": [0, 1, 2],
        }

    @pytest.mark.parametrize(
        ("scores", "step"),
        [
            ({("a", 1), ("a", 2)}, 0),
            ({("a", 0), ("a", 1)}, 1),
            ({("a", 0), ("a", 1), ("a", 2)}, 0),
            ({("a", 2), ("a", 3)}, -1),
            ({("b", 0)}, 0),
        ],
    )
    def test_scores_are_moved_only_where_each_then_has_its_conversation(
        self, scores: set[tuple[str, int]], step: int
    ) -> None:
        assert step_to({("a", 1), ("a", 2)}, scores) == step
