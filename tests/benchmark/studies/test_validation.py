"""The same benchmark with another model behind the scenes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.analysis.comparison_model import ModelComparison
from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.benchmark.format.model_swap import FILE, Swap, SwappedRole
from pytest_convoprobe.benchmark.format.project import LoadedBenchmark
from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench, survey
from pytest_convoprobe.benchmark.rows.folder_lock import FolderInUse
from pytest_convoprobe.benchmark.rows.work import Item, RowResult, Task
from pytest_convoprobe.benchmark.stages.options import Options
from pytest_convoprobe.benchmark.studies.validation import Validation, validate
from pytest_convoprobe.errors import LLMRejected, ResultsError, SettingsError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMRequest, Role
from tests.support.chat_server import ChatServer

from .. import project

OTHER = Swap("evaluator", "other/evaluator")
ALWAYS = '{"justification": "Turn 1.", "present": true}'


class Broken:
    """An engine that breaks down."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, task: Task, items: Iterable[Item]) -> AsyncIterator[RowResult]:
        raise self._error

    async def aclose(self) -> None:
        """Nothing is open."""


class Stopped:
    """An engine that somebody stops with Ctrl-C when a row is made, so many others being written down."""

    def __init__(self, written: int = 0, llm: FakeLLM | None = None) -> None:
        self._written = written
        self._engine = LocalEngine(llm=llm)

    async def run(self, task: Task, items: Iterable[Item]) -> AsyncIterator[RowResult]:
        async for outcome in self._engine.run(task, items):
            if not self._written:
                raise KeyboardInterrupt
            self._written -= 1
            yield outcome

    async def aclose(self) -> None:
        await self._engine.aclose()


async def stopped(loaded: LoadedBenchmark, swap: Swap) -> None:
    engine = Stopped()
    try:
        await validate(loaded, swap, engine=engine)
    finally:
        await engine.aclose()


@pytest.fixture
def finished(tmp_path: Path) -> LoadedBenchmark:
    """A benchmark with two metrics written by hand and one generated, run to its end."""
    folder = project.write(
        tmp_path / "advice", config=project.CONFIG.replace("{scenarios", "{num_metrics: 3, scenarios")
    )
    run(project.load(folder))
    return project.load(folder)


def run(loaded: LoadedBenchmark) -> None:
    asyncio.run(run_bench(loaded, ["all"], llm=project.models()))


def swap(loaded: LoadedBenchmark, swap: Swap = OTHER, llm: FakeLLM | None = None, **more: Any) -> Validation:
    return asyncio.run(validate(loaded, swap, llm=llm or project.models(), **more))


def compared(done: Validation) -> ModelComparison:
    assert done.comparison is not None
    return done.comparison


def ids(folder: Path, name: str) -> list[str]:
    return [row["id"] for row in json.loads((folder / name).read_bytes())]


def test_another_evaluator_reads_the_same_transcripts_in_a_folder_beside(finished: LoadedBenchmark) -> None:
    llm = project.models()
    done = swap(finished, llm=llm)
    assert done.folder.path == finished.folder.path.parent / "advice-evaluator-other-evaluator"
    assert {request.context.role for request in llm.requests} == {Role.EVALUATOR}
    assert {request.model.model for request in llm.requests} == {"other/evaluator"}
    for name in ("benchmark.yaml", "scenarios.json", "runs/good/conversations.json"):
        assert (done.folder.path / name).read_bytes() == (finished.folder.path / name).read_bytes()
    assert (done.folder.path / "config.yaml").read_text() == (
        "# Copied from advice; a validation put other/evaluator in the place of evaluator_model.\n"
        + finished.folder.config.read_text()
    )
    assert (done.folder.path / "results.json").exists()


def test_a_model_of_the_same_provider_may_be_named_without_it(tmp_path: Path) -> None:
    with_source = project.CONFIG.replace("model: openai/evaluator,", "model: evaluator, source: openai,")
    loaded = project.load(project.write(tmp_path / "advice", config=with_source))
    run(loaded)
    done = swap(loaded, Swap("evaluator", "second"), project.models(second=ALWAYS))
    assert done.folder.path.name == "advice-evaluator-openai-second"
    assert (compared(done).first, compared(done).second) == ("openai/evaluator", "openai/second")


