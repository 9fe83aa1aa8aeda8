"""Aggregates scores: pass rates with intervals, agreement of samples, gaps between groups."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ...errors import ResultsError
from ...files import cannot, read_file, write_atomically
from ...stats import (
    ShareEstimate,
    fleiss_kappa,
    krippendorff_alpha,
    majority_agreement,
    unanimous_share,
    wilson,
)
from ..format.folder import BenchmarkFolder
from ..format.models import Benchmark, MetricType
from ..rows.arrays import conversation_places, read_rows, unread_notes
from ..rows.row_types import ScenarioRow
from ..rows.score_file import read_scores
from .figures import json_text
from .gaps import corrected, demographic_gaps
from .results import Agreement, MetricInfo, MetricRate, Rate, Results, TargetResults
from .trials import Book, TargetRows, TargetScores, Trial

if TYPE_CHECKING:
    from ..format.project import LoadedBenchmark

Key = TypeVar("Key", bound=Hashable)

ClusterBy = Callable[[Trial], str]
"""The name of a trial's cluster: trials of one cluster resemble each other."""

_CONFIDENCE = 0.95


def _scenario(trial: Trial) -> str:
    return trial.shown.base


def _variant(trial: Trial) -> str:
    return trial.shown.id


def aggregate(
    benchmark: Benchmark,
    scenarios: Iterable[ScenarioRow],
    targets: Iterable[TargetRows],
    *,
    samples: int = 1,
    notes: Sequence[str] = (),
) -> Results:
    """The results of all targets, in the order given.

    `samples` is how many conversations of each scenario there should be; more count too. The confidence of
    intervals and gaps is that of the benchmark's gate, 95 % without one. Scores are read once and as they
    come; the order of rows changes nothing, but of two scores of one conversation and metric the last counts.
    """
    # One level for the gate and for what people read: otherwise the two would contradict each other.
    confidence = benchmark.gate.confidence if benchmark.gate else _CONFIDENCE
    metrics = tuple(MetricInfo(metric.id, metric.name, metric.type) for metric in benchmark.metrics)
    book = Book(metrics, scenarios)
    remarks = [*notes, *book.notes]
    found = []
    for rows in targets:
        reading = TargetScores(book, rows, samples)
        found.append(_results_of(rows.id, reading, metrics, confidence))
        remarks += [f"{rows.id}: {note}" for note in reading.notes()]
    targets_found = corrected(found, confidence)
    return Results(benchmark.name, benchmark.description, confidence, metrics, targets_found, tuple(remarks))


def read_results(folder: BenchmarkFolder) -> Results:
    """The results that were written. Raises `ResultsError` if there are none, or none that can be read."""
    try:
        return Results.from_json(json.loads(read_file(folder.results)))
    except FileNotFoundError:
        raise ResultsError(
            f"{folder.results} isn't there: `convoprobe bench aggregate` makes it from the scores"
        ) from None
    except OSError as error:
        raise ResultsError(cannot(folder.results, "read", error)) from None
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{folder.results} is not JSON: {error}") from None


def write_results(loaded: LoadedBenchmark, notes: Sequence[str] = ()) -> Results:
    """Aggregates what is in the folder, our files and others', and writes `results.json` in one step.

    `notes` are put before its own. Targets are those of the settings and those that there are files of. The
    folder's lock is the caller's. Where the file cannot be written, the results say so (`unwritten`).
    """
    results = aggregate_folder(
        loaded.folder,
        loaded.benchmark,
        samples=loaded.config.generation.num_samples,
        targets=[entry.id for entry in loaded.config.targets],
        notes=notes,
    )
    try:
        # No error: in a read-only checkout the figures can be shown all the same.
        write_atomically(loaded.folder.results, json_text(results.to_json()).encode())
    except OSError as error:
        reason = cannot(loaded.folder.results, "written", error)
        return replace(results, unwritten=reason)
    return results


def aggregate_folder(
    folder: BenchmarkFolder,
    benchmark: Benchmark,
    *,
    samples: int = 1,
    targets: Iterable[str] = (),
    notes: Sequence[str] = (),
) -> Results:
    """The results of a folder: of these targets and of all that there are files of, sorted by id."""
    unread: list[str] = []
    scenarios = list(read_rows(folder.scenarios, ScenarioRow.from_json, unread))
    remarks = [*notes, *unread_notes(folder.scenarios.name, unread)]
    if not folder.scenarios.exists():
        remarks.append("there is no scenarios.json: what is missing, and who spoke, is unknown")
    # Also targets that the settings no longer have: their files are results, too.
    ids = sorted({*targets, *folder.targets_with_runs()})
    rows = (target_rows(folder, target_id) for target_id in ids)
    return aggregate(benchmark, scenarios, rows, samples=samples, notes=remarks)


