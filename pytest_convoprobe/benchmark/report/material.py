"""What a page is made from. Rows are only counted here; texts are read when they are written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import SettingsError
from ..analysis.aggregate import read_results, target_rows
from ..analysis.results import Results
from ..analysis.trials import Book, TargetScores
from ..format.definition import read_benchmark
from ..format.folder import BenchmarkFolder
from ..format.models import Metric
from ..rows.arrays import read_rows
from ..rows.row_types import ScenarioRow
from .choice import RANK, ConversationPlace, ConversationVerdict, VerdictState, choose, verdicts

MetricOfTarget = tuple[str, str]
"""A metric's and a target's id."""


@dataclass(frozen=True)
class Material:
    """Results, and of the conversations which there are.

    `results` is None where nothing has been aggregated yet. `counts` are of all conversations, by state;
    `shown` are those in the page, failed ones first, and `chosen` has their numbers. `variants` says who
    speaks in each variant.
    """

    folder: BenchmarkFolder
    name: str
    results: Results | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    counts: Mapping[MetricOfTarget, Mapping[VerdictState, int]] = field(default_factory=dict)
    shown: Mapping[MetricOfTarget, Sequence[ConversationVerdict]] = field(default_factory=dict)
    chosen: Mapping[ConversationPlace, int] = field(default_factory=dict)
    conversations: int = 0

    @property
    def left_out(self) -> int:
        """How many conversations are not in the page."""
        return self.conversations - len(self.chosen)


def gather(folder: BenchmarkFolder, most: int) -> Material:
    """Reads the results, and counts the rows. Raises `ResultsError` for results that cannot be read."""
    name, metrics = _definition(folder)
    if not folder.results.exists():
        return Material(folder, name, metrics=metrics)
    results = read_results(folder)
    variants: dict[str, Mapping[str, str]] = {}
    book = Book(results.metrics, _noted(read_rows(folder.scenarios, ScenarioRow.from_json, []), variants))
    found = [
        verdict
        for target in results.targets
        for verdict in verdicts(target.id, TargetScores(book, target_rows(folder, target.id), samples=1))
    ]
    chosen = choose(found, most)
    return Material(
        folder,
        results.benchmark,
        results,
        metrics,
        variants,
        _counts(found),
        _shown(found, chosen),
        chosen,
        len({verdict.place for verdict in found}),
    )


def _definition(folder: BenchmarkFolder) -> tuple[str, Mapping[str, Metric]]:
    """The name and the metrics as they are defined now; where that can't be read, the folder's name."""
    try:
        benchmark, _ = read_benchmark(folder.benchmark)
    except (SettingsError, OSError):
        return folder.path.name, {}
    return benchmark.name, {metric.id: metric for metric in benchmark.metrics}


def _noted(rows: Iterable[ScenarioRow], variants: dict[str, Mapping[str, str]]) -> Iterator[ScenarioRow]:
    """The rows as they come; who speaks in a variant is what its first row says."""
    for row in rows:
        variants.setdefault(row.variant, row.demographic)
        yield row


def _counts(found: Iterable[ConversationVerdict]) -> dict[MetricOfTarget, Mapping[VerdictState, int]]:
    counts: defaultdict[MetricOfTarget, Counter[VerdictState]] = defaultdict(Counter)
    for verdict in found:
        counts[verdict.cell][verdict.state] += 1
    return dict(counts)


def _shown(
    found: Iterable[ConversationVerdict], chosen: Mapping[ConversationPlace, int]
) -> dict[MetricOfTarget, Sequence[ConversationVerdict]]:
    cells: defaultdict[MetricOfTarget, list[ConversationVerdict]] = defaultdict(list)
    for verdict in found:
        if verdict.place in chosen:
            cells[verdict.cell].append(verdict)
    return {cell: sorted(those, key=lambda verdict: RANK[verdict.state]) for cell, those in cells.items()}
