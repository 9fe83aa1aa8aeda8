"""Confidence intervals, and the quantiles that they are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from .checks import require_level

_TINY = 1e-300
_CONVERGED = 1e-15
_MOST_TERMS = 10_000


@dataclass(frozen=True)
class Interval:
    """A confidence interval. Of a proportion, both ends are between 0 and 1."""

    low: float
    high: float


def normal_z(confidence: float) -> float:
    """How many standard errors on either side of the mean cover `confidence` of a normal distribution.

    Raises ValueError for a confidence that isn't above 0 and below 1.
    """
    require_level(confidence)
    return NormalDist().inv_cdf((1 + confidence) / 2)


# Reports ask for the same few quantiles again and again.
@lru_cache(maxsize=1024)
def student_t(level: float, degrees: float) -> float:
    """The `level` quantile of Student's t distribution, by bisection.

    Raises ValueError for a level of 0.5 or below, or of 1 or above, and without degrees of freedom.
    """
    if not 0.5 < level < 1 or not degrees > 0:
        raise ValueError(f"Student's t has no quantile for {level} and {degrees} degrees of freedom")
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
    return 1 - incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function (Abramowitz & Stegun 26.5.8)."""
    # The fraction converges fast on one side of the mean only; the other side is the rest to 1.
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    if x <= 0:
        return 0.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a / _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction 1 + d1 / (1 + d2 / (1 + ...)), by Lentz's method, until it no longer changes."""
    fraction = ahead = 1.0
    behind = 0.0
    for term in _beta_terms(a, b, x):
        # No zero may be divided by: the next step makes up for what is added (Press et al., section 5.2).
        behind = 1 / (1 + term * behind or _TINY)
        ahead = 1 + term / ahead or _TINY
        fraction *= ahead * behind
        if abs(ahead * behind - 1) < _CONVERGED:
            break
    return fraction


def _beta_terms(a: float, b: float, x: float) -> Iterator[float]:
    for m in range(_MOST_TERMS):
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        yield (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))
