"""Shares and gaps with their uncertainty, and what these say of a limit: within, beyond, or not decided yet.

The sampling unit is a cluster, for instance a scenario with all its variants and samples. An estimate knows
how its interval would shrink with more clusters, so it can say how many would decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Protocol

from .checks import require_counts, require_part, require_shares
from .distributions import Interval, normal_z, student_t
from .proportions import mid_p, mid_p_tail, wilson

_MOST_CLUSTERS = 1_000_000
# Below this, a variance is what floating point has left of none.
_NO_VARIANCE = 1e-12


class Estimate(Protocol):
    """A figure from a number of clusters, whose interval can be asked for as of another number."""

    @property
    def clusters(self) -> int: ...

    def interval(self, confidence: float) -> Interval: ...

    def of_size(self, clusters: int) -> Estimate: ...


@dataclass(frozen=True)
class ShareEstimate:
    """A share of trials that are in clusters.

    `per_cluster` is how many trials a cluster has, on average. `worth` is how many independent trials a
    cluster is worth: one, for instance, where all ten trials of each cluster come out alike. It is None where
    the clusters show no spread, so that nobody knows; each counts as one trial then.
    """

    share: float
    clusters: int
    per_cluster: float = 1.0
    worth: float | None = None

    @classmethod
    def of(cls, counts: Iterable[tuple[int, int]]) -> ShareEstimate | None:
        """From each cluster's passed trials and all its trials; None without trials.

        Raises ValueError for counts that cannot be.
        """
        counted = [(passed, trials) for passed, trials in counts if trials != 0]
        for passed, trials in counted:
            require_counts((passed, trials), "the number of trials")
            require_part(passed, trials)
        trials = sum(of_it for _, of_it in counted)
        if not trials:
            return None
        passed = sum(those for those, _ in counted)
        size = len(counted)
        return cls(passed / trials, size, trials / size, _worth(counted, passed, trials))

    def effective(self, confidence: float) -> float:
        """How many independent trials this is worth at a confidence, corrected for few clusters."""
        if self.worth is None:
            return self.clusters
        trials = self.clusters * self.per_cluster
        # Korn & Graubard 1998: effective sample size with Student's t for few clusters.
        level = (1 + confidence) / 2
        correction = student_t(level, trials - 1) / student_t(level, self.clusters - 1)
        return min(trials, self.clusters * self.worth * correction**2)

    def interval(self, confidence: float) -> Interval:
        """The mid-P interval of as many independent trials."""
        effective = self.effective(confidence)
        found = mid_p(self.share * effective, effective, confidence)
        return found or Interval(0.0, 1.0)

    def wilson(self, confidence: float) -> Interval | None:
        """Wilson's interval of as many independent trials."""
        effective = self.effective(confidence)
        return wilson(self.share * effective, effective, confidence)

    def of_size(self, clusters: int) -> ShareEstimate:
        """As of another number of clusters, if share and spread stay as they are."""
        return replace(self, clusters=clusters)

    def power_below(self, limit: float, true_share: float, confidence: float) -> float:
        """The chance that the interval lies below the limit, if the true share were this one."""
        require_shares((limit, true_share), "a share")
        trials = self.effective(confidence)
        most = _most_below(limit, trials, (1 - confidence) / 2)
        return 0.0 if most is None else mid_p_tail(most, trials, true_share, including=1.0)


def _most_below(limit: float, trials: float, tail: float) -> int | None:
    """The most successes of which the interval still lies below the limit; None if not even 0 do."""
    # By bisection: with each success more, the tail grows.
    low, high = -1, math.floor(trials)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if mid_p_tail(middle, trials, limit) <= tail else (low, middle - 1)
    return None if low < 0 else low


def _worth(counted: Sequence[tuple[int, int]], passed: int, trials: int) -> float | None:
    size = len(counted)
    # In whole numbers, or clusters of one share would seem to differ by what was rounded.
    residuals = [those * trials - passed * of_it for those, of_it in counted]
    if size < 2 or not any(residuals):
        return None
    independent = passed * (trials - passed) / trials**3
    variance = size / (size - 1) * sum(r * r for r in residuals) / trials**4
    return trials * independent / variance / size


def clustered(clusters: Iterable[Sequence[bool]], confidence: float = 0.95) -> Interval | None:
    """The interval of the share of True where trials of one cluster resemble each other.

    Each cluster is, for instance, all trials of one scenario. The number of trials is
    divided by the design effect (the variance between clusters over the variance of as many
    independent trials), corrected for a small number of clusters by Student's t, and Wilson's
    interval is taken of that. Where the design effect cannot be estimated (one cluster, or all
    trials alike), a cluster counts as one trial. None without trials.
    """
    found = ShareEstimate.of((sum(cluster), len(cluster)) for cluster in clusters)
    return found.wilson(confidence) if found else None


