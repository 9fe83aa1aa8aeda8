from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.project import LoadedBenchmark
from pytest_convoprobe.benchmark.pipeline.driver import Counts
from pytest_convoprobe.benchmark.pipeline.pipeline import (
    PipelineReport,
    run_bench,
    survey,
)
from pytest_convoprobe.benchmark.rows.folder_lock import only_run
from pytest_convoprobe.benchmark.stages import registry
from pytest_convoprobe.benchmark.stages.options import Options
from pytest_convoprobe.errors import BudgetExceeded, LLMRejected, ResultsError, SettingsError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import Role
from tests.support.chat_server import ChatServer, Fault

from .. import project

ALL = ("all",)


def run(
    loaded: LoadedBenchmark, stages: Sequence[str] = ALL, llm: FakeLLM | None = None, **options: Any
) -> PipelineReport:
    chosen = project.models() if llm is None else llm
    return asyncio.run(run_bench(loaded, stages, llm=chosen, options=Options(**options)))


def rows(folder: Path, name: str) -> list[Any]:
    found: list[Any] = json.loads((folder / name).read_bytes())
    return found


def costs(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "cost.json").read_bytes())
    return found


def everything(folder: Path) -> dict[str, bytes]:
    """Every file and folder."""
    found = folder.rglob("*")
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in found}