@pytest.mark.parametrize("role", ["generator", "user-model", "evaluator"])
def test_nothing_is_missing_in_the_second_folder(finished: LoadedBenchmark, role: SwappedRole) -> None:
    """Read on its own, as `status` and `all` do, it has the other model."""
    name = {"generator": "generator", "user-model": "user", "evaluator": "evaluator"}[role]
    there = project.load(swap(finished, Swap(role, f"other/{name}")).folder.path)
    assert missing(there) == 0


def test_a_model_named_without_its_provider_is_the_same_in_the_second_folder(tmp_path: Path) -> None:
    with_source = project.CONFIG.replace("model: openai/evaluator,", "model: evaluator, source: openai,")
    loaded = project.load(project.write(tmp_path / "advice", config=with_source))
    run(loaded)
    there = project.load(swap(loaded, Swap("evaluator", "second"), project.models(second=ALWAYS)).folder.path)
    assert there.config.evaluator_model.model == "openai/second"
    assert missing(there) == 0


def test_a_model_that_is_asked_for_comes_above_the_one_of_the_validation(finished: LoadedBenchmark) -> None:
    there = project.load(swap(finished).folder.path, evaluator_model__model="third/evaluator")
    assert there.config.evaluator_model.model == "third/evaluator"


@pytest.mark.parametrize("text", ["", "[]", '{"role": "evaluator"}', '{"role": [], "second": "a/b"}'])
def test_a_file_of_that_name_that_tells_of_no_swap(finished: LoadedBenchmark, text: str) -> None:
    (finished.folder.path / FILE).write_text(text)
    assert project.load(finished.folder.path).config == finished.config


def missing(loaded: LoadedBenchmark) -> int:
    """How many rows a run would make."""

    async def count() -> int:
        async with survey(loaded) as shares:
            return sum(len(share.missing) for found in shares.values() for share in found.values())

    return asyncio.run(count())


def test_evaluators_that_see_the_same_agree(finished: LoadedBenchmark) -> None:
    found = compared(swap(finished))
    assert (found.first, found.second) == ("openai/evaluator", "other/evaluator")
    assert (found.scenarios, found.cells, found.flips) == (6, 12, ())
    assert found.agreement is not None
    assert (found.agreement.same, found.agreement.kappa) == (1.0, 1.0)
    assert found.tracks["overall"].spearman.reason == (
        "only two targets have verdicts on both sides; a correlation of ranks needs three"
    )


def test_an_evaluator_that_always_sees_the_behaviour_flips_what_was_absent(
    finished: LoadedBenchmark,
) -> None:
    llm = project.models(evaluator=ALWAYS)
    found = compared(swap(finished, llm=llm))
    assert {(flip.target, flip.metric_id, flip.before) for flip in found.flips} == {
        ("good", "m01", True),
        ("bad", "m02", False),
        ("bad", "m03", False),
        ("good", "m03", False),
    }
    ranks = [(one.target, one.place_before, one.place_after) for one in found.tracks["negative"].targets]
    assert ranks == [("bad", 2, 1), ("good", 1, 1)]


def test_the_comparison_is_written_into_the_second_folder(finished: LoadedBenchmark) -> None:
    done = swap(finished)
    written = json.loads((done.folder.path / "validation.json").read_bytes())
    assert written == json.loads(json.dumps(compared(done).to_json()))
    assert written["role"] == "evaluator"


def test_the_second_folder_is_marked_before_its_run_ends(finished: LoadedBenchmark) -> None:
    with pytest.raises(KeyboardInterrupt):
        swap(finished, engine=Stopped(1, project.models()))
    folder = finished.folder.path.parent / "advice-evaluator-other-evaluator"
    written = json.loads((folder / "validation.json").read_bytes())
    assert (written["second"], written["cells"]) == ("other/evaluator", 0)
    assert written["notes"] == ["the second run has not come to its end yet"]


def test_a_second_call_makes_nothing_anew(finished: LoadedBenchmark) -> None:
    first = swap(finished)
    llm = project.models()
    second = swap(finished, llm=llm)
    assert llm.requests == []
    assert second.comparison == first.comparison


