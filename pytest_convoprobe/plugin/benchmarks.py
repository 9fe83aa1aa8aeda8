"""Benchmarks as pytest's items: one for each target and metric, answered together by one run of the pipeline.

Imported only where there is a `benchmark.yaml`.
"""

from __future__ import annotations

import concurrent.futures
import math
import os
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ..benchmark.arrays import read_rows
from ..benchmark.definition import looks_like_benchmark
from ..benchmark.driver import Due, Options, Silent
from ..benchmark.engines.local import LocalEngine
from ..benchmark.gating import GateVerdict, Standing, Trouble, judge_gaps, judge_metric
from ..benchmark.loading import LoadedBenchmark, load_project, require_complete, require_models, restrict
from ..benchmark.models import Gate, Metric
from ..benchmark.pipeline import PipelineReport, run_bench
from ..benchmark.results import Results, TargetResults
from ..benchmark.rows import ScoreRow
from ..benchmark.work import Outcome
from ..errors import ConvoprobeError, SettingsError
from ..files import shown_path
from ..llm.budget import Budget
from ..scenario.discovery import is_benchmark
from . import options
from .items import PROPERTY_PREFIX
from .keys import BENCHMARKS
from .marks import add_tags
from .progress import Progress
from .session import POLL_SECONDS, engine_of, workers

STAGES = ("simulate", "evaluate", "aggregate")
GAPS = "_gaps"
"""The item that looks at the gaps between groups; no metric's id begins like this."""
_COPY_OF_ANOTHER = "validation.json"


class UnreadableAnswers(pytest.PytestWarning):
    """A benchmark passed, but some of the evaluator's answers could not be read."""


def benchmark_file(path: Path, parent: pytest.Collector, *, asked: bool) -> BenchmarkFile | None:
    """The collector of a `benchmark.yaml`; None if it is a scenario, another program's file, or set aside.

    `asked`: the command line names the file, so that it is ours whatever it looks like.
    """
    if not is_benchmark(path) or not (asked or _is_meant(path, parent.config.rootpath)):
        return None
    config = parent.config
    if BENCHMARKS not in config.stash:
        config.stash[BENCHMARKS] = []
        config.pluginmanager.register(_Notes(config), "convoprobe-benchmark-notes")
    found: BenchmarkFile = BenchmarkFile.from_parent(parent, path=path)
    return found


def _is_meant(path: Path, root: Path) -> bool:
    """Whether a whole folder of tests is to run it: not if a name begins with `_`, as with scenarios.

    What `bench validate` has made of another benchmark is compared with that, and is no test of its own.
    """
    parts = path.relative_to(root).parts if root in path.parents else (path.parent.name,)
    left_out = any(part.startswith(("_", ".")) for part in parts)
    return not left_out and not (path.parent / _COPY_OF_ANOTHER).exists() and looks_like_benchmark(path)