def files(folder: Path) -> dict[str, bytes]:
    """Every file for people, with its content."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".rows" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def foreign(folder: Path, **changes: Any) -> Path:
    """A finished benchmark as another system leaves it: without what only our rows and folders have."""
    project.write(folder)
    run(project.load(folder))
    for path in (folder / "scenarios.json", *folder.glob("runs/*/*.json")):
        theirs = [{**row, **changes} for row in json.loads(path.read_bytes())]
        for row in theirs:
            del row["key"]
        path.write_text(json.dumps(theirs))
    shutil.rmtree(folder / ".rows")
    return folder


class TestStages:
    def test_all_stages_from_metrics_to_results(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        report = run(project.load(folder))
        assert report.complete
        assert [stage.stage for stage in report.stages] == [
            "gen-metrics",
            "draft-scenarios",
            "gen-scenarios",
            "simulate",
            "evaluate",
        ]
        assert len(rows(folder, "scenarios.json")) == 4
        assert len(rows(folder, "runs/good/conversations.json")) == 4
        passed = {
            target: [row["passed"] for row in rows(folder, f"runs/{target}/scores.json")]
            for target in ("good", "bad")
        }
        assert passed == {"good": [True] * 4, "bad": [False] * 4}
        assert report.results is not None
        assert {target.id: target.overall.pass_rate for target in report.results.targets} == {
            "good": 1,
            "bad": 0,
        }
        assert (folder / "results.json").exists()

    @pytest.mark.parametrize("checked_out", [False, True])
    @pytest.mark.parametrize("limit", [0, 1])
    def test_scores_of_a_target_that_has_changed_count_no_longer(
        self, tmp_path: Path, limit: int, checked_out: bool
    ) -> None:
        """Also where its new conversations could not all be held, or not one of them."""
        folder = project.write(tmp_path)
        run(project.load(folder))
        if checked_out:
            shutil.rmtree(folder / ".rows")
        config = (folder / "config.yaml").read_text()
        (folder / "config.yaml").write_text(config.replace("openai/good", "openai/better"))
        report = run(project.load(folder), ["simulate", "evaluate", "aggregate"], limit=limit)
        found = report.results.target("good") if report.results else None
        assert found is not None
        assert (found.overall.scored, found.overall.missing) == (limit, 4 - limit)
        assert len(rows(folder, "runs/good/scores.json")) == limit

    def test_a_second_run_calls_nobody_and_changes_nothing(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        before = files(folder)
        llm = project.models()
        report = run(project.load(folder), llm=llm)
        assert llm.requests == []
        assert [stage.made for stage in report.stages] == [0] * 5
        assert files(folder) == before

    def test_a_metric_that_changes_changes_what_is_made_of_it_alone(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        text = project.BENCHMARK.replace("what matters to the user", "twice what matters")
        project.write(folder, benchmark=text)
        report = run(project.load(folder))
        assert [stage.made for stage in report.stages] == [0, 1, 2, 4, 4]

    def test_stages_may_run_one_by_one(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        for stage in ("gen_metrics", "gen-scenarios", "simulate", "evaluate", "aggregate"):
            run(project.load(folder), [stage])
        assert len(rows(folder, "runs/bad/scores.json")) == 4
        assert (folder / "results.json").exists()

    def test_one_scenario_of_a_fresh_folder_is_made_with_its_draft(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        report = run(project.load(folder), only="m02_s001")
        assert [stage.made for stage in report.stages] == [0, 1, 1, 2, 2]
        assert [row["id"] for row in rows(folder, "scenarios.json")] == ["m02_s001_v01"]

    def test_metrics_that_are_made_are_there_for_the_next_stages(self, tmp_path: Path) -> None:
        wanted = project.CONFIG.replace("turns: 2,", "turns: 2, num_metrics: 3,")
        folder = project.write(tmp_path, config=wanted)
        report = run(project.load(folder))
        assert "id: m03" in (folder / "benchmark.yaml").read_text()
        assert report.complete
        assert {row["metric_id"] for row in rows(folder, "scenarios.json")} == {"m01", "m02", "m03"}

    def test_one_target_alone_leaves_the_others_as_they_are(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        before = files(folder)
        loaded = project.load_project(folder, target="bad", root=folder, environ={})
        report = run(loaded, ["simulate", "evaluate"], force=True)
        assert set(report.stages[0].targets) == {"bad"}
        assert files(folder)["runs/good/scores.json"] == before["runs/good/scores.json"]

    @pytest.mark.parametrize("checked_out", [False, True])
    @pytest.mark.parametrize(
        ("was", "now"), [("openai/good", "openai/better"), ("openai/evaluator", "openai/other")]
    )
    def test_rows_that_were_not_asked_for_stay_whatever_has_changed(
        self, tmp_path: Path, was: str, now: str, checked_out: bool
    ) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        if checked_out:
            shutil.rmtree(folder / ".rows")
        before = {name: rows(folder, f"runs/good/{name}.json") for name in ("conversations", "scores")}
        config = (folder / "config.yaml").read_text()
        (folder / "config.yaml").write_text(config.replace(was, now))
        models = project.models(better=project.QUESTION, other='{"justification": "x", "present": false}')
        report = run(project.load(folder), ["simulate", "evaluate", "aggregate"], llm=models, only="m01")
        for name, those in before.items():
            there = rows(folder, f"runs/good/{name}.json")
            assert [row["id"] for row in there] == [row["id"] for row in those]
            assert [row for row in there if row["metric_id"] == "m02"] == those[2:]
        found = report.results.target("good") if report.results else None
        assert found is not None
        assert report.results is not None
        assert {one.id: (one.rate.scored, one.rate.missing) for one in found.by_metric} == {
            "m01": (2, 0),
            "m02": (2, 0),
        }
        assert any("2" in note and "older" in note for note in report.results.notes)

    def test_all_metrics_adds_scores_and_keeps_those_that_are_there(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        report = run(project.load(folder), ["evaluate"], all_metrics=True)
        assert report.stages[0].made == 8
        asked = [(row["id"][:3], row["metric_id"]) for row in rows(folder, "runs/good/scores.json")]
        assert asked == [("m01", "m01"), ("m01", "m02")] * 2 + [("m02", "m02"), ("m02", "m01")] * 2

    def test_scores_for_other_metrics_stay_as_long_as_they_hold(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), all_metrics=True)
        before = files(folder)["runs/good/scores.json"]
        llm = project.models()
        run(project.load(folder), llm=llm)
        assert llm.requests == []
        assert files(folder)["runs/good/scores.json"] == before
        text = project.BENCHMARK.replace("whose details nobody has told it", "that it knows nothing of")
        project.write(folder, benchmark=text)
        run(project.load(folder), ["evaluate"])
        asked = {(row["id"][:3], row["metric_id"]) for row in rows(folder, "runs/good/scores.json")}
        assert asked == {("m01", "m01"), ("m01", "m02"), ("m02", "m02")}

    @pytest.mark.parametrize(
        ("names", "stages"),
        [
            (["all"], ("gen-metrics", "gen-scenarios", "simulate", "evaluate", "aggregate")),
            (["evaluate", "simulate"], ("simulate", "evaluate")),
            (["gen_scenarios", "gen-metrics"], ("gen-metrics", "gen-scenarios")),
        ],
    )
    def test_stages_run_in_their_order(self, names: list[str], stages: tuple[str, ...]) -> None:
        assert registry.choose(names) == stages

    def test_an_unknown_stage_is_reported_with_those_there_are(self) -> None:
        with pytest.raises(
            SettingsError, match="no stage judge: choose from gen-metrics, gen-scenarios, sim"
        ):
            registry.choose(["judge"])
        with pytest.raises(SettingsError, match=r"or all; did you mean `simulate`\?"):
            registry.choose(["simualte"])


class TestWhatIsMissing:
    def test_metrics_that_lack_something(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path, benchmark="name: x\nmetrics:\n  - name: Only a name\n")
        with pytest.raises(SettingsError, match="m01 lacks a definition and examples"):
            run(project.load(folder), ["gen-scenarios"])

    def test_scenarios(self, tmp_path: Path) -> None:
        with pytest.raises(
            ResultsError, match=r"no scenarios yet: `convoprobe bench gen-scenarios .*` makes"
        ):
            run(project.load(project.write(tmp_path)), ["simulate"])

    def test_conversations(self, tmp_path: Path) -> None:
        with pytest.raises(ResultsError, match=r"no conversations yet: `convoprobe bench simulate .*` makes"):
            run(project.load(project.write(tmp_path)), ["evaluate"])

    def test_a_model(self, tmp_path: Path) -> None:
        text = project.CONFIG.replace("model: openai/user, ", "")
        folder = project.write(tmp_path, config=text)
        run(project.load(folder), ["gen-scenarios"])
        before = everything(folder)
        with pytest.raises(SettingsError, match="no model is set for the user"):
            asyncio.run(run_bench(project.load(folder), ["simulate"]))
        assert everything(folder) == before

    def test_models_of_later_stages(self, tmp_path: Path) -> None:
        """Whoever could not evaluate in the end pays for no conversation before."""
        text = project.CONFIG.replace("model: openai/evaluator, ", "")
        folder = project.write(tmp_path, config=text)
        with pytest.raises(SettingsError, match="no model is set for the evaluator"):
            asyncio.run(run_bench(project.load(folder), ALL))
        assert not (folder / ".rows").exists()

    @pytest.mark.parametrize("stages", [ALL, ["simulate"], ["evaluate"]])
    def test_with_nothing_to_call_no_key_is_asked_for(self, tmp_path: Path, stages: Sequence[str]) -> None:
        folder = project.write(tmp_path, config=project.CONFIG.replace("apikey: none", "apikey: '${UNSET}'"))
        run(project.load(folder))
        report = asyncio.run(run_bench(project.load(folder), stages))
        assert report.complete
        with pytest.raises(SettingsError, match="UNSET is not set"):
            asyncio.run(run_bench(project.load(folder, generation__num_samples=2), ALL))

    def test_anything_to_add_up(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        with pytest.raises(ResultsError, match=r"no scenarios yet, .*: run `convoprobe bench all .*` first"):
            run(project.load(folder), ["aggregate"])
        assert not (folder / "results.json").exists()
        run(project.load(folder), ["gen-scenarios", "aggregate"])
        assert run(project.load(folder), ["aggregate"]).results is not None


class TestLandmarksBeyondTheLastTurn:
    NOTE = (
        "4 scenarios have landmarks that are never reached: conversations end after turn 1 "
        "(generation.turns), and the highest is for turn 2, in m01_s001_v01. "
        "Raise generation.turns to that, or move landmarks to earlier turns in scenarios.json"
    )

    def remarks(self, folder: Path, stages: Sequence[str], *, dry_run: bool, **above: Any) -> list[str]:
        report = run(project.load(folder, **above), stages, dry_run=dry_run)
        told = [one.remarks for one in report.stages] + [one.remarks for one in report.forecasts]
        return [remark for remarks in told for remark in remarks]

    @pytest.mark.parametrize("dry_run", [True, False])
    def test_they_are_told_once(self, tmp_path: Path, dry_run: bool) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), ["gen-scenarios"])
        assert self.remarks(folder, ["simulate"], dry_run=dry_run) == []
        assert self.remarks(folder, ["simulate"], dry_run=dry_run, generation__turns=1) == [self.NOTE]

    def test_not_of_scenarios_that_are_made_anew_before(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), ["gen-scenarios"])
        assert self.remarks(folder, ALL, dry_run=True, generation__turns=1) == []

    def test_not_where_nobody_is_given_them(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), ["gen-scenarios"])
        assert self.remarks(folder, ["simulate"], dry_run=True, generation__turns=1, landmarks=False) == []


class TestFilesOfOthers:
    def test_samples_that_are_counted_from_0_are_not_made_again(self, tmp_path: Path) -> None:
        folder = foreign(tmp_path, sample=0)
        llm = project.models()
        run(project.load(folder), llm=llm)
        assert llm.requests == []
        report = run(project.load(folder, generation__num_samples=2))
        assert [stage.made for stage in report.stages] == [0, 0, 0, 8, 8]
        held = [(row["id"], row["sample"]) for row in rows(folder, "runs/good/conversations.json")]
        assert held == [(one, sample) for one in dict(held) for sample in (0, 1)]
        assert report.results is not None
        assert list(report.results.targets[0].by_sample) == [0, 1]

    def test_scores_are_not_those_of_conversations_that_are_held_anew(self, tmp_path: Path) -> None:
        folder = foreign(tmp_path)
        other = project.models(good="Another question?")
        run(project.load(folder), ["simulate"], llm=other, force=True, only="m01")
        made = run(project.load(folder), ["evaluate"]).stages[0].targets
        assert {target: one.made for target, one in made.items()} == {"good": 2, "bad": 0}
        found = {row["id"]: "key" in row for row in rows(folder, "runs/good/scores.json")}
        assert [found[name] for name in sorted(found)] == [True, True, False, False]
        assert run(project.load(folder), ["evaluate"]).stages[0].made == 0

    def test_scores_are_not_those_of_conversations_that_are_edited(self, tmp_path: Path) -> None:
        folder = foreign(tmp_path)
        run(project.load(folder), ["evaluate"])
        path = folder / "runs" / "good" / "conversations.json"
        path.write_text(path.read_text().replace(project.QUESTION, project.PRAISE, 1))
        assert run(project.load(folder), ["evaluate"]).stages[0].made == 1

    def test_scores_from_before_there_was_a_conversation_are_not_its(self, tmp_path: Path) -> None:
        folder = foreign(tmp_path)
        (folder / "runs" / "good" / "conversations.json").unlink()
        run(project.load(folder), ["simulate"], force=True, only="m0?_s*")
        made = run(project.load(folder), ["evaluate"]).stages[0].targets
        assert {target: one.made for target, one in made.items()} == {"good": 4, "bad": 0}

    def test_scores_of_ours_by_others_are_taken_over(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), ["gen-scenarios", "simulate"])
        theirs = [
            {"id": row["id"], "sample": 1, "present": True, "passed": False}
            for row in rows(folder, "runs/good/conversations.json")
        ]
        (folder / "runs" / "good" / "scores.json").write_text(json.dumps(theirs))
        made = run(project.load(folder), ["evaluate"]).stages[0].targets
        assert {target: one.made for target, one in made.items()} == {"good": 0, "bad": 4}

    def test_scores_for_other_metrics_are_gone_with_their_conversation(self, tmp_path: Path) -> None:
        folder = foreign(tmp_path)
        path = folder / "runs" / "good" / "scores.json"
        scores = json.loads(path.read_bytes())
        path.write_text(json.dumps([*scores, {**scores[0], "metric_id": "m02"}]))
        run(project.load(folder), ["simulate"], llm=project.models(good="Another question?"), force=True)
        run(project.load(folder), ["evaluate"])
        found = rows(folder, "runs/good/scores.json")
        assert len(found) == 4
        assert all("key" in row for row in found)


OLDER = (
    "conversations with scores of the conversation that they replaced (they count; "
    "`convoprobe bench evaluate` replaces them): "
)


class TestOlderScores:
    @pytest.mark.parametrize("begun", [project.write, foreign], ids=["ours", "of others"])
    def test_they_are_told(self, tmp_path: Path, begun: Callable[[Path], Path]) -> None:
        folder = begun(tmp_path)
        run(project.load(folder))
        other = project.models(good="Another question?")
        report = run(project.load(folder), ["simulate", "aggregate"], llm=other, force=True, only="m01")
        assert report.results is not None
        assert report.results.notes == (f"good: {OLDER}2",)
        assert json.loads((folder / "results.json").read_bytes())["notes"] == [f"good: {OLDER}2"]

    def test_once_they_are_made_anew_nothing_is_told(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        run(project.load(folder), ["simulate"], llm=project.models(good="Another question?"), force=True)
        report = run(project.load(folder), ["evaluate", "aggregate"])
        assert report.results is not None
        assert report.results.notes == ()

    def test_a_file_that_cannot_be_read_keeps_no_results_from_being_written(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        (folder / "runs" / "good" / "scores.json").write_text("oops")
        report = run(project.load(folder), ["simulate", "aggregate"])
        assert report.results is not None
        assert "scores.json could not be read" in report.results.notes[0]


class TestFailures:
    def test_a_failing_target_stops_no_other(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        wrong = LLMRejected("the key is wrong", status=401)
        report = run(project.load(folder), llm=project.models(bad=wrong))
        simulated = report.stages[3].targets
        assert (simulated["bad"].made, simulated["good"].made) == (0, 4)
        assert {reason for _, reason in simulated["bad"].failed} == {"the key is wrong"}
        assert not report.complete
        assert len(rows(folder, "runs/good/scores.json")) == 4
        again = run(project.load(folder))
        assert again.complete
        assert again.stages[3].made == 4

    def test_stages_after_the_end_of_the_budget_make_nothing(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), ["gen-scenarios", "simulate"])
        llm = project.models(user=BudgetExceeded("the run's budget is used up"))
        text = project.BENCHMARK.replace("what matters to the user", "twice what matters")
        report = run(project.load(project.write(folder, benchmark=text)), llm=llm)
        assert report.stages[3].budget == "the run's budget is used up"
        assert report.stages[3].left == 4
        assert report.stages[4].left == 4
        assert not [one for one in llm.requests if one.context.role is Role.EVALUATOR]
        assert report.results is not None


class TestBudget:
    def test_one_budget_for_all_stages(self, tmp_path: Path) -> None:
        with ChatServer(project.answer_body) as server:
            folder = project.write(tmp_path, server.base_url)
            loaded = project.load(folder, run__max_tokens=100, run__concurrency=1)
            report = asyncio.run(run_bench(loaded, ALL))
        assert report.stages[1].made == 2
        assert "run.max_tokens 100" in report.stages[3].budget
        assert len(server.requests) == 7


class TestCost:
    def test_it_is_told_by_stage_target_and_role(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        found = costs(folder)
        assert list(found) == ["gen_metrics", "gen_scenarios", "simulate", "evaluate", "total"]
        talk = found["simulate"]["by_target"]["good"]["by_role"]["synthetic_user"]
        assert talk == {
            "calls": 8,
            "attempts": 8,
            "replayed": 0,
            "prompt_tokens": 800,
            "completion_tokens": 80,
            "cost": 0.008,
        }
        assert found["total"]["calls"] == 2 + 32 + 8
        assert found["total"]["cost"] == 0.042
        assert found["total"]["by_role"]["evaluator"]["calls"] == 8

    def test_what_failed_has_cost_too(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), llm=project.models(bad=LLMRejected("no", status=401)))
        run(project.load(folder))
        found = costs(folder)["simulate"]["by_target"]
        assert found["bad"]["by_role"]["target"]["calls"] == 4 + 8
        assert found["good"]["by_role"]["target"]["calls"] == 8

    def test_rows_that_are_not_in_version_control_keep_their_cost(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        before = costs(folder)
        shutil.rmtree(folder / ".rows")
        llm = project.models()
        run(project.load(folder), llm=llm)
        assert llm.requests == []
        assert costs(folder) == before
        run(project.load(folder), ["evaluate"], force=True)
        assert costs(folder)["evaluate"]["calls"] == 16
        assert costs(folder)["simulate"] == before["simulate"]

    def test_a_file_of_another_system_stays_while_nothing_is_spent(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        shutil.rmtree(folder / ".rows")
        (folder / "cost.json").write_text('{"simulate": {"usd": 1.5}}')
        run(project.load(folder))
        assert costs(folder) == {"simulate": {"usd": 1.5}}

    def test_what_others_wrote_into_it_stays_once_something_is_spent(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        ours = costs(folder)
        theirs = {**ours, "simulate": {**ours["simulate"], "usd": 1.5}, "invoice": {"number": 7}}
        (folder / "cost.json").write_text(json.dumps(theirs))
        run(project.load(folder), ["evaluate"], force=True)
        found = costs(folder)
        assert (found["invoice"], found["simulate"]) == ({"number": 7}, theirs["simulate"])
        assert found["evaluate"]["calls"] == 16

    def test_lines_of_the_tick_in_which_the_file_was_written_count(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        lines = [*(folder / ".rows").glob("*/*.jsonl")]
        (folder / "cost.json").write_text("{}")
        for path in [folder / "cost.json", *lines]:
            os.utime(path, ns=(10**18, 10**18))
        run(project.load(folder), ["aggregate"])
        assert costs(folder)["evaluate"]["calls"] == 8

    def test_a_dry_run_in_a_fresh_checkout_loses_no_cost(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        before = costs(folder)
        shutil.rmtree(folder / ".rows")
        run(project.load(folder), dry_run=True)
        run(project.load(folder))
        assert costs(folder) == before

    def test_what_a_run_finished_is_kept_out_of_version_control(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        assert (folder / ".rows" / ".gitignore").read_text().endswith("\n*\n")


class TestOneRunAtATime:
    async def test_a_second_run_says_so(self, tmp_path: Path) -> None:
        loaded = project.load(project.write(tmp_path))
        async with only_run(loaded.folder):
            with pytest.raises(ResultsError, match="another run is at work in"):
                await run_bench(loaded, ALL, llm=project.models())

    async def test_one_that_makes_no_rows_keeps_others_out_of_a_folder_without_any(
        self, tmp_path: Path
    ) -> None:
        loaded = project.load(project.write(tmp_path))
        async with only_run(loaded.folder, makes_rows=False):
            with pytest.raises(ResultsError, match="another run is at work in"):
                await run_bench(loaded, ALL, llm=project.models())

    async def test_a_patient_one_waits(self, tmp_path: Path) -> None:
        loaded = project.load(project.write(tmp_path))
        async with only_run(loaded.folder):
            waiting = asyncio.ensure_future(run_bench(loaded, ALL, llm=project.models(), patience=60))
            await asyncio.sleep(0)
            assert not (loaded.folder.path / "scenarios.json").exists()
        assert (await waiting).complete


class TestDryRun:
    def forecast(self, folder: Path, stages: Sequence[str] = ALL, **options: Any) -> PipelineReport:
        priced = {
            f"{name}__{side}_cost_per_token": price
            for name in ("generator_model", "user_model", "evaluator_model")
            for side, price in (("input", 1e-6), ("output", 1e-5))
        }
        loaded = project.load(folder, **priced)
        return asyncio.run(run_bench(loaded, stages, options=Options(dry_run=True, **options)))

    def test_it_writes_nothing_and_needs_no_model(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path, config=project.CONFIG.replace("model: openai/user, ", ""))
        before = files(folder)
        report = self.forecast(folder, ["gen-scenarios"])
        assert report.stages == ()
        assert files(folder) == before

    @pytest.mark.parametrize("begun", [project.write, foreign], ids=["fresh", "of others"])
    @pytest.mark.parametrize("force", [False, True])
    def test_a_folder_stays_as_it_is(
        self, tmp_path: Path, begun: Callable[[Path], Path], force: bool
    ) -> None:
        folder = begun(tmp_path)
        before = everything(folder)
        expected = 4 if begun is project.write else 0  # with `force` too: they are somebody's own work
        assert self.forecast(folder, force=force).forecasts[2].rows == expected
        assert everything(folder) == before

    def test_rows_of_others_beside_our_own_are_counted_and_left_alone(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        path = folder / "runs" / "good" / "scores.json"
        path.write_text(json.dumps(json.loads(path.read_bytes())[:3]))
        before = everything(folder)
        assert [one.rows for one in self.forecast(folder, ["evaluate"]).forecasts] == [0]
        path.write_text(json.dumps([{**row, "key": ""} for row in json.loads(path.read_bytes())]))
        before = everything(folder)
        assert [one.rows for one in self.forecast(folder, ["evaluate"]).forecasts] == [0]
        assert everything(folder) == before

    async def test_a_survey_leaves_a_folder_as_it_is(self, tmp_path: Path) -> None:
        folder = await asyncio.to_thread(foreign, tmp_path)
        before = everything(folder)
        async with survey(project.load(folder)) as shares:
            share = shares["evaluate"]["good"]
            assert (share.done, len(share.missing)) == (4, 0)
            assert share.table.row(share.units[0].place)["passed"] is True
        assert everything(folder) == before

    def test_rows_of_later_stages_are_estimated(self, tmp_path: Path) -> None:
        found = {one.stage: one for one in self.forecast(project.write(tmp_path)).forecasts}
        assert {name: one.rows for name, one in found.items()} == {
            "gen-metrics": 0,
            "draft-scenarios": 2,
            "gen-scenarios": 4,
            "simulate": 8,
            "evaluate": 8,
        }
        assert found["simulate"].spending["synthetic_user"].calls == 16
        assert found["simulate"].basis == "sizes"
        assert found["evaluate"].spending["evaluator"].cost == pytest.approx(8 * (2500e-6 + 150e-5))

    def test_a_verdict_by_log_odds_takes_a_call_for_each_example(self, tmp_path: Path) -> None:
        by_odds = f"{project.CONFIG}evaluation: {{method: log_odds}}\n"
        found = self.forecast(project.write(tmp_path, config=by_odds)).forecasts
        assert {one.stage: one.spending for one in found}["evaluate"]["evaluator"].calls == 8 * 6

    def test_metrics_to_come_are_counted(self, tmp_path: Path) -> None:
        wanted = project.CONFIG.replace("turns: 2,", "turns: 2, num_metrics: 3,")
        found = self.forecast(project.write(tmp_path, config=wanted)).forecasts
        assert [one.rows for one in found] == [1, 3, 6, 12, 12]

    def test_rows_that_are_there_tell_what_the_rest_will_cost(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), limit=2)
        found = {one.stage: one for one in self.forecast(folder, ["simulate"]).forecasts}["simulate"]
        assert found.targets == {"good": Counts(1, 1), "bad": Counts(1, 1)}
        assert found.basis == "rows"
        assert found.spending["target"].calls == 4
        assert found.spending["target"].usage.prompt_tokens == 400
        assert found.spending["target"].cost == pytest.approx(0.004)

    def test_an_unknown_price_is_an_unknown_cost(self, tmp_path: Path) -> None:
        loaded = project.load(project.write(tmp_path), user_model__model="openai/nobody-knows-it")
        report = asyncio.run(run_bench(loaded, ALL, options=Options(dry_run=True)))
        simulated = {one.stage: one for one in report.forecasts}["simulate"]
        assert simulated.spending["synthetic_user"].cost is None

    def test_a_limit_holds_for_each_stage(self, tmp_path: Path) -> None:
        assert [one.rows for one in self.forecast(project.write(tmp_path), limit=1).forecasts] == [
            0,
            1,
            1,
            1,
            1,
        ]

    def test_nothing_to_do_is_nothing_to_pay(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        assert [one.rows for one in self.forecast(folder).forecasts] == [0] * 5
        assert [one.spending for one in self.forecast(folder).forecasts] == [{}] * 5

    def test_conversations_that_are_held_anew_are_evaluated_once(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder), ["gen-scenarios", "simulate"])
        run(project.load(folder), ["evaluate"], limit=3)
        path = folder / "config.yaml"
        path.write_text(path.read_text().replace("openai/user", "openai/another-user"))
        found = {one.stage: one for one in self.forecast(folder).forecasts}
        assert (found["simulate"].rows, found["evaluate"].rows) == (8, 8)
        assert sum(due.done for due in found["evaluate"].targets.values()) == 0
        assert found["evaluate"].total.calls == 8
        assert [one.rows for one in self.forecast(folder, limit=2).forecasts] == [0, 0, 0, 2, 2]

    def test_conversations_of_scenarios_that_are_made_anew_are_held_once(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        path = folder / "benchmark.yaml"
        path.write_text(path.read_text().replace("to the user before it advises", "to the user first"))
        assert [one.rows for one in self.forecast(folder).forecasts] == [0, 1, 2, 4, 4]

    def test_metrics_to_come_are_added_to_those_that_are_made_anew(self, tmp_path: Path) -> None:
        wanted = project.CONFIG.replace("turns: 2,", "turns: 2, num_metrics: 3,")
        folder = project.write(tmp_path)
        run(project.load(folder))
        (folder / "config.yaml").write_text(wanted.replace("URL", "http://127.0.0.1:9/v1"))
        assert [one.rows for one in self.forecast(folder, force=True).forecasts] == [1, 3, 6, 12, 12]

    @pytest.mark.parametrize("by_hand", ["written", "edited"])
    def test_force_leaves_scenarios_alone_that_somebody_wrote_or_edited(
        self, tmp_path: Path, by_hand: str
    ) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        path = folder / "scenarios.json"
        own, *others = rows(folder, path.name)
        own["persona"] = "Somebody who was thought of by hand and asks for nothing but the truth."
        if by_hand == "written":
            del own["key"], own["draft"]
        path.write_text(json.dumps([own, *others]))
        report = run(project.load(folder), ["gen-scenarios"], force=True)
        assert rows(folder, path.name)[0] == own
        assert [stage.made for stage in report.stages] == [2, 3]
        (remark,) = report.stages[1].remarks
        assert remark.startswith("left as somebody wrote or edited them: 1 scenario (m01_s001_v01); ")

    def test_force_makes_each_row_once(self, tmp_path: Path) -> None:
        folder = project.write(tmp_path)
        run(project.load(folder))
        assert [one.rows for one in self.forecast(folder, force=True).forecasts] == [0, 2, 4, 8, 8]


class TestLive:
    def test_rate_limits_lose_no_row(self, tmp_path: Path) -> None:
        limited = Fault("429", status=429, headers={"Retry-After": "0"}, body="slow down")
        with ChatServer(project.answer_body, faults=[limited, None, limited]) as server:
            report = asyncio.run(run_bench(project.load(project.write(tmp_path, server.base_url)), ALL))
        assert report.complete
        assert costs(tmp_path)["total"]["attempts"] == costs(tmp_path)["total"]["calls"] + 2
