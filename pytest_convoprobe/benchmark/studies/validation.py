"""Runs a benchmark again with another model behind the scenes, in a folder beside it, and compares.

What the swapped model didn't make is taken over: another evaluator reads the same transcripts, another
user acts out the same scenarios. Another generator makes new scenarios, and new metrics in the place of those
that were generated; metrics that somebody wrote, or began, stay.
"""

from __future__ import annotations

import filecmp
import json
import random
import shutil
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import ResultsError, SettingsError
from ...files import locked, open_file, read_file, shown_path, write_atomically
from ...llm.port import LLM
from ...settings.model_settings import ModelSettings
from ...text import one_line
from ..analysis.aggregate import target_rows
from ..analysis.compare import ComparedRun, compare
from ..analysis.comparison_model import ModelComparison
from ..analysis.figures import json_text
from ..analysis.results import MetricInfo
from ..analysis.trials import Book, Shown, TargetScores
from ..engines.local import engine_or_local
from ..format.definition import metric_id, read_benchmark, read_document
from ..format.folder import BenchmarkFolder, target_id
from ..format.model_swap import FILE, Swap
from ..format.project import LoadedBenchmark, load_project, require_models
from ..format.yaml_writing import block
from ..pipeline.driver import StageListener
from ..pipeline.pipeline import PipelineReport, run_bench
from ..pipeline.versions import carry_versions
from ..rows.arrays import array_of, items, read_rows
from ..rows.cost import was_worked_in
from ..rows.folder_lock import FolderInUse
from ..rows.row_types import ScenarioRow
from ..rows.work import Engine
from ..stages import registry
from ..stages.gen_metrics import NEW
from ..stages.options import Options
from ..stages.tables import Tables

_BEGUN = ("the second run has not come to its end yet",)
_PIECE = 1 << 20


@dataclass(frozen=True)
class Validation:
    """The second folder, what its run did, and the comparison.

    None after a dry run, and if nothing came of the run: then the folder is as it was, or gone.
    """

    folder: BenchmarkFolder
    report: PipelineReport
    comparison: ModelComparison | None


def folder_beside(folder: BenchmarkFolder, swap: Swap) -> BenchmarkFolder:
    """`politeness-evaluator-openai-gpt-5` beside `politeness`."""
    path = folder.path
    return BenchmarkFolder(path.parent / f"{path.name}-{swap.role}-{target_id(swap.model)}")


async def validate(
    loaded: LoadedBenchmark,
    swap: Swap,
    *,
    sample: int | None = None,
    seed: int = 0,
    config_file: Path | None = None,
    engine: Engine | None = None,
    options: Options | None = None,
    progress: StageListener | None = None,
    llm: LLM | None = None,
) -> Validation:
    """Run what the swap touches in the folder beside, compare, and write `validation.json` there.

    A second call continues where the first one ended; a dry run writes nothing. `sample` restricts both sides
    to so many scenarios (without their variants), the metrics taking turns; the same seed chooses the same
    ones, and a larger sample contains a smaller one. `config_file` is the one that `loaded` was read with, if
    not the folder's.

    Raises `ResultsError` if the first folder has no scores, and what `load_project` and `run_bench` raise.
    """
    chosen = None if sample is None else _sampled(loaded.folder, sample, seed)
    first = _side(loaded.folder, loaded, _model(loaded, swap), chosen)
    _require_scores(first, loaded.folder)
    second = _swapped(loaded, swap, config_file)
    swap = replace(swap, model=_model(second, swap))
    wanted = options or Options()
    if not wanted.dry_run and llm is None and not second.folder.path.exists():
        require_models(second.config, registry.models_of_stages(registry.stages_from(swap.section)))
    async with engine_or_local(engine, second.config.run, llm) as used:
        running = _Running(used, wanted, progress, llm)
        with _to_write(second, dry=wanted.dry_run) as there:
            _prepare(loaded, there, swap, chosen, config_file)
            _announce(there.folder, first, swap)
            report, chosen_there = await _run(_reread(there), swap, sample, seed, running)
    if wanted.dry_run or not second.folder.path.exists():
        return Validation(second.folder, report, None)
    chosen = chosen_there if swap.role == "generator" else chosen
    other = _side(second.folder, _reread(second), swap.model, chosen)
    comparison = compare(first, other, swap.role, notes=tuple(_notes(loaded, swap)))
    _write_comparison(second.folder, comparison)
    return Validation(second.folder, report, comparison)


def _require_scores(run: ComparedRun, folder: BenchmarkFolder) -> None:
    if not any(trial.passed is not None for trials in run.trials.values() for trial in trials):
        place = shown_path(folder.path)
        raise ResultsError(f"{place} has no scores to compare with: run `convoprobe bench all {place}` first")