class _Notes:
    """What benchmarks have to say before they are run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_report_collectionfinish(self) -> list[str]:
        notices: list[str] = self._config.stash[BENCHMARKS]
        return [f"note: {notice}" for notice in dict.fromkeys(notices)]


class BenchmarkFile(pytest.File):
    """A benchmark: a collector for each of its targets."""

    def collect(self) -> Iterator[pytest.Collector | pytest.Item]:
        try:
            loaded = _load(self.config, self.path.parent)
        except SettingsError as error:
            raise self.CollectError(str(error)) from None
        self.config.stash[BENCHMARKS] += loaded.notices
        if not loaded.benchmark.metrics:
            yield NotReady.of(
                self, "_metrics", _complaint(require_complete, loaded.benchmark, loaded.folder.path)
            )
        elif not loaded.config.targets:
            yield NotReady.of(self, "_targets", _complaint(require_models, loaded.config, ["simulate"]))
        else:
            gates = Gates(self.config, loaded)
            lines = _lines(self.path)
            for entry in loaded.config.targets:
                yield BenchmarkTarget.of(self, entry.id, gates, lines)


def _load(config: pytest.Config, folder: Path) -> LoadedBenchmark:
    named = options.value_of(config, "config")
    return load_project(
        folder,
        root=config.rootpath,
        settings_file=config.invocation_params.dir / named if named else None,
        command_line=options.overrides(config),
    )


def _complaint(check: Any, *args: Any) -> str:
    try:
        check(*args)
    except ConvoprobeError as error:
        return str(error)
    return ""


def _lines(path: Path) -> Sequence[int]:
    """Where each metric begins, counted from 0."""
    from ..benchmark.definition import read_document

    document = read_document(path)
    count = len(document.value["metrics"])
    return [document.line_of(("metrics", index)) - 1 for index in range(count)]


class NotReady(pytest.Item):
    """Stands for a benchmark that lacks something, so that nobody takes it for one that passed."""

    reason: str

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, reason: str) -> NotReady:
        item: NotReady = cls.from_parent(parent, name=name)
        item.reason = reason
        add_tags(item, ["benchmark"])
        return item

    def setup(self) -> None:
        pytest.fail(self.reason, pytrace=False)

    def runtest(self) -> None:
        """Never comes to it."""

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.path, 0, self.name


class BenchmarkTarget(pytest.Collector):
    """One system under test: an item for each metric, and one for the gaps if the gate looks at them."""

    gates: Gates
    lines: Sequence[int]

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, gates: Gates, lines: Sequence[int]) -> BenchmarkTarget:
        target: BenchmarkTarget = cls.from_parent(parent, name=name)
        target.gates, target.lines = gates, lines
        return target

    def collect(self) -> Iterator[GateItem]:
        for metric, line in zip(self.gates.metrics, self.lines, strict=True):
            yield GateItem.of(self, metric, line)
        if self.gates.gate.max_group_gap is not None:
            yield GateItem.of(self, None, 0)


class GateItem(pytest.Item):
    """The gate of one target and metric; without a metric, of the gaps between groups.

    `verdict` is what came out of the last run, None before.
    """

    gates: Gates
    target_id: str
    metric: Metric | None
    line: int
    verdict: GateVerdict | None = None

    @classmethod
    def of(cls, parent: BenchmarkTarget, metric: Metric | None, line: int) -> GateItem:
        item: GateItem = cls.from_parent(parent, name=metric.id if metric else GAPS)
        item.gates, item.target_id = parent.gates, parent.name
        item.metric, item.line = metric, line
        item.extra_keyword_matches.update((metric.name, metric.type.value) if metric else ())
        add_tags(item, ["benchmark"])
        return item

    def setup(self) -> None:
        """Here, so that what cannot be told is an error, and only a verdict is a failure."""
        if self.config.getoption("setuponly", False):
            return
        self.verdict = self.gates.verdict(self)
        self._note_figures(self.verdict.figures)
        if self.verdict.standing is Standing.UNKNOWN:
            pytest.fail(self._text(self.verdict), pytrace=False)

    def runtest(self) -> None:
        verdict = self.verdict
        assert verdict is not None  # noqa: S101 - setup comes first
        if verdict.standing is Standing.FAILED:
            pytest.fail(self._text(verdict), pytrace=False)
        self.add_report_section("call", "convoprobe", verdict.text)
        if verdict.figures.get("unreadable"):
            self._warn(f"{self.nodeid}: {'; '.join((verdict.headline, *verdict.lines))}")

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The place of the metric."""
        return self.path, self.line, f"{self.target_id}::{self.name}"

    def _warn(self, text: str) -> None:
        try:
            self.warn(UnreadableAnswers(text))
        except UnreadableAnswers as error:  # the suite takes warnings for errors
            pytest.fail(str(error), pytrace=False)

    def _text(self, verdict: GateVerdict) -> str:
        from .reporting import rerun_command

        folder = shown_path(self.path.parent)
        return (
            f"{verdict.text}\n\nlook closer: convoprobe bench report {folder} --html"
            f"\nrun again:   {rerun_command(self)}"
        )

    def _note_figures(self, figures: Mapping[str, Any]) -> None:
        """For JUnit; those of an earlier run of the same item go."""
        self.user_properties[:] = [
            pair for pair in self.user_properties if not pair[0].startswith(PROPERTY_PREFIX)
        ]
        self.user_properties.extend((PROPERTY_PREFIX + name, value) for name, value in figures.items())


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
        self.gate = loaded.benchmark.gate or Gate()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self._loaded.benchmark.metrics

    def verdict(self, item: GateItem) -> GateVerdict:
        """How an item's gate stands, after everything that it needs was made."""
        if reason := self._not_ready(item):
            return GateVerdict(Standing.UNKNOWN, reason)
        # Once for each item: one that is run again tries again what failed.
        ran = self._ran.pop(item.nodeid, None) or self._run_for(item)
        target = ran.results.target(item.target_id) if ran.results else None
        if ran.results is None or target is None:
            return GateVerdict(Standing.UNKNOWN, ran.error or "the run has no results of this target")
        metric_id = item.metric.id if item.metric else None
        trouble = Trouble.of(ran.reports[item.target_id], item.target_id, metric_id)
        return self._judge(item.metric, target, ran.results.confidence, trouble)

    def _judge(
        self, metric: Metric | None, target: TargetResults, confidence: float, trouble: Trouble
    ) -> GateVerdict:
        if metric is None:
            return judge_gaps(self.gate, target, confidence, trouble)
        unread: list[str] = []
        file = self._loaded.folder.scores(target.id)
        return judge_metric(
            self.gate,
            metric,
            target,
            confidence,
            trouble,
            lambda: read_rows(file, ScoreRow.from_json, unread),
        )

    def _not_ready(self, item: GateItem) -> str:
        folder, benchmark = self._loaded.folder, self._loaded.benchmark
        if item.metric is not None:
            benchmark = benchmark.model_copy(update={"metrics": (item.metric,)})
        if complaint := _complaint(require_complete, benchmark, folder.path):
            return complaint
        if not folder.scenarios.exists():
            command = f"convoprobe bench gen-scenarios {shown_path(folder.path)}"
            return f"there are no scenarios yet: `{command}` makes them"
        return ""

    def _run_for(self, item: GateItem) -> Ran:
        together = [other for other in self._selected(item) if not self._not_ready(other)]
        run = _Run(self._config, self._loaded, _needs(together, self.metrics))
        ran = run.hold()
        self._ran.update(
            {other.nodeid: ran for other in together if other is not item and other.verdict is None}
        )
        return ran

    def _selected(self, item: GateItem) -> list[GateItem]:
        """The items that are certain to be run in this process. A worker of xdist is given only some."""
        if item.verdict is not None or hasattr(self._config, "workerinput"):
            return [item]
        others = (other for other in item.session.items if isinstance(other, GateItem) and other is not item)
        return [item, *(other for other in others if other.gates is self and not _may_be_skipped(other))]


