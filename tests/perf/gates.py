"""How often the gates of a benchmark are wrong, on simulated benchmarks: false red, power and coverage.

`python -m tests.perf.gates` simulates for some minutes, and writes `gate_figures.json` beside this file and
the page `docs/benchmarks/gate-figures.md` from it. The same seed gives the same figures. The words come from
the package's own functions; numpy only draws the verdicts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_convoprobe.benchmark.studies.limit_checks import (
    GateState,
    check_gap,
    check_rate,
    gap_state,
    joint_level,
    rate_state,
)
from pytest_convoprobe.stats import GapEstimate, Interval, ShareEstimate, clustered, sign_flip_p, wilson

if TYPE_CHECKING:
    import numpy as np

STORED = Path(__file__).with_name("gate_figures.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "gate-figures.md"
SEED = 20261128
RUNS = 2000
FEW = 24
CELLS = 12
"""Gates of one benchmark, corrected together: two targets with six metrics, or with six gaps."""

CONFIDENCE = 0.95
LEAST, LARGEST = 0.9, 0.1
ALIKE = 0.3
"""The correlation of verdicts on one scenario, where they are clustered."""

VARIANTS = 2


@dataclass(frozen=True)
class Design:
    """A benchmark's size, and whether verdicts on one scenario resemble each other."""

    scenarios: int
    samples: int
    alike: bool


DESIGNS = [
    Design(scenarios, samples, alike)
    for alike in (False, True)
    for samples in (1, 3)
    for scenarios in (20, 50, 100, 200)
]


class Draws:
    """Verdicts of simulated scenarios, in two variants."""

    def __init__(self, design: Design, seed: Sequence[int]) -> None:
        import numpy

        self._np = numpy
        self._random = numpy.random.default_rng(list(seed))
        self._design = design

    def pairs(self, first: float, second: float, runs: int) -> Iterator[list[tuple[int, int]]]:
        """Of each run and scenario, how many samples of both variants pass, which have these true rates."""
        size = (runs, self._design.scenarios)
        effect = self._effect(size)
        one, other = (
            self._random.binomial(self._design.samples, self._chances(rate, effect, size))
            for rate in (first, second)
        )
        for left, right in zip(one.tolist(), other.tolist(), strict=True):
            yield list(zip(left, right, strict=True))

    def rates(self, runs: int) -> list[float]:
        """True rates from 60 to 98 %."""
        found: list[float] = self._random.uniform(0.6, 0.98, runs).tolist()
        return found

    def _effect(self, size: tuple[int, int]) -> np.ndarray[Any, Any]:
        """How easy each scenario is, as a standard normal."""
        return self._random.standard_normal(size)

    def _chances(
        self, rate: float, effect: np.ndarray[Any, Any], size: tuple[int, int]
    ) -> np.ndarray[Any, Any]:
        """A chance to pass for each scenario: a beta distribution around the rate, or just the rate.

        Three quarters of what makes a scenario easy are the same in both variants.
        """
        np = self._np
        if not self._design.alike:
            return np.full(size, rate)
        own = np.sqrt(0.75) * effect + np.sqrt(0.25) * self._random.standard_normal(size)
        rest = (1 - ALIKE) / ALIKE
        return np.interp(own, *_quantiles(rate * rest, (1 - rate) * rest))


