"""The stages of a benchmark in their order, with one budget for all of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ...errors import ResultsError, SettingsError
from ...files import shown_path
from ...formatting import counted
from ...llm.ledger import Spending
from ...llm.port import LLM, PriceOf
from ..analysis.aggregate import write_results
from ..analysis.results import Results
from ..engines.local import engine_or_local
from ..engines.worker import models_of
from ..format.project import LoadedBenchmark, require_models
from ..rows.ages import ConversationAges, span_of
from ..rows.cost import write_cost
from ..rows.folder_lock import looked_at, only_run
from ..rows.row_types import CONVERSATIONS
from ..rows.work import Engine, Stage, Task
from ..stages import registry
from ..stages.options import Options
from ..stages.step import Step, StepContext
from ..stages.tables import Tables
from .driver import Silent, StageListener, StageReport, TargetPlan, plan, run_stage
from .dry_run import Coming, coming_of, expect
from .forecast import Forecast, forecast
from .stale import expect_again, older_conversations, result_notes
from .versions import ask_versions, last_versions


@dataclass(frozen=True)
class PipelineReport:
    """What the stages of a run did, in their order; `results` is what aggregate made of it.

    After a dry run there are forecasts instead, and nothing was made or written. `conversations` says by
    target how old those are that count, `unused` how many stored ones don't, and from when.
    """

    stages: tuple[StageReport, ...] = ()
    forecasts: tuple[Forecast, ...] = ()
    results: Results | None = None
    conversations: Mapping[str, ConversationAges] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)

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
    names, wanted = registry.choose(stages), options or Options()
    if llm is None and not wanted.dry_run:
        await _require_models(loaded, names, wanted, patience)
    makes_rows = bool(registry.steps_of(names))
    async with (
        engine_or_local(engine, loaded.config.run, llm) as used,
        only_run(loaded.folder, patience, dry=wanted.dry_run, makes_rows=makes_rows) as scratch,
    ):
        with contextlib.closing(_Pipeline(loaded, wanted, progress or Silent(), scratch)) as pipeline:
            return await (pipeline.forecast(names) if wanted.dry_run else pipeline.run(names, used))


async def _require_models(
    loaded: LoadedBenchmark, names: Sequence[str], options: Options, patience: float
) -> None:
    """Raises `SettingsError` if there is something to be called, and it cannot be. Nothing is written."""
    try:
        require_models(loaded.config, registry.models_of_stages(names))
    except SettingsError:
        if not loaded.config.targets:
            raise
        async with only_run(loaded.folder, patience, dry=True) as scratch:
            with contextlib.closing(_Pipeline(loaded, options, Silent(), scratch)) as pipeline:
                busy = pipeline.busy(names)
        require_models(loaded.config, registry.models_of_stages(busy))


@asynccontextmanager
async def survey(
    loaded: LoadedBenchmark, options: Options | None = None
) -> AsyncIterator[dict[str, dict[str, TargetPlan]]]:
    """What there is and what is missing, by step and target; nothing is made, called or written.

    While a run is at work, it is what there was at one moment of it.
    """
    with contextlib.ExitStack() as stack:
        looking = _Pipeline(loaded, options or Options(), Silent(), stack.enter_context(looked_at()))
        stack.callback(looking.close)
        yield looking.plans()


class _Pipeline:
    """One run of stages; what gen-metrics adds to the benchmark is there for the stages after it."""

    def __init__(
        self, loaded: LoadedBenchmark, options: Options, progress: StageListener, scratch: Path | None = None
    ) -> None:
        self._loaded = loaded
        self._options = options
        self._progress = progress
        self._since = options.since or time.time()
        self._tables = Tables(loaded.folder, scratch, replace(options, since=self._since))
        self._versions = last_versions(loaded)
        self._reports: list[StageReport] = []

    @property
    def _context(self) -> StepContext:
        return StepContext(self._loaded, self._options, self._tables, self._versions)

    async def run(self, names: Sequence[str], engine: Engine) -> PipelineReport:
        self._check(names)
        talks = any(step.kind is CONVERSATIONS for step in registry.steps_of(names))
        if talks:
            self._versions = await ask_versions(self._loaded)
        unused = self._unused() if talks else {}
        try:
            whole = await self._make_all(names, engine)
            self._require_something(names)
        finally:
            # Also after Ctrl-C: what was spent is spent.
            self._write_cost(making=bool(registry.steps_of(names)))
        ages = self._ages() if registry.steps_of(names) else {}
        results = self._results(names) if whole else None
        return PipelineReport(tuple(self._reports), results=results, conversations=ages, unused=unused)

    async def _make_all(self, names: Sequence[str], engine: Engine) -> bool:
        """Whether no step had to be given up for what an earlier step of this run could not make."""
        for step in registry.steps_of(names):
            try:
                step.require(self._context, names)
            except SettingsError:
                # The earlier step's report has the reason. "Run that step first" would hide it.
                if any(report.failed or report.left for report in self._reports):
                    return False
                raise
            await self._make(step, engine)
        return True

    def _ages(self) -> dict[str, ConversationAges]:
        found = {}
        for target in self._context.targets:
            with contextlib.suppress(ResultsError):  # the step itself reports it
                table = self._tables("simulate", target)
                found[target] = ConversationAges.of(table.heads(), self._since)
                # What nobody asked for was not made again, but is not of another version for that.
                table.count_since(0.0)
        return found

    def _unused(self) -> dict[str, str]:
        """By target, the stored conversations that this run doesn't use, in words."""
        found = {}
        for target in self._options.talk_again.intersection(self._context.targets):
            heads = self._tables("simulate", target).heads()
            chosen = [head for place, head in heads.items() if self._options.choose(place)]
            if days := [head.day for head in chosen if head.at < self._since]:
                when = span_of(days)
                found[target] = counted(len(days), "stored conversation") + (f" from {when}" if when else "")
        return found

    def close(self) -> None:
        """Let go of all files."""
        self._tables.close()

    def busy(self, names: Sequence[str]) -> Sequence[str]:
        """The first stage that has something to make, and those after it, which get something from it."""
        for number, name in enumerate(names):
            if any(one.missing for step in registry.steps_of([name]) for one in self._plan(step).values()):
                return names[number:]
        return ()

    def plans(self) -> dict[str, dict[str, TargetPlan]]:
        """What is done and missing now, by step and target."""
        found = {step.name: self._plan(step) for step in registry.steps_of(registry.stage_names())}
        expect_again(found["evaluate"], older_conversations(found["simulate"]))
        return found

    async def forecast(self, names: Sequence[str]) -> PipelineReport:
        """Rows that earlier stages are to make are not there to be counted: they are estimated."""
        self._check(names)
        # Prices come from LiteLLM's list; nothing is called.
        prices = models_of(Task.of(self._loaded, ""))
        forecasts: list[Forecast] = []
        coming = Coming()
        try:
            for step in registry.steps_of(names):
                stage = step.plan(self._context)
                plans = plan(stage, partial(self._tables, step.name), self._options)
                expect(plans, coming, self._options)
                found = await self._forecast(step, stage, plans, coming, prices.price_of)
                forecasts.append(found)
                if step.feeds_next:
                    announced = step.announced(stage)
                    coming = coming_of(found, plans) if announced is None else Coming(announced)
        finally:
            await prices.aclose()
        return PipelineReport(forecasts=tuple(forecasts))

    async def _forecast(
        self, step: Step, stage: Stage, plans: Mapping[str, TargetPlan], coming: Coming, price_of: PriceOf
    ) -> Forecast:
        later = coming.new * step.rows_for_each(self._context)
        limit, config = self._options.limit, self._loaded.config
        found = await forecast(step, stage, plans, config, price_of, limit=limit, later=later)
        return replace(found, remarks=step.remarks(self._context, coming.remade) if found.rows else ())

    def _plan(self, step: Step) -> dict[str, TargetPlan]:
        return plan(step.plan(self._context), partial(self._tables, step.name), self._options)

    def _check(self, names: Sequence[str]) -> None:
        for step in registry.steps_of(names):
            step.check(self._context)

    async def _make(self, step: Step, engine: Engine) -> None:
        """Once the budget is used up, the steps that follow only say what is missing."""
        self._take_over_what_is_made_of(step)
        spent = any(report.budget for report in self._reports)
        # Not skipped: its plan says how many rows are left, and its file is still written.
        options = replace(self._options, limit=0) if spent else self._options
        stage, table_of = step.plan(self._context), partial(self._tables, step.name)
        report = await run_stage(
            stage, Task.of(self._loaded, step.name), engine, table_of, options, self._progress
        )
        if step.per_target:
            # A target without units any more: its old rows belong to scenarios that no longer exist.
            for target in self._context.targets:
                if target not in report.targets:
                    table_of(target).export(())
        tried = report.made + report.left + len(report.failed)
        remarks = step.remarks(self._context, ()) if tried or self._options.force else ()
        self._reports.append(replace(report, notes=self._finish(step, stage), remarks=remarks))

    def _take_over_what_is_made_of(self, step: Step) -> None:
        """Rows of others are valid for the sources that they were found with: those that are there now."""
        for later in registry.steps_of(registry.stage_names()):
            for target in self._context.targets if later.source == step.name else ():
                with contextlib.suppress(ResultsError):  # the step itself reports it
                    self._tables(later.name, target)

    def _finish(self, step: Step, stage: Stage) -> tuple[str, ...]:
        rows = (
            table.row(unit.place)
            for unit in stage.units()
            if (table := self._tables(step.name, unit.place.target)).done(unit)
        )
        self._loaded, notes = step.finished(self._loaded, rows)
        return notes

    def _results(self, names: Sequence[str]) -> Results | None:
        if not any(registry.entry(name).writes_results for name in names):
            return None
        return write_results(self._loaded, result_notes(self._context, self._tables, names))

    def _require_something(self, names: Sequence[str]) -> None:
        """Raises an error where nothing was asked for but results, and there is nothing to add up."""
        folder = self._loaded.folder
        if registry.steps_of(names) or self._has_scenarios() or folder.targets_with_runs():
            return
        command = f"convoprobe bench all {shown_path(folder.path)}"
        raise ResultsError(f"there are no scenarios yet, and nothing to add up: run `{command}` first")

    def _has_scenarios(self) -> bool:
        """Whether there are some, or a file that cannot be read: aggregate reports that."""
        try:
            return bool(self._tables("gen-scenarios").heads())
        except ResultsError:
            return True

    def _write_cost(self, *, making: bool) -> None:
        """Where scores were only added up (not `making`), an unwritable folder is ignored."""
        with contextlib.suppress(*(() if making else (ResultsError,))):
            write_cost(self._loaded.folder, registry.cost_sections())
