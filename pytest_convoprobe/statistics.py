"""What repeated trials allow to say. Pure functions over counts, without a dependency.

| function | source |
|---|---|
| `wilson` | Wilson (1927), JASA 22, 209-212 |
| `clustered` | Korn & Graubard (1998), Survey Methodology 24, 193-201, with Wilson's interval inside |
| `mean_difference` | Miller (2024), arXiv 2411.00640 (paired differences by cluster), with Student's t |
| `pass_at_k` | Chen et al. (2021), arXiv 2107.03374, equation 1 |
| `pass_hat_k` | Yao et al. (2024), arXiv 2406.12045, section 4 (pass^k) |
| `mcnemar_exact` | McNemar (1947), Psychometrika 12, 153-157, in its exact binomial form |
| `fleiss_kappa` | Fleiss (1971), Psychological Bulletin 76, 378-382 |
| `krippendorff_alpha` | Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, nominal data |

Whatever cannot be computed (no trials, no two ratings of anything) is None, never 0 and never NaN.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Interval:
    """A confidence interval. Of a proportion, both ends are between 0 and 1."""

    low: float
    high: float


def wilson(successes: float, trials: float, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval of `successes` out of `trials`; None without trials.

    Both may be fractions: an effective number of trials is one.
    """
    if trials <= 0:
        return None
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
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
    interval is taken of that. Where the data cannot tell the design effect (one cluster, or all
    trials alike), a cluster counts as one trial. None without trials.
    """
    filled = [cluster for cluster in clusters if cluster]
    trials = sum(map(len, filled))
    if not trials:
        return None
    share = sum(map(sum, filled)) / trials
    effective = _effective_trials(filled, share, trials, confidence)
    return wilson(share * effective, effective, confidence)


def _effective_trials(
    clusters: Sequence[Sequence[bool]], share: float, trials: int, confidence: float
) -> float:
    count = len(clusters)
    independent = share * (1 - share) / trials
    if count < 2 or independent == 0:
        return count
    residuals = [sum(cluster) - share * len(cluster) for cluster in clusters]
    variance = count / (count - 1) * sum(r * r for r in residuals) / trials**2
    if variance == 0:
        return count
    level = (1 + confidence) / 2
    correction = student_t(level, trials - 1) / student_t(level, count - 1)
    return min(trials, trials * independent / variance * correction**2)


def mean_difference(differences: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The interval of the mean of paired differences, one a cluster; its ends are between -1 and 1 for rates.

    Trials of one cluster depend on each other in any way they like; clusters don't. None where the
    data cannot tell the spread: fewer than two clusters, or all differences alike.
    """
    count = len(differences)
    if count < 2 or max(differences) == min(differences):
        return None
    mean = sum(differences) / count
    variance = sum((difference - mean) ** 2 for difference in differences) / (count - 1)
    half = student_t((1 + confidence) / 2, count - 1) * math.sqrt(variance / count)
    return Interval(mean - half, mean + half)


def pass_at_k(trials: int, passed: int, k: int) -> float | None:
    """The chance that at least one of `k` trials passes, from `trials` of which `passed` did."""
    if not 0 < k <= trials:
        return None
    return 1 - math.comb(trials - passed, k) / math.comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float | None:
    """The chance that all of `k` trials pass (pass^k), from `trials` of which `passed` did."""
    if not 0 < k <= trials:
        return None
    return math.comb(passed, k) / math.comb(trials, k)


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided p-value of paired outcomes that differ: passed only in one or only in the other."""
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    tail = sum(math.comb(discordant, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << discordant))


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Agreement beyond chance; one row a subject, one column a category, each row of one sum.

    None with fewer than two ratings a subject, and where all ratings fall into one category
    (chance alone would agree, so nothing can be said). Raises ValueError for rows of unequal sums.
    """
    if not counts or sum(counts[0]) < 2:
        return None
    raters = sum(counts[0])
    if any(sum(row) != raters for row in counts):
        raise ValueError("every subject needs the same number of ratings")
    shares = [sum(column) / (len(counts) * raters) for column in zip(*counts, strict=True)]
    by_chance = sum(share**2 for share in shares)
    agreed = sum(sum(n * (n - 1) for n in row) for row in counts) / (len(counts) * raters * (raters - 1))
    return None if math.isclose(by_chance, 1) else (agreed - by_chance) / (1 - by_chance)


def krippendorff_alpha(units: Iterable[Sequence[Hashable | None]]) -> float | None:
    """Agreement of nominal ratings, any number a unit; None in a unit is a missing rating.

    None where no unit has two ratings, or all ratings are the same.
    """
    paired = [rated for unit in units if len(rated := [r for r in unit if r is not None]) > 1]
    totals = Counter(rating for rated in paired for rating in rated)
    number = totals.total()
    expected = number**2 - sum(n * n for n in totals.values())
    if not expected:
        return None
    observed = sum(_disagreement(rated) for rated in paired)
    return 1 - (number - 1) * observed / expected


def _disagreement(rated: Sequence[Hashable]) -> float:
    """Ordered pairs of unequal ratings in a unit, each weighted by 1 / (ratings - 1)."""
    same = sum(n * n for n in Counter(rated).values())
    return (len(rated) ** 2 - same) / (len(rated) - 1)


def student_t(level: float, degrees: float) -> float:
    """The `level` quantile (above 0.5) of Student's t distribution, by bisection."""
    low, high = 0.0, 1.0
    while _student_cdf(high, degrees) < level:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _student_cdf(middle, degrees) < level else (low, middle)
    return high


def _student_cdf(t: float, degrees: float) -> float:
    return 1 - _incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function (Abramowitz & Stegun 26.5.8)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    if x <= 0:
        return 0.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a / _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1 + d1 / (1 + d2 / (1 + ...)), from the inside out."""
    fraction = 1.0
    for m in range(300, -1, -1):
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        even = (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))) if m else 0.0
        fraction = 1 + odd / fraction
        fraction = 1 + even / fraction if m else fraction
    return fraction
