"""Shares of trials: their intervals, and what they say about several trials at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .checks import require_counts, require_level, require_part, require_shares
from .distributions import Interval, incomplete_beta, normal_z


def wilson(successes: float, trials: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of `successes` out of `trials`; None without trials.

    Both may be fractions: an effective number of trials is one. Raises ValueError for NaN, and for successes
    that cannot be: less than none, or more than the trials.
    """
    require_level(confidence)
    require_part(successes, trials)
    if trials <= 0:
        return None
    # Wilson 1927. The usual interval around the share has no width at 0 and 1, where most gates are.
    z2 = normal_z(confidence) ** 2
    share = successes / trials
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = math.sqrt(z2 * (share * (1 - share) / trials + z2 / (4 * trials**2))) / (1 + z2 / trials)
    # Rounding must not push an end past 0 or 1, nor past the share itself.
    return Interval(max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half)))


def mid_p(successes: float, trials: float, confidence: float = 0.95) -> Interval | None:
    """The mid-P interval of `successes` out of `trials`; None without trials.

    It is the exact binomial interval with half of the chance of the observed count. An end is on the wrong
    side of the true share in at most (1 - confidence) of all samples, whatever the share is. Wilson's isn't:
    of 20 trials at 95 %, its upper end is too low in 7.5 %. Both may be fractions. Raises ValueError as
    `wilson` does.
    """
    require_level(confidence)
    require_part(successes, trials)
    if trials <= 0:
        return None
    tail = (1 - confidence) / 2
    low = _root(lambda share: 1 - mid_p_tail(successes, trials, share) - tail)
    high = 1 - _root(lambda share: mid_p_tail(successes, trials, 1 - share) - tail)
    return Interval(min(low, successes / trials), max(high, successes / trials))


def at_most(successes: float, trials: float, confidence: float = 0.95) -> float | None:
    """The upper bound of the share behind `successes` out of `trials`, on one side; None without trials.

    Exact (Clopper & Pearson 1934): the bound is below the true share in at most (1 - confidence) of all
    samples. Without a success it is close to 3 / trials. Raises ValueError as `wilson` does.
    """
    require_level(confidence)
    require_part(successes, trials)
    if trials <= 0:
        return None
    found = 1 - _root(lambda share: mid_p_tail(successes, trials, 1 - share, 1.0) - (1 - confidence))
    return max(found, successes / trials)


def mid_p_tail(successes: float, trials: float, share: float, including: float = 0.5) -> float:
    """The chance of fewer successes than these, and of `including` times these; both may be fractions."""
    just = _chance(successes, trials, share)
    if successes >= trials:
        return 1 - (1 - including) * just
    return incomplete_beta(trials - successes, successes + 1, 1 - share) - (1 - including) * just


def _chance(successes: float, trials: float, share: float) -> float:
    """The binomial chance of exactly so many successes, with factorials of fractions."""
    failures = trials - successes
    if share in (0, 1):
        return 1.0 if (failures if share else successes) == 0 else 0.0
    ways = math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(failures + 1)
    return math.exp(ways + successes * math.log(share) + failures * math.log1p(-share))


def _root(rising: Callable[[float], float]) -> float:
    """The share at which a rising function is 0, by regula falsi (Illinois); 0 if it is above there."""
    low, high = 0.0, 1.0
    at_low, at_high = rising(low), rising(high)
    if at_low >= 0:
        return low
    side = 0
    for _ in range(200):
        share = (low * at_high - high * at_low) / (at_high - at_low)
        found = rising(share)
        if abs(found) < 1e-12 or high - low < 1e-10:
            break
        # The end that stays a second time counts half, or the other one would hardly move.
        if found > 0:
            high, at_high, at_low = share, found, at_low / 2 if side > 0 else at_low
            side = 1
        else:
            low, at_low, at_high = share, found, at_high / 2 if side < 0 else at_high
            side = -1
    return share


def newcombe(share1: float, first: Interval, share2: float, second: Interval) -> Interval:
    """The interval of the first share less the second, of trials that aren't paired.

    Newcombe's method 10, from the interval of each share: Wilson's, or one that allows for clusters. The ends
    are between -1 and 1. Raises ValueError for shares that cannot be.
    """
    require_shares((share1, first.low, first.high, share2, second.low, second.high), "a share")
    below = math.hypot(share1 - first.low, second.high - share2)
    above = math.hypot(first.high - share1, share2 - second.low)
    difference = share1 - share2
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))


def pass_at_k(trials: int, passed: int, k: int) -> float | None:
    """The chance that at least one of `k` trials passes, from `trials` of which `passed` did.

    None where there are fewer trials than `k`. Raises ValueError for counts that cannot be.
    """
    if not _has_k(trials, passed, k):
        return None
    # Unbiased (Chen et al. 2021, the paper on Codex): 1 - (1 - share)^k would be too low.
    return 1 - math.comb(trials - passed, k) / math.comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float | None:
    """The chance that all of `k` trials pass (pass^k), from `trials` of which `passed` did.

    None where there are fewer trials than `k`. Raises ValueError for counts that cannot be.
    """
    if not _has_k(trials, passed, k):
        return None
    # Unbiased as well (Yao et al. 2024, τ-bench): share^k would be too high.
    return math.comb(passed, k) / math.comb(trials, k)


def _has_k(trials: int, passed: int, k: int) -> bool:
    require_counts((trials, passed, k), "the number of trials")
    require_part(passed, trials)
    return 0 < k <= trials


@dataclass(frozen=True)
class BinaryRates:
    """How often yes-or-no answers are right: counts of true and false positives and negatives.

    Raises ValueError for a count that is negative or not a whole number.
    """

    tp: int
    fp: int
    tn: int
    fn: int

    def __post_init__(self) -> None:
        require_counts((self.tp, self.fp, self.tn, self.fn), "a count of answers")

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
    """The rates of pairs of what is true and what was said.

    Raises ValueError for an answer that is neither yes nor no: None would count as a no that nobody said.
    """
    counts = Counter(pairs)
    if odd := [pair for pair in counts if not {*pair} <= {True, False}]:
        raise ValueError(f"a pair of answers has to be true or false on either side, not {odd[0]}")
    return BinaryRates(
        tp=counts[True, True], fp=counts[False, True], tn=counts[False, False], fn=counts[True, False]
    )
