"""A threshold for scores, learned from labels. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from ..formatting import counted, percent

Labelled = Sequence[tuple[float, bool]]
"""Scores, each with whether the statement is true."""


@dataclass(frozen=True)
class LearnedThreshold:
    """A threshold and how good it is on its labels.

    `right` is the mean of the shares of true and of false statements that it has right. `expected` is the
    same for labels that it wasn't learned from: each label is judged by the threshold of the others.
    """

    value: float
    trues: int
    falses: int
    right: float
    expected: float

    def sentence(self) -> str:
        """How it was learned, and what to put into the settings."""
        labels = counted(self.trues + self.falses, "label")
        kinds = f"{self.trues} true and {self.falses} false"
        if self.right <= 0.5:
            return f"no judge.threshold parts the statements of {labels} ({kinds}) better than a guess"
        return (
            f"judge.threshold: {self.value:.2f} (learned from {labels}, {kinds}: {percent(self.right)} "
            f"right on these, {percent(self.expected)} expected on others)"
        )


def learned_threshold(scores: Sequence[float], truths: Sequence[bool]) -> LearnedThreshold | None:
    """The threshold that has most right of both kinds; None if one kind has fewer than two labels.

    True and false statements count alike, however many there are of each. Of thresholds that are equally
    good, the one in the middle of the widest gap between scores is taken: it moves least with new labels.
    """
    labels = tuple(zip(scores, truths, strict=True))
    trues = sum(truths)
    if min(trues, len(labels) - trues) < 2:
        return None
    value = _best(labels)
    others = [
        (score > _best((*labels[:place], *labels[place + 1 :]))) is true
        for place, (score, true) in enumerate(labels)
    ]
    right = _balanced([((score > value) is true, true) for score, true in labels])
    expected = _balanced(list(zip(others, truths, strict=True)))
    return LearnedThreshold(value, trues, len(labels) - trues, right, expected)


def _best(labels: Labelled) -> float:
    values = sorted({score for score, _ in labels})
    # Without a gap all scores are the same, and any threshold is as bad as another.
    gaps = list(pairwise(values)) or [(values[0], values[0])]
    below, above = max(gaps, key=lambda gap: (_right_at(labels, fmean(gap)), gap[1] - gap[0]))
    return (below + above) / 2


def _right_at(labels: Labelled, threshold: float) -> float:
    return _balanced([((score > threshold) is true, true) for score, true in labels])


def _balanced(outcomes: Sequence[tuple[bool, bool]]) -> float:
    """The mean of the shares that are right among the true and among the false."""
    kinds = [[right for right, true in outcomes if true is kind] for kind in (True, False)]
    return fmean(fmean(kind) for kind in kinds if kind)
