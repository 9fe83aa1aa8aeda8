"""What else was tried for a scenario with a past, computed exactly: over all pasts and courses of talks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_convoprobe.gate.e_value import log_predicted, ratio
from pytest_convoprobe.gate.policies import DRIFT_SHARE, Paired
from pytest_convoprobe.gate.prior import Prior
from pytest_convoprobe.gate.types import Past, Word

from .gate_model import AGENTS, BEFORE, BROKEN, Scenario

MOST, ALPHA, ERROR = 20, 0.05, 0.05
SHORT = 8
SUITE = Prior(0.12, 3.88)
"""What the mixed agents' pasts give: a mean of 3 %, worth four conversations."""

Evidence = Callable[[int, int, Past, int], float]
"""The evidence after so many fails of so many talks, with this past, in a suite of this size."""


def _suite_prior(failed: int, talks: int, past: Past, _: int) -> float:
    broken = (0.5 * math.exp(log_predicted(failed, talks, a, b)) for a, b in ((5, 5), (10, 0.5)))
    known = SUITE.a + past.failed, SUITE.b + past.talks - past.failed
    return sum(broken) / math.exp(log_predicted(failed, talks, *known))


def _jeffreys(failed: int, talks: int, past: Past, _: int) -> float:
    return ratio(failed, talks, past)


def _every_rate(failed: int, talks: int, past: Past, _: int) -> float:
    """Against the rate that explains past and present best, whichever it is (universal inference)."""
    both, n = past.failed + failed, past.talks + talks
    best = sum(count * math.log(count / n) for count in (both, n - both) if count)
    before = log_predicted(past.failed, past.talks, 0.5, 0.5)
    known = log_predicted(failed, talks, past.failed + 0.5, past.talks - past.failed + 0.5)
    return math.exp(before - best) * ratio(failed, talks, past) * math.exp(known)


def _upper_bound(failed: int, talks: int, past: Past, scenarios: int) -> float:
    """Against the largest rate that the past leaves possible, which costs a tenth of alpha."""
    rate = min(_largest_rate(past, 0.1 * _share(scenarios)), failed / talks)
    passed = talks - failed
    chance = (failed * math.log(rate) if failed else 0.0) + (passed * math.log(1 - rate) if passed else 0.0)
    known = log_predicted(failed, talks, past.failed + 0.5, past.talks - past.failed + 0.5)
    return 0.9 * ratio(failed, talks, past) * math.exp(known - chance)


