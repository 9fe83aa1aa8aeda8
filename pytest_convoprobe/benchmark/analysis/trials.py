"""Sorts a target's scores out: which conversation each is of, and which conversations have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..format.models import MetricType
from ..rows.arrays import unread_notes
from ..rows.row_types import ScenarioRow, ScoreRow
from ..rows.sample_numbers import Numbering
from ..rows.scenario_ids import parts_of
from .results import MetricInfo

Person = tuple[tuple[str, str], ...]
"""Attributes and their values."""

_TOLD = 3


@dataclass(frozen=True)
class TargetRows:
    """What there is of one target: scores, and id and sample of each conversation.

    Without `conversations`, those with a score are taken for all. `unread` says by file what could not be
    read; its lists may grow while the rows are read.
    """

    id: str
    scores: Iterable[ScoreRow] = ()
    conversations: Iterable[tuple[str, int]] | None = None
    unread: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Shown(NamedTuple):
    """What of a scenario's row is counted by."""

    id: str
    metric_id: str
    base: str
    variant: str
    demographic: Person = ()

    @classmethod
    def of(cls, row: ScenarioRow) -> Shown:
        return cls(row.id, row.metric_id, row.base, row.variant, tuple(row.demographic.items()))

    @classmethod
    def by_id(cls, row_id: str, metric_id: str = "") -> Shown:
        """Of a scenario whose row isn't there; `metric_id` counts where the id does not contain it."""
        return cls.of(ScenarioRow(row_id, parts_of(row_id).metric or metric_id, "", "", ""))


class Trial(NamedTuple):
    """One expected conversation, and its verdict for one metric.

    `passed` is None where there is no verdict: it was not `evaluated`, or the answer could not be read.
    """

    shown: Shown
    sample: int
    passed: bool | None
    evaluated: bool


class Book:
    """The scenarios by id, and the types of the metrics. `notes` lists rows that cannot be counted."""

    def __init__(self, metrics: Iterable[MetricInfo], scenarios: Iterable[ScenarioRow]) -> None:
        self.types: Mapping[str, MetricType] = {metric.id: metric.type for metric in metrics}
        self.scenarios: dict[str, Shown] = {}
        unknown: Counter[str] = Counter()
        twice: list[str] = []
        for row in scenarios:
            if row.id in self.scenarios:
                twice.append(row.id)
            self.scenarios[row.id] = Shown.of(row)
            unknown[row.metric_id] += row.metric_id not in self.types
        self.notes = _left_out("scenarios", unknown)
        if twice:
            self.notes.append(
                f"scenarios.json has an id more than once, and the last counts: {_first(twice)}"
            )


class TargetScores:
    """One target's scores: of the metric that a scenario was made for, of others, and of none known."""

    def __init__(self, book: Book, rows: TargetRows, samples: int) -> None:
        self._book = book
        self._unread = rows.unread
        self._own: dict[tuple[str, int], bool | None] = {}
        self._others: dict[tuple[str, str, int], bool | None] = {}
        self._strangers: dict[str, Shown] = {}
        self._counts: Counter[str] = Counter()
        self._unknown: Counter[str] = Counter()
        for score in rows.scores:
            self._take(score)
        self._unproved = len(self._own) if rows.conversations is None else 0
        self.conversations = set(self._own) if rows.conversations is None else set(rows.conversations)
        ran = {place for place in self.conversations if self._countable(self._shown(place[0]))}
        there = ran | self._own.keys()
        numbers = Numbering(samples, there)
        self.samples = numbers.count
        wanted = {
            (shown.id, sample)
            for shown in book.scenarios.values()
            if self._countable(shown)
            for sample in numbers.of(shown.id)
        }
        self._places = wanted | there

    def _countable(self, shown: Shown) -> bool:
        return shown.metric_id in self._book.types

    def _take(self, score: ScoreRow) -> None:
        kind = self._book.types.get(score.metric_id)
        if kind is None:
            self._unknown[score.metric_id] += 1
            return
        passed = score.counts_as(kind)
        self._counts["turned"] += passed is not score.passed
        if self._shown(score.id, score.metric_id).metric_id == score.metric_id:
            self._counts["twice"] += (score.id, score.sample) in self._own
            self._own[score.id, score.sample] = passed
        else:
            place = (score.metric_id, score.id, score.sample)
            self._counts["twice"] += place in self._others
            self._others[place] = passed

    def _shown(self, row_id: str, metric_id: str = "") -> Shown:
        known = self._book.scenarios.get(row_id) or self._strangers.get(row_id)
        if known is None:
            known = self._strangers[row_id] = Shown.by_id(row_id, metric_id)
        return known

    def own(self) -> list[Trial]:
        """Every conversation that there is or should be, for its own metric; in the scenarios' order."""
        names = [*self._book.scenarios, *sorted(self._strangers)]
        order = {name: number for number, name in enumerate(names)}
        places = sorted(self._places, key=lambda place: (order[place[0]], place[1]))
        return [
            Trial(self._shown(name), sample, self._own.get((name, sample)), (name, sample) in self._own)
            for name, sample in places
        ]

    def others(self) -> Iterator[tuple[str, Trial]]:
        """Metric and trial of each conversation that was scored for a metric it wasn't made for."""
        for (metric_id, name, sample), passed in self._others.items():
            yield metric_id, Trial(self._shown(name), sample, passed, True)

    def notes(self) -> list[str]:
        """What a reader of the rates has to know about the rows."""
        strangers = sorted(self._strangers) if self._book.scenarios else []
        counts = {
            f"scenarios that were run, but aren't in scenarios.json ({_first(strangers)})": len(strangers),
            "scores that are there more than once (the last of each counts)": self._counts["twice"],
            "scores that count without their conversation, as there is no conversations.json": self._unproved,
            "scores of conversations that conversations.json doesn't have (they count)": len(
                self._own.keys() - self.conversations
            ),
            "scores whose `passed` contradicts `present` and the metric's type (which count)": self._counts[
                "turned"
            ],
            "scores for a metric that the scenario wasn't made for (they count in by_metric alone)": len(
                self._others
            ),
        }
        unread = [note for file, rows in self._unread.items() for note in unread_notes(file, rows)]
        return [
            *unread,
            *_left_out("scores", self._unknown),
            *(f"{words}: {count}" for words, count in counts.items() if count),
        ]


def _left_out(what: str, unknown: Mapping[str, int]) -> list[str]:
    return [
        f"{what} left out, since benchmark.yaml has no metric {metric_id}: {count}"
        for metric_id, count in sorted(unknown.items())
        if count
    ]


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_TOLD]) + (", ..." if len(names) > _TOLD else "")
