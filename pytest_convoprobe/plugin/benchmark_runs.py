"""The runs of a benchmark within a pytest session: the rows that items need are made once, together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import pytest

from ..benchmark.analysis.results import Results, TargetResults
from ..benchmark.engines.local import LocalEngine
from ..benchmark.format.models import Gate, Metric
from ..benchmark.format.project import LoadedBenchmark, require_complete, require_models, restrict
from ..benchmark.pipeline.driver import Counts, Silent
from ..benchmark.pipeline.pipeline import PipelineReport, run_bench
from ..benchmark.rows.work import RowResult
from ..benchmark.stages import registry
from ..benchmark.stages.options import Options
from ..benchmark.studies.all_gates import judge
from ..benchmark.studies.gating import GateVerdict, MissingRows, is_for
from ..benchmark.studies.limit_checks import GateState
from ..errors import ConvoprobeError, SettingsError
from ..files import shown_path
from ..llm.budget import Budget
from ..llm.member import Member
from ..llm.port import LLM, LLMReply, LLMRequest
from ..runs.progress import ProgressLine
from ..text import harmless, shorten
from . import options
from .error_text import error_text
from .orders import has_mark
from .session import began, session_of
from .shared_limits import join
from .terminal import PytestTerminal

STAGES = registry.stages_after("gen-scenarios")
"""Scenarios are reviewed and committed: a gate makes none."""
_BRIEF = 80


class Question(Protocol):
    """An item that asks for a verdict: on one metric of one target, or without a metric on all its gaps."""

    target_id: str
    metric: Metric | None
    verdict: GateVerdict | None

    @property
    def nodeid(self) -> str: ...

    @property
    def session(self) -> pytest.Session: ...


def complaint_of(check: Callable[..., None], *args: Any) -> str:
    """The words of the error that a check raises; none if it raises none."""
    try:
        check(*args)
    except ConvoprobeError as error:
        return error_text(error)
    return ""


@dataclass(frozen=True)
class Ran:
    """What a run came to: the results and the reports by target, or why it could not be."""

    results: Results | None = None
    reports: Mapping[str, PipelineReport] = field(default_factory=dict)
    error: str = ""


class Gates:
    """The gates of one benchmark. The first item that is run makes the rows that all selected ones need."""

    def __init__(self, config: pytest.Config, loaded: LoadedBenchmark) -> None:
        self._config = config
        self._loaded = loaded
        self._ran: dict[str, Ran] = {}
        self._explained: dict[str, str] = {}
        self.gate = loaded.benchmark.gate or Gate()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self._loaded.benchmark.metrics

    def verdict(self, item: Question) -> GateVerdict:
        """The verdict of an item's gate, after everything that it needs was made."""
        if reason := self._not_ready(item):
            return self._without_results(item, reason)
        # Once for each item: one that is run again tries again what failed.
        ran = self._ran.pop(item.nodeid, None) or self._run_for(item)
        target = ran.results.target(item.target_id) if ran.results else None
        if ran.results is None or target is None:
            return self._without_results(item, ran.error or "the run has no results of this target")
        metric_id = item.metric.id if item.metric else None
        trouble = MissingRows.of(ran.reports[item.target_id], item.target_id, metric_id)
        verdict = judge(self._loaded, item.metric, target, ran.results, trouble)
        verdict = _with_ages(verdict, ran.reports[item.target_id], item.target_id, metric_id)
        verdict = _with_file(verdict, ran.results)
        return verdict if verdict.state is GateState.GREEN else _with_notes(verdict, ran.results, target)

    def _without_results(self, item: Question, reason: str) -> GateVerdict:
        """The whole reason once, at the first item that has it; the others point there."""
        first = self._explained.setdefault(reason, item.nodeid)
        if first != item.nodeid:
            reason = f"{shorten(reason.splitlines()[0].partition(': `')[0], _BRIEF)} (see {first})"
        return GateVerdict(GateState.UNKNOWN, reason, results=False)

    def _not_ready(self, item: Question) -> str:
        folder, benchmark = self._loaded.folder, self._loaded.benchmark
        if item.metric is not None:
            benchmark = benchmark.model_copy(update={"metrics": (item.metric,)})
        if complaint := complaint_of(require_complete, benchmark, folder.path):
            return complaint
        if not folder.scenarios.exists() and not self._scored_elsewhere(item.target_id):
            command = f"convoprobe bench gen-scenarios {shown_path(folder.path)}"
            return f"there are no scenarios yet: `{command}` makes them"
        return ""

    def _scored_elsewhere(self, target_id: str) -> bool:
        """Whether there is nothing but scores to go by: not for a target that must talk again."""
        folder = self._loaded.folder
        alone = folder.scores(target_id).exists() and not folder.conversations(target_id).exists()
        return alone and target_id not in self._talk_again()

    def _run_for(self, item: Question) -> Ran:
        together = [other for other in self._selected(item) if not self._not_ready(other)]
        needs = _needs(together, self.metrics)
        ran = _GateRun(self._config, self._loaded, needs, self._talk_again(), self._limits).run()
        self._ran.update(
            {other.nodeid: ran for other in together if other is not item and other.verdict is None}
        )
        return ran

    @cached_property
    def _limits(self) -> _Limits:
        """Those of the whole session if the command line sets the budget; else the benchmark's own."""
        if {"run.max_cost", "run.max_tokens"} & options.overrides(self._config).keys():
            session = session_of(self._config)
            return _Limits(session.runner.budget, session.shared_limits)
        run, folder = self._loaded.config.run, self._loaded.folder.path
        shared = join(self._config, os.path.relpath(folder, self._config.rootpath), run)
        return _Limits(None if shared is None else shared.budget, shared)

    def _talk_again(self) -> frozenset[str]:
        """The targets whose conversations of earlier sessions don't count.

        A gate answers for the agent as it is now. What it reads while it runs is in no key of a row.
        """
        rule = options.value_of(self._config, "stored_rows") or self.gate.stored_rows
        entries = self._loaded.config.targets if rule != "allow" else ()
        return frozenset(entry.id for entry in entries if rule == "refuse" or not entry.settings.identified())

    def _selected(self, item: Question) -> list[Question]:
        """The items that are certain to be run in this process. A worker of xdist is given only some."""
        if item.verdict is not None or hasattr(self._config, "workerinput"):
            return [item]
        others: Any = (other for other in item.session.items if getattr(other, "gates", None) is self)
        return [
            item,
            *(other for other in others if other is not item and not has_mark(other, "skip", "skipif")),
        ]


