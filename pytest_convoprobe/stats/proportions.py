"""Shares of trials: their intervals, and what they say about several trials at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .distributions import Interval, normal_z, student_t


def wilson(successes: float, trials: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of `successes` out of `trials`; None without trials.

    Both may be fractions: an effective number of trials is one.
    """
    if trials <= 0:
        return None
    # Wilson 1927. The usual interval around the share has no width at 0 and 1, where most gates are.
    z2 = normal_z(confidence) ** 2
    share = successes / trials
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    # Rounding must not push an end past 0 or 1, nor past the share itself.
    return Interval(max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def clustered(clusters: Iterable[Sequence[bool]], confidence: float = 0.95) -> Interval | None:
    """The interval of the share of True where trials of one cluster resemble each other.

    Each cluster is, for instance, all trials of one scenario. The number of trials is
    divided by the design effect (the variance between clusters over the variance of as many
    independent trials), corrected for a small number of clusters by Student's t, and Wilson's
    interval is taken of that. Where the design effect cannot be estimated (one cluster, or all
    trials alike), a cluster counts as one trial. None without trials.
    """
    filled = [cluster for cluster in clusters if cluster]
    trials = sum(map(len, filled))
    if not trials:
        return None
    share = sum(map(sum, filled)) / trials
    effective = _effective_trials(filled, confidence)
    return wilson(share * effective, effective, confidence)


def _effective_trials(clusters: Sequence[Sequence[bool]], confidence: float) -> float:
    count, trials = len(clusters), sum(map(len, clusters))
    passed = sum(map(sum, clusters))
    # In whole numbers, or clusters of one share would seem to differ by what was rounded.
    residuals = [sum(cluster) * trials - passed * len(cluster) for cluster in clusters]
    if count < 2 or not any(residuals):
        return count
    independent = passed * (trials - passed) / trials**3
    variance = count / (count - 1) * sum(r * r for r in residuals) / trials**4
    # Korn & Graubard 1998: effective sample size with Student's t for few clusters.
    level = (1 + confidence) / 2
    correction = student_t(level, trials - 1) / student_t(level, count - 1)
    return min(trials, trials * independent / variance * correction**2)


def newcombe(share1: float, first: Interval, share2: float, second: Interval) -> Interval:
    """The interval of the first share less the second, of trials that aren't paired.

    Newcombe's method 10, from the interval of each share: Wilson's, or one that allows for clusters. The ends
    are between -1 and 1.
    """
    below = math.hypot(share1 - first.low, second.high - share2)
    above = math.hypot(first.high - share1, share2 - second.low)
    difference = share1 - share2
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))


def pass_at_k(trials: int, passed: int, k: int) -> float | None:
    """The chance that at least one of `k` trials passes, from `trials` of which `passed` did."""
    if not 0 < k <= trials:
        return None
    # Unbiased (Chen et al. 2021, the paper on Codex): 1 - (1 - share)^k would be too low.
    return 1 - math.comb(trials - passed, k) / math.comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float | None:
    """The chance that all of `k` trials pass (pass^k), from `trials` of which `passed` did."""
    if not 0 < k <= trials:
        return None
    # Unbiased as well (Yao et al. 2024, τ-bench): share^k would be too high.
    return math.comb(passed, k) / math.comb(trials, k)


@dataclass(frozen=True)
class BinaryRates:
    """How often yes-or-no answers are right: counts of true and false positives and negatives."""

    tp: int
    fp: int
    tn: int
    fn: int

    @property
    def accuracy(self) -> float | None:
        """The share of right answers; None without answers."""
        return _share(self.tp + self.tn, self.fp + self.fn)

    @property
    def sensitivity(self) -> float | None:
        """The share of true cases that were called true; None without a true case."""
        return _share(self.tp, self.fn)

    @property
    def specificity(self) -> float | None:
        """The share of false cases that were called false; None without a false case."""
        return _share(self.tn, self.fp)


def _share(these: int, others: int) -> float | None:
    return these / (these + others) if these + others else None


def binary_rates(pairs: Iterable[tuple[bool, bool]]) -> BinaryRates:
    """The rates of pairs of what is true and what was said."""
    counts = Counter((bool(truth), bool(said)) for truth, said in pairs)
    return BinaryRates(
        tp=counts[True, True], fp=counts[False, True], tn=counts[False, False], fn=counts[True, False]
    )