def test_another_user_acts_out_the_same_scenarios(finished: LoadedBenchmark) -> None:
    llm = project.models()
    done = swap(finished, Swap("user-model", "other/user"), llm)
    roles = {request.context.role: request.model.model for request in llm.requests}
    assert roles[Role.SYNTHETIC_USER] == "other/user"
    assert roles[Role.EVALUATOR] == "openai/evaluator"
    assert Role.GENERATOR not in roles
    assert compared(done).cells == 12
    assert compared(done).agreement is None


def with_another_metric(request: LLMRequest) -> str:
    """What the project's models say, but the generator has another metric to offer."""
    said = project.answer(request.model.model or "", "\n".join(one.content for one in request.messages))
    return said.replace("Slow down", "Sleep on it") if request.context.role is Role.GENERATOR else said


def test_another_generator_makes_scenarios_and_generated_metrics_anew(finished: LoadedBenchmark) -> None:
    assert finished.benchmark.metrics[2].name == "Slow down"
    done = swap(finished, Swap("generator", "other/generator"), FakeLLM(with_another_metric))
    text = (done.folder.path / "benchmark.yaml").read_text()
    assert "Sleep on it" in text
    assert "Empty praise" in text
    assert "Slow down" not in text
    found = compared(done)
    assert (found.scenarios, found.cells) == (12, 0)
    assert found.tracks["overall"].targets[0].before.scored == 6


def test_metrics_that_are_not_known_to_be_generated_stay(tmp_path: Path) -> None:
    folder = project.write(tmp_path / "advice")
    run(project.load(folder))
    done = swap(project.load(folder), Swap("generator", "other/generator"))
    assert (done.folder.path / "benchmark.yaml").read_text() == project.BENCHMARK
    assert compared(done).notes == (
        "no metric is known to be generated, so all were kept, and only scenarios are new",
    )


def test_a_sample_restricts_both_sides_and_a_larger_one_contains_it(finished: LoadedBenchmark) -> None:
    small = swap(finished, sample=3)
    chosen = ids(small.folder.path, "scenarios.json")
    assert len({name.partition("_")[0] for name in chosen}) == 3
    assert ids(small.folder.path, "runs/good/conversations.json") == chosen
    assert (compared(small).scenarios, compared(small).cells) == (3, 6)
    llm = project.models()
    larger = swap(finished, sample=5, llm=llm)
    assert set(chosen) < set(ids(larger.folder.path, "scenarios.json"))
    assert len(llm.requests) == 4
    assert compared(larger).cells == 10


def test_a_sample_of_another_generators_scenarios_is_all_that_is_run(finished: LoadedBenchmark) -> None:
    done = swap(finished, Swap("generator", "other/generator"), sample=3)
    assert len(ids(done.folder.path, "scenarios.json")) == 6
    assert len(ids(done.folder.path, "runs/good/conversations.json")) == 3
    assert compared(done).scenarios == 6


def test_the_same_seed_chooses_the_same_sample(finished: LoadedBenchmark) -> None:
    def chosen(seed: int) -> tuple[str, ...]:
        return tuple(ids(swap(finished, sample=2, seed=seed).folder.path, "scenarios.json"))

    assert chosen(0) == chosen(0)
    assert len({chosen(seed) for seed in range(6)}) > 1


def test_conversations_that_changed_since_are_taken_over_anew(finished: LoadedBenchmark) -> None:
    swap(finished)
    rows = json.loads(finished.folder.conversations("good").read_bytes())
    rows[0]["transcript"][1]["content"] = project.PRAISE
    finished.folder.conversations("good").write_text(json.dumps(rows))
    llm = project.models()
    swap(finished, llm=llm)
    assert len(llm.requests) == 1


def test_rows_that_failed_are_in_the_report_and_left_out(finished: LoadedBenchmark) -> None:
    with pytest.raises(KeyboardInterrupt):
        swap(finished, engine=Stopped(1, project.models()))
    done = swap(finished, llm=project.models(evaluator=ResultsError("no answer")))
    assert len(done.report.stages[0].failed) == 11
    assert (compared(done).cells, compared(done).left_out) == (1, 11)


def test_a_dry_run_compares_nothing(finished: LoadedBenchmark) -> None:
    swap(finished, sample=3)
    llm = project.models()
    done = swap(finished, llm=llm, options=Options(dry_run=True))
    assert done.comparison is None
    assert done.report.forecasts[0].rows == 6
    assert llm.requests == []


