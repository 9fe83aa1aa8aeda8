"""Runs stages for a command: progress on stderr, what came of it on stdout, the exit status."""

from __future__ import annotations

import math
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ....llm.waits import WAITS
from ...console import Console, write_json
from ...event_loop import run_ticking
from ...exits import FINDINGS, OK, TROUBLE
from .display import display_of
from .options import BenchOptions
from .progress_model import ProgressModel

if TYPE_CHECKING:
    from ....benchmark.format.folder import BenchmarkFolder
    from ....benchmark.format.project import LoadedBenchmark
    from ....benchmark.pipeline.pipeline import PipelineReport
    from ....benchmark.rows.work import Engine

T = TypeVar("T")

_SECONDS_BETWEEN_NOTES = 5.0


def run_command(ctx: click.Context, stages: Sequence[str], asked: BenchOptions) -> None:
    """All that a command does that runs stages."""
    from ....benchmark.pipeline.pipeline import run_bench
    from ....benchmark.studies.all_gates import gates_of
    from .printing import print_report, report_json

    loaded, options, engine, watch = asked.load(), asked.options(), asked.make_engine(), ProgressModel()
    running = run_bench(loaded, stages, engine=engine, options=options, progress=watch)
    report = _shown(watched(running, watch, engine, loaded.folder), asked, loaded)
    if asked.as_json:
        gates = gates_of(loaded, report.results) if report.results else ()
        write_json(report_json(report, loaded.folder, gates))
    else:
        print_report(Console.of(), report, loaded)
    ctx.exit(status_of(report, in_part=asked.in_part))


def _shown(report: PipelineReport, asked: BenchOptions, loaded: LoadedBenchmark) -> PipelineReport:
    """Without the results of targets that weren't asked for."""
    if report.results is None or not asked.target:
        return report
    wanted = {entry.id for entry in loaded.config.targets}
    targets = tuple(one for one in report.results.targets if one.id in wanted)
    return replace(report, results=replace(report.results, targets=targets))


def watched(
    work: Coroutine[Any, Any, T],
    watch: ProgressModel,
    engine: Engine | None = None,
    folder: BenchmarkFolder | None = None,
) -> T:
    """What the work returns; it is shown meanwhile. The engine is closed at the end.

    After Ctrl-C a note says what is kept. What a run in `folder` waits for is noted there.
    """
    noting = _Noting(watch, folder)
    token = WAITS.set(watch.waits)
    try:
        with display_of(watch) as display:

            def tick() -> None:
                display.tick()
                noting.tick()

            returned = run_ticking(_closing(work, engine), tick)
        noting.end()
        return returned
    except KeyboardInterrupt:
        # After the bars are gone: they would draw over it.
        Console.of().note(_kept(watch))
        raise
    finally:
        WAITS.reset(token)


class _Noting:
    """Keeps the note of what a run waits for as it is; one that is interrupted or killed leaves it there."""

    def __init__(self, watch: ProgressModel, folder: BenchmarkFolder | None) -> None:
        self._watch = watch
        self._folder = folder
        self._noted_at = -math.inf
        self._there = True  # perhaps, from an earlier run

    def tick(self) -> None:
        words, now = self._watch.waiting(), self._watch.clock()
        if words and now - self._noted_at >= _SECONDS_BETWEEN_NOTES:
            self._write(words)
            self._noted_at = now
        elif not words and self._there and self._watch.stage:
            # Not before a stage has begun: until then the folder may be another run's.
            self._write("")

    def end(self) -> None:
        if self._there:
            self._write("")

    def _write(self, words: str) -> None:
        from ....benchmark.rows.waiting import note_waiting

        self._there = bool(words)
        if self._folder is not None:
            note_waiting(self._folder, self._watch.stage, words)


async def _closing(work: Coroutine[Any, Any, T], engine: Engine | None) -> T:
    try:
        return await work
    finally:
        if engine is not None:
            await engine.aclose()


def _kept(watch: ProgressModel) -> str:
    made = sum(bar.done - bar.failed for bar in watch.bars)
    rows = f"the {made:,} rows" if made != 1 else "the one row"
    kept = f"{rows} that this run made are kept" if made else "this run had not made a row yet"
    return f"{kept}; the same command continues from there"


def status_of(report: PipelineReport, *, in_part: bool = False) -> int:
    """The exit status that a run's report means.

    TROUBLE if the budget was used up, if results could not be written, or if rows were tried and not one was
    made: then something that they all need was away. FINDINGS if some could not be made, or not all of what
    was asked for in one (its `notes` say so), if an answer of the evaluator could not be read, or if results
    lack conversations although not only a part (`in_part`) was asked for. A low pass rate is a result like
    any other.
    """
    if any(stage.budget for stage in report.stages) or (report.results and report.results.unwritten):
        return TROUBLE
    failed = any(stage.failed for stage in report.stages)
    if failed and not any(stage.made for stage in report.stages):
        return TROUBLE
    unreadable = any(one.unreadable for stage in report.stages for one in stage.targets.values())
    rates = [target.overall for target in report.results.targets] if report.results else []
    lacking = any(rate.unreadable or (rate.missing and not in_part) for rate in rates)
    short = any(stage.notes for stage in report.stages)
    return FINDINGS if failed or short or unreadable or lacking else OK