@contextmanager
def _to_write(second: LoadedBenchmark, *, dry: bool) -> Iterator[LoadedBenchmark]:
    """The second run in its folder, which goes again if nothing comes of it; a dry one in a copy of it."""
    if not dry:
        stays = second.folder.path.exists()
        try:
            yield second
        except FolderInUse:
            stays = True  # another run has made it meanwhile
            raise
        finally:
            if not stays and not _was_paid_for(second):
                shutil.rmtree(second.folder.path, ignore_errors=True)
        return
    with TemporaryDirectory(prefix="convoprobe-") as scratch:
        copy = Path(scratch) / second.folder.path.name
        try:
            if second.folder.path.is_dir():
                shutil.copytree(second.folder.path, copy)
                for one in (copy, *copy.rglob("*")):  # of a checkout that cannot be written
                    one.chmod(one.stat().st_mode | 0o200)
        except OSError as error:  # one of shutil's has all that went wrong as its text
            raise ResultsError(f"{shown_path(second.folder.path)} cannot be read: {error}") from None
        yield replace(second, folder=BenchmarkFolder(copy))


def _was_paid_for(second: LoadedBenchmark) -> bool:
    """Replies of a row that was broken off are in no line, but may be recorded."""
    recordings = second.folder.path / second.config.run.recordings
    return recordings.exists() or was_worked_in(second.folder)


@dataclass(frozen=True)
class _Running:
    """How stages are run."""

    engine: Engine
    options: Options
    progress: StageListener | None
    llm: LLM | None

    async def run(
        self, loaded: LoadedBenchmark, stages: Iterable[str], only: Collection[str] = ()
    ) -> PipelineReport:
        options = replace(self.options, only=",".join(only)) if only else self.options
        return await run_bench(
            loaded,
            tuple(stages),
            engine=self.engine,
            options=options,
            progress=self.progress,
            llm=self.llm,
        )


async def _run(
    second: LoadedBenchmark, swap: Swap, sample: int | None, seed: int, running: _Running
) -> tuple[PipelineReport, frozenset[str] | None]:
    """The report, and which scenarios of another generator were chosen: they have to be made first."""
    stages = registry.stages_from(swap.section)
    if swap.role != "generator" or sample is None or running.options.dry_run:
        return await running.run(second, stages), None
    # A sample can be drawn only of scenarios that are there, so the run is in two parts.
    made = await running.run(second, stages[:2])
    chosen = _sampled(second.folder, sample, seed)
    rest = await running.run(_reread(second), stages[2:], sorted(chosen))
    return PipelineReport((*made.stages, *rest.stages), results=rest.results), chosen


def _reread(loaded: LoadedBenchmark) -> LoadedBenchmark:
    """With the metrics that are in the folder now."""
    return replace(loaded, benchmark=read_benchmark(loaded.folder.benchmark)[0])


# The two sides


def _model(loaded: LoadedBenchmark, swap: Swap) -> str:
    settings: ModelSettings = getattr(loaded.config, swap.section)
    return settings.model or "(no model)"


def _side(
    folder: BenchmarkFolder, loaded: LoadedBenchmark, model: str, chosen: Collection[str] | None
) -> ComparedRun:
    """What there is in a folder of the targets of the settings, of the chosen scenarios only."""
    metrics = [MetricInfo(metric.id, metric.name, metric.type) for metric in loaded.benchmark.metrics]
    book = Book(metrics, read_rows(folder.scenarios, ScenarioRow.from_json, []))
    trials = {}
    for entry in loaded.config.targets:
        reading = TargetScores(book, target_rows(folder, entry.id), 1)
        trials[entry.id] = [trial for trial in reading.own() if chosen is None or trial.shown.base in chosen]
    return ComparedRun(model, book.types, trials)


def _sampled(folder: BenchmarkFolder, sample: int, seed: int) -> frozenset[str]:
    """So many scenarios without their variants: each metric's in a random order, the metrics in turns.

    Raises `SettingsError` for less than one.
    """
    if sample < 1:
        raise SettingsError.of(f"a sample needs at least one scenario, not {sample}")
    by_metric: defaultdict[str, set[str]] = defaultdict(set)
    for row in read_rows(folder.scenarios, ScenarioRow.from_json, []):
        by_metric[row.metric_id].add(row.base)
    order = random.Random(seed)  # noqa: S311 - to draw a sample, not a secret
    # Sorted first: a set has another order in each process, and the seed would choose others.
    mixed = [order.sample(sorted(by_metric[name]), len(by_metric[name])) for name in sorted(by_metric)]
    in_turns = (base for bases in zip_longest(*mixed) for base in bases if base is not None)
    return frozenset(base for base, _ in zip(in_turns, range(sample), strict=False))


def _notes(loaded: LoadedBenchmark, swap: Swap) -> Iterator[str]:
    if _model(loaded, swap) == swap.model:
        yield f"{swap.model} was the model before, too: what differs is what it does differently each time"
    known = {entry.id for entry in loaded.config.targets}
    if others := [name for name in loaded.folder.targets_with_runs() if name not in known]:
        yield f"left out, for the settings don't have them: {', '.join(others)}"
    if swap.role == "generator" and not _generated(loaded):
        yield "no metric is known to be generated, so all were kept, and only scenarios are new"