def _with_notes(verdict: GateVerdict, results: Results, target: TargetResults) -> GateVerdict:
    """With what a reader of the figures has to know: rows that could not be read, and the like."""
    others = tuple(f"{other.id}: " for other in results.targets if other is not target)
    notes = [f"note: {harmless(note)}" for note in results.notes if not note.startswith(others)]
    return replace(verdict, lines=(*verdict.lines, *notes))


def _with_ages(
    verdict: GateVerdict, report: PipelineReport, target_id: str, metric_id: str | None
) -> GateVerdict:
    """With how many conversations are of earlier sessions and from when, or why they don't count."""
    lines = list(verdict.lines)
    found = report.conversations.get(target_id)
    words = found.words(lambda place: is_for(place, metric_id)) if found else ""
    lines += [words] if words else []
    if verdict.state is GateState.UNKNOWN and (unused := report.unused.get(target_id)):
        lines.append(
            f"{unused} did not count: the agent may have changed since then in what no file shows; "
            "`gate: {stored_rows: allow}` in benchmark.yaml uses them"
        )
    return replace(verdict, lines=tuple(lines), ages=words)


def _with_file(verdict: GateVerdict, results: Results) -> GateVerdict:
    """With a line that says so if the file of the results, which decides nothing, could not be written."""
    lines = [f"note: {harmless(results.unwritten)}"] if results.unwritten else []
    return replace(verdict, lines=(*verdict.lines, *lines))


@dataclass(frozen=True)
class _Limits:
    """What the runs of a benchmark in this process keep to, together with those in other processes.

    Without a budget each run has its own.
    """

    budget: Budget | None
    shared: Member | None


Needs = Mapping[tuple[str, ...], Sequence[str]]
"""Targets' ids by the ids of the metrics that are to be scored for them; no metrics means all."""