@lru_cache(maxsize=64)
def _quantiles(a: float, b: float) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Normal quantiles, and the quantiles of a beta distribution at the same levels."""
    import numpy as np
    from scipy import stats as scipy_stats

    normal = np.linspace(-5, 5, 1001)
    return normal, scipy_stats.beta.ppf(scipy_stats.norm.cdf(normal), a, b)


def simulated(design: Design, number: int, runs: int = RUNS, seed: int = SEED) -> dict[str, Any]:
    """All figures of one design, as shares of runs."""
    draws = Draws(design, (seed, number))
    return {**asdict(design), **_rate_figures(design, draws, runs), **_gap_figures(design, draws, runs)}


def _rate_figures(design: Design, draws: Draws, runs: int) -> dict[str, float]:
    trials = VARIANTS * design.samples

    @cache
    def found(counts: tuple[int, ...], level: float) -> tuple[ShareEstimate, Interval]:
        estimate = ShareEstimate.of((count, trials) for count in counts)
        assert estimate is not None
        return estimate, estimate.interval(level)

    def counts(rate: float, number: int) -> Iterator[tuple[int, ...]]:
        # In one order: of equal counts, one computation is enough.
        for pairs in draws.pairs(rate, rate, number):
            yield tuple(sorted(map(sum, pairs)))

    def words(rate: float, number: int, comparisons: int = 1) -> list[GateState]:
        level = joint_level(CONFIDENCE, comparisons)
        return [rate_state(LEAST, *found(one, level)) for one in counts(rate, number)]

    truths = draws.rates(runs)
    known = [next(counts(truth, 1)) for truth in truths]
    spreads = list(zip(truths, known, strict=True))
    checks = (check_rate(LEAST, found(one, CONFIDENCE)[0], CONFIDENCE) for one in counts(0.8, 50))
    at_least = words(LEAST, runs)
    return {
        "rate_false_red": _share(at_least, GateState.RED),
        "rate_false_green": _share(at_least, GateState.GREEN),
        "rate_any_false_red": _any_red(words(LEAST, CELLS * runs // 4, CELLS)),
        "rate_any_red_of_good": _any_red(words(0.95, CELLS * runs // 4, CELLS)),
        "rate_red": _share(words(0.8, runs), GateState.RED),
        "rate_power_shown": _mean(check.power or 0.0 for check in checks),
        "rate_green": _share(words(0.98, runs), GateState.GREEN),
        "rate_coverage": _mean(_covers(found(one, CONFIDENCE)[1], truth) for truth, one in spreads),
        "group_coverage": _mean(_covers(_clustered(one, trials), truth) for truth, one in spreads),
        "group_coverage_wilson": _mean(
            _covers(wilson(sum(one), trials * len(one)), truth) for truth, one in spreads
        ),
    }


def _clustered(counts: Iterable[int], trials: int) -> Interval | None:
    return clustered([[True] * count + [False] * (trials - count) for count in counts])


def _gap_figures(design: Design, draws: Draws, runs: int) -> dict[str, float]:
    # Of single samples there are few different gaps.
    @cache
    def known(estimate: GapEstimate, level: float) -> Interval:
        return estimate.interval(level)

    def estimates(second: float, number: int) -> Iterator[tuple[GapEstimate, list[float]]]:
        for pairs in draws.pairs(0.9, second, number):
            shares = [(one / design.samples, other / design.samples) for one, other in pairs]
            estimate = GapEstimate.of(shares)
            assert estimate is not None
            yield estimate, [one - other for one, other in shares]

    def words(second: float, number: int, comparisons: int = 1) -> Iterator[GateState]:
        level = joint_level(CONFIDENCE, comparisons)
        for estimate, differences in estimates(second, number):
            interval = known(estimate, level)
            # The p-value matters only where the interval alone would be red.
            beyond = gap_state(LARGEST, interval, 0.0, 1 - level) is GateState.RED
            p_value = sign_flip_p(differences, resamples=2000) if beyond else 0.0
            yield gap_state(LARGEST, interval, p_value, 1 - level)

    at_limit = [known(estimate, CONFIDENCE) for estimate, _ in estimates(0.8, runs)]
    checks = (check_gap(LARGEST, estimate, 0.0, CONFIDENCE) for estimate, _ in estimates(0.8, 50))
    at_ten = list(words(0.8, runs))
    return {
        "gap_false_red": _share(at_ten, GateState.RED),
        "gap_false_green": _share(at_ten, GateState.GREEN),
        "gap_any_false_red": _any_red(list(words(0.8, CELLS * runs // 4, CELLS))),
        "gap_red": _share(words(0.7, runs), GateState.RED),
        "gap_distinguished": _mean(interval.low > 0 for interval in at_limit),
        "gap_power_shown": _mean(check.power or 0.0 for check in checks),
        "gap_green": _share(words(0.9, runs), GateState.GREEN),
        "gap_coverage": _mean(_covers(interval, 0.1) for interval in at_limit),
    }


def _share(words: Iterable[GateState], word: GateState) -> float:
    return _mean(one is word for one in words)


def _any_red(words: Sequence[GateState]) -> float:
    """The share of benchmarks with at least one red cell."""
    benchmarks = (words[start : start + CELLS] for start in range(0, len(words), CELLS))
    return _mean(GateState.RED in cells for cells in benchmarks)


def _covers(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low - 1e-9 <= truth <= interval.high + 1e-9


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return round(sum(found) / len(found), 4)


def rendered(stored: Mapping[str, Any]) -> str:
    """The page, from the stored figures."""
    tables = {name: _table(stored, columns) for name, columns in _COLUMNS.items()}
    runs, seed = stored["runs"], stored["seed"]
    return _PAGE.format(
        runs=f"{runs:,}", families=f"{runs // 4:,}", seed=seed, cells=CELLS, alike=f"{ALIKE:g}", **tables
    )


_COLUMNS = {
    "rates": {
        "false red": "rate_false_red",
        "false green": "rate_false_green",
        f"any of {CELLS} false red": "rate_any_false_red",
        "any red at 95 %": "rate_any_red_of_good",
        "red at 80 %": "rate_red",
        "power shown": "rate_power_shown",
        "green at 98 %": "rate_green",
        "coverage": "rate_coverage",
    },
    "gaps": {
        "false red": "gap_false_red",
        "false green": "gap_false_green",
        f"any of {CELLS} false red": "gap_any_false_red",
        "red at 20": "gap_red",
        "10 distinguished from 0": "gap_distinguished",
        "power shown": "gap_power_shown",
        "green at 0": "gap_green",
        "coverage": "gap_coverage",
    },
    "groups": {"clustered": "group_coverage", "Wilson alone": "group_coverage_wilson"},
}
_PAGE = """\
# How often gates are wrong

