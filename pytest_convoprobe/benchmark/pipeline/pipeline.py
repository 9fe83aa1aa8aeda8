"""The stages of a benchmark in their order, with one budget for all of them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from ...errors import ResultsError, SettingsError
from ...files import shown_path
from ...llm.ledger import Spending
from ...llm.port import LLM
from ..analysis.aggregate import write_results
from ..analysis.results import Results
from ..engines.local import engine_or_local
from ..engines.worker import models_of
from ..format.definition import read_benchmark
from ..format.folder import BenchmarkFolder
from ..format.project import LoadedBenchmark, require_complete, require_models
from ..rows.cost import write_cost
from ..rows.folder_lock import only_run
from ..rows.open_table import open_table
from ..rows.row_types import ScenarioRow
from ..rows.table import Table
from ..rows.work import Engine, Place, Stage, Task
from ..stages.draft_scenarios import DraftScenarios
from ..stages.evaluate import Evaluate
from ..stages.gen_metrics import GenMetrics, shortfalls, write_metrics
from ..stages.gen_scenarios import GenScenarios
from ..stages.simulate import Simulate
from .cross_scores import WithOtherScores
from .driver import (
    Options,
    Silent,
    StageListener,
    StageReport,
    TargetPlan,
    plan,
    run_stage,
)
from .dry_run import Coming, coming_of, expect
from .forecast import Forecast, PriceOf, forecast, rows_for_each
from .own_scenarios import never_reached, require_sound, unknown_demographics
from .stale import (
    expect_anew,
    note_of_answers,
    note_of_conversations,
    note_of_scores,
    older_conversations,
)

STAGES = ("gen-metrics", "gen-scenarios", "simulate", "evaluate", "aggregate")
_STEPS = {
    "gen-metrics": ("gen-metrics",),
    "gen-scenarios": ("draft-scenarios", "gen-scenarios"),
    "simulate": ("simulate",),
    "evaluate": ("evaluate",),
    "aggregate": (),
}
"""The tables that a stage fills, in order."""


@dataclass(frozen=True)
class PipelineReport:
    """What the stages of a run did, in their order; `results` is what aggregate made of it.

    After a dry run there are forecasts instead, and nothing was made or written.
    """

    stages: tuple[StageReport, ...] = ()
    forecasts: tuple[Forecast, ...] = ()
    results: Results | None = None

    @property
    def complete(self) -> bool:
        """Whether every row that was asked for is there."""
        return not any(stage.failed or stage.left for stage in self.stages)

    @property
    def in_vain(self) -> Spending | None:
        """What a run has spent that the budget ended before one row was finished: the next ends the same."""
        if any(stage.made for stage in self.stages) or not any(stage.budget for stage in self.stages):
            return None
        spent = sum((one for stage in self.stages for one in stage.spending.values()), Spending())
        return spent if spent.calls else None


def stage_names(names: Sequence[str]) -> tuple[str, ...]:
    """The stages in their order; `all` is all of them, and `gen_metrics` is `gen-metrics`.

    Raises `SettingsError` for a stage that there isn't.
    """
    wanted = {name.replace("_", "-") for name in names}
    if unknown := sorted(wanted - {*STAGES, "all"}):
        close = get_close_matches(unknown[0], (*STAGES, "all"), n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        raise SettingsError.of(
            f"there is no stage {unknown[0]}: choose from {', '.join(STAGES)}, or all.{hint}"
        )
    return STAGES if "all" in wanted else tuple(name for name in STAGES if name in wanted)


async def run_bench(
    loaded: LoadedBenchmark,
    stages: Sequence[str],
    *,
    engine: Engine | None = None,
    options: Options | None = None,
    progress: StageListener | None = None,
    llm: LLM | None = None,
    patience: float = 0.0,
) -> PipelineReport:
    """Run stages of a benchmark: make what is missing, and write the files.

    `engine` is the one of this process by default, with `llm` instead of the live models if that is given; an
    engine that is given stays open. Another run in the same folder is waited for `patience` seconds. Raises
    `SettingsError` and `ResultsError` for what cannot begin; rows that fail are in the report.
    """
    names, wanted = stage_names(stages), options or Options()
    if llm is None and not wanted.dry_run:
        await _require_models(loaded, names, wanted, patience)
    async with (
        engine_or_local(engine, loaded.config.run, llm) as used,
        only_run(loaded.folder, patience, dry=wanted.dry_run, makes_rows=names != ("aggregate",)) as scratch,
    ):
        with contextlib.closing(_Pipeline(loaded, wanted, progress or Silent(), scratch)) as pipeline:
            return await (pipeline.forecast(names) if wanted.dry_run else pipeline.run(names, used))


async def _require_models(
    loaded: LoadedBenchmark, names: Sequence[str], options: Options, patience: float
) -> None:
    """Raises `SettingsError` if there is something to be called, and it cannot be. Nothing is written."""
    try:
        require_models(loaded.config, names)
    except SettingsError:
        if not loaded.config.targets:
            raise
        async with only_run(loaded.folder, patience, dry=True) as scratch:
            with contextlib.closing(_Pipeline(loaded, options, Silent(), scratch)) as pipeline:
                busy = pipeline.busy(names)
        require_models(loaded.config, busy)


@asynccontextmanager
async def survey(
    loaded: LoadedBenchmark, options: Options | None = None
) -> AsyncIterator[dict[str, dict[str, TargetPlan]]]:
    """What there is and what is missing, by stage and target; nothing is made, called or written.

    Raises `FolderInUse` while a run is at work.
    """
    async with only_run(loaded.folder, dry=True) as scratch:
        with contextlib.closing(_Pipeline(loaded, options or Options(), Silent(), scratch)) as pipeline:
            yield pipeline.shares()


class _Pipeline:
    """One run of stages; what gen-metrics adds to the benchmark is there for the stages after it."""

    def __init__(
        self, loaded: LoadedBenchmark, options: Options, progress: StageListener, scratch: Path | None = None
    ) -> None:
        self._loaded = loaded
        self._scratch = scratch
        self._options = options
        self._progress = progress
        self._tables: dict[tuple[str, str], Table] = {}
        self._done: list[StageReport] = []

    async def run(self, names: Sequence[str], engine: Engine) -> PipelineReport:
        self._require_sound(names)
        try:
            for name in names:
                self._require(name, names)
                for step in _STEPS[name]:
                    await self._make(step, engine)
        finally:
            self._write_cost(making=names != ("aggregate",))
        results = write_results(self._loaded, self._result_notes(names)) if "aggregate" in names else None
        return PipelineReport(tuple(self._done), results=results)

    def _write_cost(self, *, making: bool) -> None:
        """Adding scores up spends nothing, so that a folder which cannot be written is no hindrance to it."""
        with contextlib.suppress(*(() if making else (ResultsError,))):
            write_cost(self._loaded.folder)

    def _require_sound(self, names: Sequence[str]) -> None:
        """Raises an error where a scenario that somebody wrote cannot be meant as it is."""
        file = self._loaded.folder.scenarios
        if "simulate" in names and file.exists():
            require_sound(self._table("gen-scenarios").others(), shown_path(file))

    def _result_notes(self, names: Sequence[str]) -> list[str]:
        """What to tell of results; aggregate says itself which files cannot be read.

        What is not in our tables tells nothing, and need not be taken over only to add scores up.
        """
        notes: list[str] = []
        with contextlib.suppress(ResultsError):
            if self._began("gen-scenarios"):
                others = self._table("gen-scenarios").others()
                notes += unknown_demographics(others, self._loaded.config.demographics)
        with contextlib.suppress(ResultsError):
            if "simulate" not in names or self._options.only:  # else it leaves none behind
                for target, older in self._older_conversations().items():
                    notes += note_of_conversations(target, older)
        for entry in self._loaded.config.targets:
            with contextlib.suppress(ResultsError):
                if self._began("evaluate", entry.id):
                    notes += note_of_scores(entry.id, self._table("evaluate", entry.id))
        if "evaluate" in names and self._options.only:
            shares = plan(self._evaluate(), partial(self._table, "evaluate"), Options())
            notes += [note for target, share in shares.items() for note in note_of_answers(target, share)]
        return notes

    def _older_conversations(self) -> dict[str, set[Place]]:
        loaded, table_of = self._loaded, partial(self._table, "simulate")
        held = tuple(entry for entry in loaded.config.targets if self._began("simulate", entry.id))
        config = loaded.config.model_copy(update={"targets": held})
        stage = Simulate(loaded.benchmark, config, self._table("gen-scenarios"), table_of)
        return older_conversations(plan(stage, table_of, Options())) if held else {}

    def _began(self, step: str, target: str = "all") -> bool:
        """Whether there are rows of ours."""
        return (self._loaded.folder.rows / step / f"{target}.jsonl").exists()

    async def forecast(self, names: Sequence[str]) -> PipelineReport:
        """Rows that earlier stages are to make are not there to be counted: they are estimated."""
        self._require_sound(names)
        prices = models_of(self._task(""))
        forecasts: list[Forecast] = []
        coming = Coming()
        try:
            for step in (step for name in names for step in _STEPS[name]):
                stage = self._stage(step)
                shares = plan(stage, partial(self._table, step), self._options)
                expect(shares, coming, self._options)
                found = await self._forecast(stage, shares, coming, prices.price_of)
                forecasts.append(found)
                if step == "gen-metrics":
                    coming = Coming(_promised(stage))
                elif step != "draft-scenarios":  # which makes none of the rows that the next has
                    coming = coming_of(found, shares)
        finally:
            await prices.aclose()
        return PipelineReport(forecasts=tuple(forecasts))

    async def _forecast(
        self, stage: Stage, shares: Mapping[str, TargetPlan], coming: Coming, price_of: PriceOf
    ) -> Forecast:
        config, metrics = self._loaded.config, len(self._loaded.benchmark.metrics)
        each = rows_for_each(stage.name, metrics, config, all_metrics=self._options.all_metrics)
        limit, later = self._options.limit, coming.new * each
        found = await forecast(stage, shares, config, price_of, limit=limit, later=later)
        return replace(found, remarks=self._remarks(stage.name, found.rows, coming.anew))

    def busy(self, names: Sequence[str]) -> Sequence[str]:
        """The first stage that has something to make, and those after it, which get something from it."""
        for number, name in enumerate(names):
            if any(share.missing for step in _STEPS[name] for share in self._plan(step).values()):
                return names[number:]
        return ()

    def close(self) -> None:
        """Let go of all files."""
        for table in self._tables.values():
            table.close()

    def shares(self) -> dict[str, dict[str, TargetPlan]]:
        """All stages' parts as they are now."""
        steps = (step for name in STAGES for step in _STEPS[name])
        found = {step: self._plan(step) for step in steps}
        expect_anew(found["evaluate"], older_conversations(found["simulate"]))
        return found

    def _require(self, name: str, names: Sequence[str]) -> None:
        """Raises an error where a stage on its own has nothing to begin with."""
        folder = self._loaded.folder
        if name == "gen-scenarios":
            require_complete(self._loaded.benchmark, folder.path)
        if name == "simulate" and "gen-scenarios" not in names and not self._table("gen-scenarios").heads():
            raise _nothing(folder, "there are no scenarios yet", "gen-scenarios")
        if name == "evaluate" and "simulate" not in names:
            targets = [entry.id for entry in self._loaded.config.targets]
            if not any(self._table("simulate", target).heads() for target in targets):
                raise _nothing(folder, "there are no conversations yet", "simulate")
        if tuple(names) == ("aggregate",) and not self._has_scenarios() and not folder.targets_with_runs():
            command = f"convoprobe bench all {shown_path(folder.path)}"
            raise ResultsError(f"there are no scenarios yet, and nothing to add up: run `{command}` first")

    def _plan(self, step: str) -> dict[str, TargetPlan]:
        return plan(self._stage(step), partial(self._table, step), self._options)

    def _has_scenarios(self) -> bool:
        """Whether there are some, or a file of which nobody can tell: aggregate says so."""
        try:
            return bool(self._table("gen-scenarios").heads())
        except ResultsError:
            return True

    async def _make(self, step: str, engine: Engine) -> None:
        """Once the budget is used up, the stages that follow only say what is missing."""
        if step == "simulate":
            self._take_scores_over()
        spent = any(report.budget for report in self._done)
        options = replace(self._options, limit=0) if spent else self._options
        stage, task, table_of = self._stage(step), self._task(step), partial(self._table, step)
        report = await run_stage(stage, task, engine, table_of, options, self._progress)
        if step in ("simulate", "evaluate"):
            # Where nothing is left to be made a row of, rows of before are of something else.
            for entry in self._loaded.config.targets:
                if entry.id not in report.targets:
                    table_of(entry.id).export(())
        notes = self._notes(stage) if step in ("gen-metrics", "draft-scenarios") else ()
        tried = report.made + report.left + len(report.failed)
        self._done.append(replace(report, notes=notes, remarks=self._remarks(step, tried)))

    def _take_scores_over(self) -> None:
        """Scores of others hold for the conversations that they were found with: the ones there now."""
        for entry in self._loaded.config.targets:
            with contextlib.suppress(ResultsError):  # evaluate tells
                self._table("evaluate", entry.id)

    def _notes(self, stage: Stage) -> tuple[str, ...]:
        """What a generator could not make; metrics are put into the file first."""
        table = self._table(stage.name)
        rows = [table.row(unit.place) for unit in stage.units() if table.done(unit)]
        if stage.name != "gen-metrics" or not rows:
            return shortfalls(rows)
        notes = write_metrics(self._loaded, rows)
        self._loaded = replace(self._loaded, benchmark=read_benchmark(self._loaded.folder.benchmark)[0])
        return notes

    def _remarks(self, step: str, tried: int, anew: Collection[Place] = ()) -> tuple[str, ...]:
        """Of scenarios that conversations are to be held of, but for those that are made anew before."""
        config, table = self._loaded.config, self._table("gen-scenarios")
        if step != "simulate" or not tried or not config.landmarks:
            return ()
        scenarios = (ScenarioRow.from_json(row) for row in table.rows())
        chosen = (
            one for one in scenarios if (place := Place(one.id)) not in anew and self._options.choose(place)
        )
        return never_reached(chosen, config.generation.turns)

    def _stage(self, step: str) -> Stage:
        benchmark, config = self._loaded.benchmark, self._loaded.config
        if step == "gen-metrics":
            return GenMetrics(benchmark, config)
        if step == "evaluate":
            return self._evaluate()
        scenarios = self._table("gen-scenarios")
        if step == "simulate":
            return Simulate(benchmark, config, scenarios, partial(self._table, "simulate"))
        drafts = self._table("draft-scenarios")
        if step == "gen-scenarios":
            return GenScenarios(benchmark, config, drafts, scenarios)
        return DraftScenarios(benchmark, config, drafts, scenarios, anew=self._options.force)

    def _evaluate(self) -> Stage:
        """Scores for other metrics that an earlier run asked for stay, as long as they hold."""
        benchmark, config, scores = (
            self._loaded.benchmark,
            self._loaded.config,
            partial(self._table, "evaluate"),
        )
        conversations = partial(self._table, "simulate")
        if self._options.all_metrics:
            return Evaluate(benchmark, config, conversations, all_metrics=True)
        tables = [scores(entry.id) for entry in config.targets]
        if any(place.metric_id for table in tables for place in table.heads()):
            return WithOtherScores(Evaluate(benchmark, config, conversations, all_metrics=True), scores)
        return Evaluate(benchmark, config, conversations)

    def _task(self, step: str) -> Task:
        loaded = self._loaded
        return Task(step, loaded.benchmark, loaded.config, loaded.folder.path, loaded.root, loaded.secrets)

    def _table(self, step: str, target: str = "") -> Table:
        """Each table is opened once, so that a stage sees what the one before has made."""
        if (step, target) not in self._tables:
            self._tables[step, target] = open_table(
                self._loaded.folder,
                step,
                target,
                conversations=partial(self._table, "simulate", target),
                scratch=self._scratch,
            )
        return self._tables[step, target]


def _nothing(folder: BenchmarkFolder, what: str, stage: str) -> ResultsError:
    return ResultsError(f"{what}: `convoprobe bench {stage} {shown_path(folder.path)}` makes them")


def _promised(stage: Stage) -> int:
    """How many metrics gen-metrics would complete or add."""
    return sum(stage.payload(unit).get("wanted", 1) for unit in stage.units())
