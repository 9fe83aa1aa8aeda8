"""Which conversations a page has when it can't have all: failed ones first, and some of every cell. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from ..analysis.trials import Shown, TargetScores, Trial


class VerdictState(str, Enum):
    """What became of a conversation for a metric; the order is that in which they are shown."""

    FAILED = "failed"
    UNREADABLE = "unreadable"
    UNSCORED = "unscored"
    PASSED = "passed"


class ConversationPlace(NamedTuple):
    """Which conversation of a benchmark."""

    target: str
    id: str
    sample: int


class ConversationVerdict(NamedTuple):
    """What became of one conversation for one metric."""

    metric_id: str
    target: str
    shown: Shown
    sample: int
    state: VerdictState

    @property
    def place(self) -> ConversationPlace:
        return ConversationPlace(self.target, self.shown.id, self.sample)

    @property
    def cell(self) -> tuple[str, str]:
        """Metric and target."""
        return self.metric_id, self.target


def verdicts(target: str, reading: TargetScores) -> Iterator[ConversationVerdict]:
    """Of every conversation that ran or was scored, for the metrics that it was scored for or made for."""
    for trial in reading.own():
        if trial.evaluated or (trial.shown.id, trial.sample) in reading.conversations:
            yield ConversationVerdict(trial.shown.metric_id, target, trial.shown, trial.sample, _state(trial))
    for metric_id, trial in reading.others():
        yield ConversationVerdict(metric_id, target, trial.shown, trial.sample, _state(trial))


def _state(trial: Trial) -> VerdictState:
    if not trial.evaluated:
        return VerdictState.UNSCORED
    if trial.passed is None:
        return VerdictState.UNREADABLE
    return VerdictState.PASSED if trial.passed else VerdictState.FAILED


RANK = {state: rank for rank, state in enumerate(VerdictState)}


def choose(found: Iterable[ConversationVerdict], most: int) -> dict[ConversationPlace, int]:
    """At most so many conversations, numbered from 1: failed ones first, cells taking turns."""
    turns: Counter[tuple[tuple[str, str], VerdictState]] = Counter()
    queue = []
    # The number breaks ties by the order in the files, so that a page comes out the same each time.
    for number, verdict in enumerate(found):
        turns[verdict.cell, verdict.state] += 1
        queue.append((RANK[verdict.state], turns[verdict.cell, verdict.state], number, verdict.place))
    chosen: dict[ConversationPlace, int] = {}
    for *_, place in sorted(queue):
        if len(chosen) >= most:
            break
        chosen.setdefault(place, len(chosen) + 1)
    return chosen