These figures are measured on simulated benchmarks: {runs} for each cell, and {families} benchmarks of
{cells} gates where {cells} are corrected together. In the repository, `python -m tests.perf.gates`
makes them and this page again (seed {seed}). [Use it as a gate](reading-results.md#as-a-gate) explains
the words.

Each scenario has two variants. *Alike: no*: all conversations are independent. *Alike: yes*: the verdicts
on one scenario have a correlation of {alike}, because some scenarios are harder than others. All intervals
are at 95 %. With {runs} runs, a figure of 5 % may be off by one point; with {families}, by two.

## `min_pass_rate: 0.9`

{rates}

- *False red*, *false green*: the true rate is exactly 90 %, and the gate is red or green.
- *Any of {cells} false red*: at least one of {cells} gates is red at exactly 90 %. They are corrected
  together.
- *Any red at 95 %*: at least one of {cells} gates is red, although the agent is better than each limit.
- *Red at 80 %*: the agent fails twice as often as the limit allows. *Power shown* is what the gate says of
  this, on average.
- *Green at 98 %*: the agent is much better than the limit.
- *Coverage*: how often the interval contains the true rate, which is between 60 and 98 %.

## `max_group_gap: 0.1`

{gaps}

- *False red*, *false green*: the true gap is exactly 10 points (90 and 80 %), and the gate is red or green.
- *Any of {cells} false red*: at least one of {cells} gaps of exactly 10 points is red. They are
  corrected together.
- *Red at 20*: the true gap is 20 points.
- *10 distinguished from 0*: the true gap is 10 points, and the interval is above 0. *Power shown* is what
  the gate says of this, on average.
- *Green at 0*: there is no gap.
- *Coverage*: how often the interval contains a true gap of 10 points.

## Rates of groups

{groups}

How often the two intervals of a group's rate contain the true one, which is between 60 and 98 %. Tables
and the page show the clustered one.
"""


def _table(stored: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    heads = ["Alike", "Samples", "Scenarios", *columns]
    rows = [f"| {' | '.join(heads)} |", "|---|---:|---:|" + "---:|" * len(columns)]
    for cell in stored["cells"]:
        figures = " | ".join(f"{100 * cell[name]:.1f} %" for name in columns.values())
        rows.append(
            f"| {'yes' if cell['alike'] else 'no'} | {cell['samples']} | {cell['scenarios']} | {figures} |"
        )
    return "\n".join(rows)


def main() -> None:
    """With `--page`, only the page is made again, from what is stored."""
    if "--page" not in sys.argv:
        STORED.write_text(json.dumps(_all_figures(), indent=1) + "\n", "utf-8")
    PAGE.write_text(rendered(json.loads(STORED.read_text("utf-8"))), "utf-8")


def _all_figures() -> dict[str, Any]:
    cells = []
    for number, design in enumerate(DESIGNS):
        cells.append(simulated(design, number))
        sys.stderr.write(f"{design}\n")
    # Few enough for a test to repeat them.
    few = simulated(DESIGNS[0], 0, FEW)
    return {"seed": SEED, "runs": RUNS, "cells": cells, "few": few}


if __name__ == "__main__":
    main()