def _needs(items: Iterable[Question], metrics: Sequence[Metric]) -> Needs:
    everything = {metric.id for metric in metrics}
    wanted: dict[str, set[str]] = {}
    for item in items:
        wanted.setdefault(item.target_id, set()).update({item.metric.id} if item.metric else everything)
    found: dict[tuple[str, ...], list[str]] = {}
    for target_id, ids in wanted.items():
        found.setdefault(() if ids == everything else tuple(sorted(ids)), []).append(target_id)
    return found


class _GateRun:
    """One run of the pipeline, waited for on pytest's thread."""

    def __init__(
        self,
        config: pytest.Config,
        loaded: LoadedBenchmark,
        needs: Needs,
        talk_again: frozenset[str],
        limits: _Limits,
    ) -> None:
        self._config = config
        self._loaded = loaded
        self._needs = needs
        self._talk_again = talk_again
        self._limits = limits
        self._progress = _GateProgress(loaded.folder.path.name)
        self._instead = _in_place_of_models(loaded)

    def run(self) -> Ran:
        """Make what is missing. What keeps the run from beginning is in the result."""
        try:
            return self._wait(self._run_all())
        except ConvoprobeError as error:
            return Ran(error=error_text(error))

    def _wait(self, work: Coroutine[Any, Any, Ran]) -> Ran:
        with ProgressLine(PytestTerminal(self._config), self._progress.words) as progress:
            return session_of(self._config).wait_on(work, progress.tick)

    async def _run_all(self) -> Ran:
        reports: dict[str, PipelineReport] = {}
        results: Results | None = None
        engine, shared = self._engine(), self._limits.shared
        try:
            if shared is not None:
                shared.start()
            for metric_ids, target_ids in self._needs.items():
                report = await self._make(metric_ids, target_ids, engine)
                results = report.results
                reports |= dict.fromkeys(target_ids, report)
        finally:
            await engine.aclose()
            if shared is not None:
                await shared.aclose()
        return Ran(results, reports)

    def _engine(self) -> LocalEngine:
        run, (budget, shared) = self._loaded.config.run, (self._limits.budget, self._limits.shared)
        return LocalEngine(
            llm=self._instead,
            budget=budget or Budget(run.max_cost, run.max_tokens),
            slots_of=None if shared is None else shared.slots_of,
        )

    async def _make(
        self, metric_ids: Sequence[str], target_ids: Sequence[str], engine: LocalEngine
    ) -> PipelineReport:
        config = restrict(self._loaded.config, ",".join(target_ids))
        return await run_bench(
            replace(self._loaded, config=config),
            # Without scenarios there are only scores that somebody published, and they count as they are.
            STAGES if self._loaded.folder.scenarios.exists() else ("aggregate",),
            engine=engine,
            # Rows of this session count, those of other workers and of an item's first attempt too.
            options=Options(
                only=",".join(metric_ids), since=began(self._config), talk_again=self._talk_again
            ),
            progress=self._progress,
            llm=self._instead,
            patience=math.inf,  # another worker of xdist, or another run: it makes what is needed here
        )


class _NoModels:
    """In place of models that the settings don't name: what is there needs none, what is missing fails."""

    def __init__(self, error: SettingsError) -> None:
        self._error = error

    async def complete(self, request: LLMRequest) -> LLMReply:
        raise self._error

    async def aclose(self) -> None:
        """Nothing is open."""


def _in_place_of_models(loaded: LoadedBenchmark) -> LLM | None:
    try:
        require_models(loaded.config, registry.models_of_stages(STAGES))
    except SettingsError as error:
        return _NoModels(error)
    return None


class _GateProgress(Silent):
    """Keeps count for the line that says how far the run is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stage = "waiting for its turn"
        self._count = self._total = 0

    def started(self, stage: str, counts: Mapping[str, Counts]) -> None:
        self._stage, self._count = stage, 0
        self._total = sum(one.missing for one in counts.values())

    def advanced(self, stage: str, target: str, outcome: RowResult) -> None:
        self._count += 1

    def words(self) -> str:
        rows = f" {self._count} of {self._total}" if self._total else ""
        return f"{self._name}: {self._stage}{rows}"