@pytest.mark.parametrize("role", ["generator", "user-model", "evaluator"])
def test_a_dry_run_writes_nothing(finished: LoadedBenchmark, role: SwappedRole) -> None:
    def there() -> dict[str, float]:
        return {str(path): path.stat().st_mtime_ns for path in finished.folder.path.parent.rglob("*")}

    before = there()
    done = swap(finished, Swap(role, "other/one"), sample=2, options=Options(dry_run=True))
    assert there() == before
    assert done.folder.path == finished.folder.path.parent / f"advice-{role}-other-one"
    assert done.report.forecasts[-1].rows > 0


def test_a_dry_run_leaves_a_second_folder_as_it_is(finished: LoadedBenchmark) -> None:
    folder = swap(finished, sample=2).folder.path
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = swap(finished, sample=3, options=Options(dry_run=True))
    assert done.report.forecasts[0].rows == 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_the_same_model_again_is_told(finished: LoadedBenchmark) -> None:
    found = compared(swap(finished, Swap("evaluator", "openai/evaluator")))
    assert found.notes == (
        "openai/evaluator was the model before, too: what differs is what it does differently each time",
    )


def test_targets_that_the_settings_no_longer_have_are_told(finished: LoadedBenchmark) -> None:
    (finished.folder.path / "runs" / "gone").mkdir()
    assert compared(swap(finished)).notes == ("left out, for the settings don't have them: gone",)


def test_a_benchmark_without_scores_cannot_be_compared(tmp_path: Path) -> None:
    loaded = project.load(project.write(tmp_path / "advice"))
    with pytest.raises(ResultsError, match="has no scores to compare with: run `convoprobe bench all"):
        swap(loaded)
    assert not (tmp_path / "advice-evaluator-other-evaluator").exists()


def test_a_key_that_is_not_set_is_told_before_there_is_a_second_folder(finished: LoadedBenchmark) -> None:
    folder = finished.folder.path
    config = folder / "config.yaml"
    config.write_text(config.read_text().replace("apikey: none", "apikey: '${UNSET}'"))
    with pytest.raises(SettingsError, match="UNSET is not set"):
        asyncio.run(validate(project.load(folder), Swap("user-model", "openai/another")))
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == [folder.name]


def test_a_second_folder_in_which_nothing_was_made_goes_again(finished: LoadedBenchmark) -> None:
    done = swap(finished, llm=project.models(evaluator=LLMRejected("no API key")))
    assert done.comparison is None
    assert len(done.report.stages[0].failed) == 12
    assert not done.folder.path.exists()


def test_what_was_paid_for_stays(finished: LoadedBenchmark) -> None:
    paid = project.models(good=LLMRejected("gone"), bad=LLMRejected("gone"))
    done = swap(finished, Swap("user-model", "other/user"), llm=paid)
    assert sum(one.usage.total for one in done.report.stages[0].spending.values()) > 0
    assert done.folder.path.exists()


def test_what_was_recorded_stays_though_no_row_was_finished(tmp_path: Path) -> None:
    with ChatServer(project.answer_body) as server:
        loaded = project.load(project.write(tmp_path / "advice", server.base_url), run__replay="auto")
        asyncio.run(run_bench(loaded, ["all"]))
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(stopped(loaded, Swap("evaluator", "openai/other")))
    (second,) = tmp_path.glob("advice-*")
    assert list(second.glob("_recordings/evaluate-*/*.json"))
    assert not list(second.glob(".rows/evaluate/*.jsonl"))


def test_a_second_folder_in_which_another_run_is_at_work_stays(finished: LoadedBenchmark) -> None:
    for error, left in ((AssertionError("a defect"), 0), (FolderInUse("another run is at work"), 1)):
        with pytest.raises(type(error)):
            swap(finished, engine=Broken(error))
        assert len(list(finished.folder.path.parent.glob("advice-*"))) == left


def test_a_sample_of_nothing_is_refused(finished: LoadedBenchmark) -> None:
    with pytest.raises(SettingsError, match="a sample needs at least one scenario, not 0"):
        swap(finished, sample=0)