@dataclass(frozen=True)
class GapEstimate:
    """By how much the first side's mean share is above the second's, in the same clusters.

    `ahead` is how far the first side is above, on average over all clusters, where clusters in which it isn't
    count as 0; `behind` is the same of the second side. The gap is `ahead` less `behind`. `worth` of either
    is as that of a `ShareEstimate`; `correlation` is theirs over the clusters, 0 where one has no spread.
    """

    ahead: float
    behind: float
    clusters: int
    ahead_worth: float | None = None
    behind_worth: float | None = None
    correlation: float = 0.0

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]]) -> GapEstimate | None:
        """From both sides' shares in each cluster; None without any.

        Raises ValueError for a share that cannot be.
        """
        for pair in pairs:
            require_shares(pair, "a paired share")
        if not pairs:
            return None
        size = len(pairs)
        parts = [(max(0.0, first - second), max(0.0, second - first)) for first, second in pairs]
        ahead, behind = (sum(part) / size for part in zip(*parts, strict=True))
        variances = [
            sum((one[part] - mean) ** 2 for one in parts) for part, mean in enumerate((ahead, behind))
        ]
        shared = sum((one - ahead) * (other - behind) for one, other in parts)
        spread = math.sqrt(variances[0] * variances[1])
        return cls(
            ahead,
            behind,
            size,
            _mean_worth(ahead, variances[0], size),
            _mean_worth(behind, variances[1], size),
            max(-1.0, min(1.0, shared / spread)) if spread > _NO_VARIANCE else 0.0,
        )

    @property
    def difference(self) -> float:
        return self.ahead - self.behind

    def interval(self, confidence: float) -> Interval:
        """From the mid-P intervals of both directions and their correlation (MOVER).

        For one cluster it is all that there can be. It has a width also where all clusters differ alike,
        which Student's interval hasn't: six scenarios that all come out one way do not show a gap of exactly
        100 points. It has one where none differs, too: from the intervals of both sides' shares, half of the
        scenarios hard and half easy for both, four would show that there is no gap.
        """
        if self.clusters < 2:
            return Interval(-1.0, 1.0)
        one = self._side(self.ahead, self.ahead_worth, confidence)
        other = self._side(self.behind, self.behind_worth, confidence)
        below = self._distance(self.ahead - one.low, other.high - self.behind)
        above = self._distance(one.high - self.ahead, self.behind - other.low)
        difference = self.difference
        return Interval(max(-1.0, difference - below), min(1.0, difference + above))

    def _side(self, share: float, worth: float | None, confidence: float) -> Interval:
        effective = float(self.clusters)
        if worth is not None:
            few = normal_z(confidence) / student_t((1 + confidence) / 2, self.clusters - 1)
            # What is between 0 and 1 varies at most as one trial does: a cluster is worth one at least.
            effective *= max(1.0, worth * few**2)
        # Floating point may make the mean of shares that are all 1 a little more than 1.
        return mid_p(min(1.0, share) * effective, effective, confidence) or Interval(0.0, 1.0)

    def _distance(self, one: float, other: float) -> float:
        return math.sqrt(max(0.0, one**2 - 2 * self.correlation * one * other + other**2))

    def of_size(self, clusters: int) -> GapEstimate:
        """As of another number of clusters, if shares and spread stay as they are."""
        return replace(self, clusters=clusters)

    def power(self, limit: float, confidence: float) -> float:
        """The chance to distinguish a true gap of this size from none, with as many clusters."""
        require_shares((limit,), "a gap")
        # As of a normal distribution with an interval of this width: good enough for advice.
        found = self.interval(confidence)
        half = (found.high - found.low) / 2
        return NormalDist().cdf(normal_z(confidence) * (limit / half - 1)) if half else 1.0


def _mean_worth(mean: float, squares: float, size: int) -> float | None:
    """How many independent trials a cluster is worth for a mean of shares; None without a spread."""
    independent = mean * (1 - mean)
    if size < 2 or squares <= _NO_VARIANCE or independent <= 0:
        return None
    return independent * (size - 1) / squares


def side_of(interval: Interval, allowed: Interval) -> bool | None:
    """Whether an interval lies within what is allowed (True) or beyond it (False); None for neither."""
    if allowed.low <= interval.low and interval.high <= allowed.high:
        return True
    return False if interval.high < allowed.low or interval.low > allowed.high else None


def clusters_to_decide(estimate: Estimate, allowed: Interval, confidence: float) -> int | None:
    """About how many clusters would decide on which side of a limit an estimate is, if it stays as it is.

    At least as many as there are. None where a million would not: it is exactly at the limit, or so near
    that nothing decides.
    """

    def decides(clusters: int) -> bool:
        return side_of(estimate.of_size(clusters).interval(confidence), allowed) is not None

    # One cluster has no spread to go by. Doubled until it decides, then halved to within 2.5 %: it is about.
    few = many = max(2, estimate.clusters)
    while not decides(many):
        few, many = many, many * 2
        if many > _MOST_CLUSTERS:
            return None
    while many - few > max(1, few // 40):
        middle = (few + many) // 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return many