def target_rows(folder: BenchmarkFolder, target_id: str) -> TargetRows:
    """What there is of a target in a folder, to be read as it is asked for."""
    scores, conversations = folder.scores(target_id), folder.conversations(target_id)
    unread: dict[str, list[str]] = {scores.name: [], conversations.name: []}
    return TargetRows(
        target_id,
        read_scores(folder, target_id, unread[scores.name]),
        conversation_places(conversations, unread[conversations.name]) if conversations.exists() else None,
        unread,
    )


def _results_of(
    target_id: str, reading: TargetScores, metrics: Sequence[MetricInfo], confidence: float
) -> TargetResults:
    trials, kinds = reading.own(), {metric.id: metric.type for metric in metrics}

    def rates(key: Callable[[Trial], Key], cluster_by: ClusterBy = _scenario) -> dict[Key, Rate]:
        return {name: _rate(those, confidence, cluster_by) for name, those in _grouped(trials, key).items()}

    def track(kind: MetricType) -> Rate:
        return _rate([t for t in trials if kinds[t.shown.metric_id] is kind], confidence)

    by_sample, by_variant = rates(lambda trial: trial.sample), rates(lambda trial: trial.shown.variant)
    there = reading.conversations
    return TargetResults(
        id=target_id,
        conversations=len(there),
        unreadable=sum(trial.evaluated and trial.passed is None for trial in trials),
        without_score=sum(not t.evaluated and (t.shown.id, t.sample) in there for t in trials),
        without_conversation=sum(not t.evaluated and (t.shown.id, t.sample) not in there for t in trials),
        overall=_rate(trials, confidence),
        positive=track(MetricType.POSITIVE),
        negative=track(MetricType.NEGATIVE),
        by_metric=_by_metric(reading, trials, metrics, confidence),
        by_scenario=rates(_scenario, _variant),
        by_variant={name: by_variant[name] for name in sorted(by_variant)},
        by_demographic=_by_demographic(trials, confidence),
        by_sample={sample: by_sample[sample] for sample in sorted(by_sample)},
        agreement=_agreement(trials, reading.samples),
        gaps=demographic_gaps(((t.shown, t.passed) for t in trials), confidence),
    )


def _grouped(trials: Iterable[Trial], key: Callable[[Trial], Key]) -> dict[Key, list[Trial]]:
    groups: defaultdict[Key, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[key(trial)].append(trial)
    return dict(groups)


def _rate(trials: Sequence[Trial], confidence: float, cluster_by: ClusterBy = _scenario) -> Rate:
    scored = [trial for trial in trials if trial.passed is not None]
    passed = sum(trial.passed is True for trial in scored)
    missing = sum(not trial.evaluated for trial in trials)
    # Variants and samples of one scenario resemble each other: as single trials they would promise too much.
    clusters = list(_grouped(scored, cluster_by).values())
    if cluster_by is _variant and len(clusters) == 1:
        # Samples of one variant are the same conversation tried again, and depend on nothing but chance.
        clusters = [[trial] for trial in scored]
    estimate = ShareEstimate.of((sum(trial.passed is True for trial in one), len(one)) for one in clusters)
    return Rate(
        passed=passed,
        scored=len(scored),
        unreadable=len(trials) - len(scored) - missing,
        missing=missing,
        interval=wilson(passed, len(scored), confidence),
        clustered=estimate.wilson(confidence) if estimate else None,
        estimate=estimate,
    )


def _by_metric(
    reading: TargetScores, trials: Iterable[Trial], metrics: Sequence[MetricInfo], confidence: float
) -> tuple[MetricRate, ...]:
    groups: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        groups[trial.shown.metric_id].append(trial)
    for metric_id, trial in reading.others():
        groups[metric_id].append(trial)
    return tuple(MetricRate(metric, _rate(groups[metric.id], confidence)) for metric in metrics)


def _by_demographic(trials: Sequence[Trial], confidence: float) -> dict[str, dict[str, Rate]]:
    groups: defaultdict[str, defaultdict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        for attribute, value in trial.shown.demographic:
            groups[attribute][value].append(trial)
    return {
        attribute: {value: _rate(those, confidence) for value, those in values.items()}
        for attribute, values in groups.items()
    }


def _agreement(trials: Sequence[Trial], samples: int) -> Agreement | None:
    """Over the verdicts that scenarios' variants have, one a sample; None with one sample."""
    if samples < 2:
        return None
    verdicts = [
        [trial.passed for trial in those if trial.passed is not None]
        for those in _grouped(trials, lambda trial: trial.shown.id).values()
    ]
    # Fleiss' kappa is defined for equally many ratings only; Krippendorff's alpha takes all.
    full = [[sum(rated), len(rated) - sum(rated)] for rated in verdicts if len(rated) == samples]
    return Agreement(
        units=sum(len(rated) > 1 for rated in verdicts),
        unanimous=unanimous_share(verdicts),
        fleiss_kappa=fleiss_kappa(full),
        krippendorff_alpha=krippendorff_alpha(verdicts),
        single_with_majority=majority_agreement(verdicts),
    )