# The second folder


def _swapped(loaded: LoadedBenchmark, swap: Swap, config_file: Path | None) -> LoadedBenchmark:
    """The same with the other model; its settings are read again, since keys belong to a provider."""
    again = load_project(
        loaded.folder.path,
        config_file=config_file,
        root=loaded.root,
        overrides={f"{swap.section}.model": swap.model},
    )
    changes: dict[str, Any] = {swap.section: getattr(again.config, swap.section)}
    named = replace(swap, model=_model(again, swap))  # with its provider
    if swap.role == "generator":
        metrics = {"num_metrics": len(loaded.benchmark.metrics)}
        changes["generation"] = loaded.config.generation.model_copy(update=metrics)
    return replace(
        loaded,
        folder=folder_beside(loaded.folder, named),
        config=loaded.config.model_copy(update=changes),
        secrets=tuple(dict.fromkeys((*loaded.secrets, *again.secrets))),
    )


def _prepare(
    loaded: LoadedBenchmark,
    second: LoadedBenchmark,
    swap: Swap,
    chosen: Collection[str] | None,
    config_file: Path | None,
) -> None:
    """Put everything into the second folder that the swap doesn't touch."""
    old, new = loaded.folder, second.folder
    try:
        new.path.mkdir(exist_ok=True)
        config = config_file or old.config
        if config.exists():
            _write(new.config, _origin(loaded, swap) + read_file(config).removeprefix(BOM_UTF8))
        if swap.role == "generator":
            if not new.benchmark.exists():
                _write(new.benchmark, _without_generated(loaded))
            return
        _write(new.benchmark, read_file(old.benchmark))
        _copy_rows(old.scenarios, new.scenarios, chosen)
        if swap.role == "evaluator":
            for entry in loaded.config.targets:
                _copy_rows(old.conversations(entry.id), new.conversations(entry.id), chosen)
            carry_versions(loaded, new)
    except OSError as error:
        raise ResultsError(f"{shown_path(new.path)} cannot be made: {error}") from None


def _announce(folder: BenchmarkFolder, first: ComparedRun, swap: Swap) -> None:
    """Marks the folder from the beginning: runs may take days, and end before their time."""
    if not (folder.path / FILE).exists():
        second = ComparedRun(swap.model, {})
        _write_comparison(folder, compare(replace(first, trials={}), second, swap.role, notes=_BEGUN))


def _write_comparison(folder: BenchmarkFolder, comparison: ModelComparison) -> None:
    _write(folder.path / FILE, json_text(comparison.to_json()).encode())


def _origin(loaded: LoadedBenchmark, swap: Swap) -> bytes:
    """Says in a copy of the settings why they aren't those that the folder was made with."""
    name = loaded.folder.path.name
    line = f"Copied from {name}; a validation put {swap.model} in the place of {swap.section}."
    return f"# {one_line(line)}\n".encode("utf-8", "replace")


def _copy_rows(old: Path, new: Path, chosen: Collection[str] | None) -> None:
    """The rows of the chosen scenarios, or the whole file."""
    if not old.exists():
        return
    if chosen is not None:
        rows = (json.dumps(row).encode("ascii") for row in items(old) if _base(row) in chosen)
        _write(new, array_of(rows))
    # Not written where it is the same: its time would tell the table that somebody has edited it.
    elif not new.exists() or not filecmp.cmp(old, new, shallow=False):
        with open_file(old) as file:
            _write(new, iter(partial(file.read, _PIECE), b""))


def _base(row: Any) -> str:
    """The scenario of a row; empty for anything that is not a row."""
    found = row.get("id", row.get("scenario_id")) if isinstance(row, dict) else None
    return Shown.by_id(found).base if isinstance(found, str) else ""


def _write(path: Path, content: bytes | Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        write_atomically(path, content)


# Metrics


def _without_generated(loaded: LoadedBenchmark) -> bytes:
    """`benchmark.yaml` with the metrics that nobody wrote taken out; as it is if there are none."""
    generated = _generated(loaded)
    if not generated:
        return read_file(loaded.folder.benchmark)
    data: dict[str, Any] = dict(read_document(loaded.folder.benchmark).value)
    # Each keeps the id that it has by its place in the list.
    with_ids = [{"id": metric_id(item, place), **item} for place, item in enumerate(data["metrics"])]
    data["metrics"] = [item for item in with_ids if item["id"] not in generated]
    return (block(data, 0) + "\n").encode()


def _generated(loaded: LoadedBenchmark) -> frozenset[str]:
    """The ids of metrics that are word for word what gen-metrics made, as far as its rows are there."""
    table = Tables(loaded.folder)("gen-metrics")
    rows = [table.row(place) for place in table.heads() if place.id == NEW]
    made = {(data["name"], data["definition"]) for row in rows for data in row["metrics"]}
    return frozenset(
        metric.id for metric in loaded.benchmark.metrics if (metric.name, metric.definition) in made
    )