@lru_cache(maxsize=1000)
def _largest_rate(past: Past, chance: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        seen = sum(_binomial(failed, past.talks, middle) for failed in range(past.failed + 1))
        low, high = (middle, high) if seen > chance else (low, middle)
    return high


def _share(scenarios: int) -> float:
    return (1 - DRIFT_SHARE) * ALPHA / scenarios


@dataclass(frozen=True)
class Tried:
    """One way to decide: the evidence if it isn't ours, and the first conversations by the past."""

    name: str
    evidence: Evidence | None = None
    first: Callable[[Past], int] = lambda past: 1
    simple_boundary: bool = False
    both_said_twice: bool = False
    before: int = BEFORE

    def word(self, failed: int, talks: int, past: Past, scenarios: int) -> Word | None:
        """What is decided after these conversations."""
        policy = Paired(past, SUITE, scenarios, ALPHA, self.first(past), MOST)
        ruling = policy.after(failed, talks)
        if self.evidence is None or 2 * past.failed > past.talks or failed == 0:
            return ruling and ruling.word
        if self.evidence(failed, talks, past, scenarios) >= 1 / _share(scenarios):
            return Word.RED
        if self.simple_boundary:
            before = SUITE.rate(past)
            return Word.GREEN if _as_before(failed, talks, before) else _open(talks)
        return _open(talks) if ruling is None or ruling.word is Word.RED else ruling.word


def _open(talks: int) -> Word | None:
    return Word.UNDECIDED if talks >= MOST else None


def _as_before(failed: int, talks: int, before: float) -> bool:
    worse = min(max(before + 0.3, 0.5), 0.95)
    passed = talks - failed
    ratio_ = failed * math.log(worse / before) + passed * math.log((1 - worse) / (1 - before))
    return ratio_ <= math.log(0.1)


WAYS = [
    Tried(
        "prior of the suite, Ville's bound, 0.3 more (the first draft)", _suite_prior, simple_boundary=True
    ),
    Tried("largest rate that the past leaves possible", _upper_bound),
    Tried("best rate for past and present (universal inference)", _every_rate),
    Tried("Jeffreys' prior, Ville's bound", _jeffreys),
    Tried("**ours**, without second looks"),
    Tried("ours, 2 first for scenarios that failed before", first=lambda past: 2 if past.failed else 1),
    Tried("ours, 2 first for scenarios that never failed", first=lambda past: 1 if past.failed else 2),
    Tried("ours, 2 first for all", first=lambda past: 2),
    Tried("ours, a PASS said twice too", both_said_twice=True),
    Tried("ours, with a past of 8", before=SHORT),
    Tried("ours, with a past of 50", before=50),
]

SIZES = (20, 100)
_SUITE = [(Scenario(rate, ERROR), weight) for rate, weight in AGENTS["mixed"].items()]
RATES = [0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]


def tried() -> list[dict[str, Any]]:
    """The figures of each way: as shares, and conversations a scenario."""
    return [{"name": way.name, **figures(way)} for way in WAYS]


def figures(way: Tried) -> dict[str, float]:
    """What one way to decide comes to: shares, and conversations a scenario."""
    pasts = {"short": SHORT, "own": way.before}
    found = {
        f"worst_{name}_{size}": round(_worst(way, before, size), 4)
        for name, before in pasts.items()
        for size in SIZES
    }
    missed = {
        f"{name}_{size}": round(1 - _mean_red(way, size, part), 4)
        for size in SIZES
        for name, part in BROKEN.items()
    }
    return {**found, **missed, "cost": round(_cost(way), 3)}


def _worst(way: Tried, before: int, size: int) -> float:
    """Of all rates, the largest chance of a red run where every scenario has that rate."""
    return max(1 - (1 - _red(way, rate, rate, before, size)) ** size for rate in RATES)


def _mean_red(way: Tried, size: int, part: float) -> float:
    """The chance that one broken scenario of the suite is red."""
    return sum(
        weight * _red(way, _failing(way, one), _failing(way, one.broken(part)), way.before, size)
        for one, weight in _SUITE
    )


def _cost(way: Tried) -> float:
    """Conversations a scenario, in a suite of 20."""
    return sum(weight * _talks(way, _failing(way, one)) / _judged(way, one) for one, weight in _SUITE)


def _talks(way: Tried, rate: float) -> float:
    return sum(
        _binomial(failed, way.before, rate) * _course(way, rate, way.before, 20, failed)[1]
        for failed in range(way.before + 1)
    )


def _judged(way: Tried, scenario: Scenario) -> float:
    """The part of the conversations that have a verdict."""
    return 1 - scenario.twice(every=way.both_said_twice)[1]


def _failing(way: Tried, scenario: Scenario) -> float:
    return scenario.twice()[0] / _judged(way, scenario)


def _red(way: Tried, before: float, now: float, talks: int, size: int) -> float:
    return sum(_binomial(k, talks, before) * _course(way, now, talks, size, k)[0] for k in range(talks + 1))


@lru_cache(maxsize=100_000)
def _course(way: Tried, rate: float, before: int, size: int, failed_before: int) -> tuple[float, float]:
    """The chance of red, and the average number of conversations with a verdict."""
    past, open_with, red, cost = Past(failed_before, before), {0: 1.0}, 0.0, 0.0
    for talks in range(1, MOST + 1):
        cost += sum(open_with.values())
        after: dict[int, float] = {}
        for failed, chance in open_with.items():
            after[failed] = after.get(failed, 0.0) + chance * (1 - rate)
            after[failed + 1] = after.get(failed + 1, 0.0) + chance * rate
        open_with = {}
        for failed, chance in after.items():
            word = _word(way, failed, talks, past, size) if talks >= way.first(past) else None
            red += chance if word is Word.RED else 0.0
            if word is None:
                open_with[failed] = chance
    return red, cost


@lru_cache(maxsize=200_000)
def _word(way: Tried, failed: int, talks: int, past: Past, size: int) -> Word | None:
    return way.word(failed, talks, past, size)


def _binomial(failed: int, talks: int, rate: float) -> float:
    return math.comb(talks, failed) * rate**failed * (1 - rate) ** (talks - failed)