def _may_be_skipped(item: pytest.Item) -> bool:
    return any(item.iter_markers("skip")) or any(item.iter_markers("skipif"))


Needs = Mapping[tuple[str, ...], Sequence[str]]
"""Targets' ids by the ids of the metrics that are to be scored for them; no metrics stand for all."""


def _needs(items: Iterable[GateItem], metrics: Sequence[Metric]) -> Needs:
    everything = {metric.id for metric in metrics}
    wanted: dict[str, set[str]] = {}
    for item in items:
        wanted.setdefault(item.target_id, set()).update({item.metric.id} if item.metric else everything)
    found: dict[tuple[str, ...], list[str]] = {}
    for target_id, ids in wanted.items():
        found.setdefault(() if ids == everything else tuple(sorted(ids)), []).append(target_id)
    return found


class _Run:
    """One run of the pipeline, waited for on pytest's thread."""

    def __init__(self, config: pytest.Config, loaded: LoadedBenchmark, needs: Needs) -> None:
        self._config = config
        self._loaded = loaded
        self._needs = needs
        self._watch = _Watch(loaded.folder.path.name)

    def hold(self) -> Ran:
        """Make what is missing. What keeps the run from beginning is in the result."""
        try:
            budget = _budget(self._config, self._loaded)
            return self._wait(self._hold(budget))
        except ConvoprobeError as error:
            return Ran(error=str(error))

    def _wait(self, work: Coroutine[Any, Any, Ran]) -> Ran:
        future = engine_of(self._config).loop.submit(work)
        try:
            with Progress(self._config, self._watch.words) as progress:
                while not concurrent.futures.wait((future,), POLL_SECONDS).done:
                    progress.tick()
            return future.result(0)
        except BaseException:
            # Ctrl-C, pytest.exit or another plug-in's timeout: nobody waits for it any more.
            future.cancel()
            raise

    async def _hold(self, budget: Budget) -> Ran:
        reports: dict[str, PipelineReport] = {}
        results: Results | None = None
        engine = LocalEngine(budget=budget)
        try:
            for metric_ids, target_ids in self._needs.items():
                report = await self._make(metric_ids, target_ids, engine)
                results = report.results
                reports |= dict.fromkeys(target_ids, report)
        finally:
            await engine.aclose()
        return Ran(results, reports)

    async def _make(
        self, metric_ids: Sequence[str], target_ids: Sequence[str], engine: LocalEngine
    ) -> PipelineReport:
        config = restrict(self._loaded.config, ",".join(target_ids))
        loaded = replace(self._loaded, config=config)
        wanted = Options(only=",".join(metric_ids))
        return await run_bench(
            loaded,
            await _stages(loaded, wanted),
            engine=engine,
            options=wanted,
            progress=self._watch,
            patience=math.inf,  # another worker of xdist, or another run: it makes what is needed here
        )


async def _stages(loaded: LoadedBenchmark, wanted: Options) -> Sequence[str]:
    """All stages, or only the last where every row is there: then no model is needed."""
    try:
        require_models(loaded.config, STAGES)
    except SettingsError:
        dry = replace(wanted, dry_run=True)
        report = await run_bench(loaded, STAGES[:2], options=dry, patience=math.inf)
        if not any(forecast.rows for forecast in report.forecasts):
            return STAGES[2:]
    return STAGES


def _budget(config: pytest.Config, loaded: LoadedBenchmark) -> Budget:
    """That of the whole session if the command line sets it, scenarios included; else the benchmark's own."""
    if {"run.max_cost", "run.max_tokens"} & options.overrides(config).keys():
        return engine_of(config).runner.budget
    run = loaded.config.run
    return Budget(run.max_cost, run.max_tokens, workers=workers(config))


class _Watch(Silent):
    """Keeps count for the line that says how far the run is."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._stage = "waiting for its turn"
        self._count = self._total = 0

    def started(self, stage: str, due: Mapping[str, Due]) -> None:
        self._stage, self._count = stage, 0
        self._total = sum(one.missing for one in due.values())

    def advanced(self, stage: str, target: str, outcome: Outcome) -> None:
        self._count += 1

    def words(self) -> str:
        rows = f" {self._count} of {self._total}" if self._total else ""
        return f"{self._name}: {self._stage}{rows}"
