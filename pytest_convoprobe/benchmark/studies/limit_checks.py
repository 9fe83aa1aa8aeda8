"""What the data say of one limit of a gate: red, green or undecided, and all that this was made from.

Pure. An interval decides, and never a point: of an agent that is just as good as the limit asks, every other
point is on the wrong side. The intervals of all gates that one table shows hold together (Bonferroni), so
that one of twelve good cells doesn't become red by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ...formatting import counted, exact_percent, percent, percent_beside, percent_range, points, points_range
from ...stats import GapEstimate, Interval, ShareEstimate, clusters_to_decide, side_of

# The pass rate of an agent in which a gate that asks for all conversations should find a failure.
_FAULTY = 0.9


class GateState(str, Enum):
    """The word of a gate.

    `RED`: the interval lies beyond the limit. `GREEN`: it lies within. `UNDECIDED`: it includes the limit.
    `UNKNOWN` is none of them: conversations or readable answers are missing.
    """

    GREEN = "green"
    RED = "red"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LimitCheck:
    """A word, and what it was made from.

    `interval` holds with `confidence` for all of `comparisons` gates together. `power` is that of
    `scenarios`, as `power_of` says in words; None where the limit leaves nothing to find. `needed` is
    how many scenarios would decide, if all else stays as it is; None where no number would.
    """

    state: GateState
    limit: float
    interval: Interval
    scenarios: int
    needed: int | None
    power: float | None
    power_of: str
    confidence: float
    comparisons: int

    @property
    def figures(self) -> dict[str, Any]:
        """Plain data; what is not known is left out."""
        known: dict[str, Any] = {
            "limit": self.limit,
            "interval_low": round(self.interval.low, 6),
            "interval_high": round(self.interval.high, 6),
            "power": None if self.power is None else round(self.power, 6),
            "scenarios": self.scenarios,
            "scenarios_to_decide": self.needed,
            "comparisons": self.comparisons,
        }
        return {name: value for name, value in known.items() if value is not None}

    @property
    def power_words(self) -> str:
        """`power 41 %: the chance ...`; empty where there is none."""
        return "" if self.power is None else f"power {percent(self.power)}: {self.power_of}"

    @property
    def needed_words(self) -> str:
        """How many scenarios decide, or would."""
        if self.needed is None:
            return "no number of scenarios would decide, if all stays as it is: it is at the limit"
        if self.state is not GateState.UNDECIDED:
            return f"{counted(self.scenarios, 'scenario')} {'was' if self.scenarios == 1 else 'were'} enough"
        return f"about {rounded_up(self.needed):,} scenarios would decide, if all else stays as it is"

    @property
    def correction_words(self) -> str:
        """For a person who compares it with an interval of one figure alone; empty for one gate."""
        return f", corrected for {self.comparisons:,} comparisons" if self.comparisons > 1 else ""


def rounded_up(count: int) -> int:
    """With two digits: more would promise too much."""
    unit = int(10 ** max(0, len(str(count)) - 2))
    return math.ceil(count / unit) * unit


def joint_level(confidence: float, comparisons: int) -> float:
    """The confidence that each interval needs for all to hold with this one (Bonferroni)."""
    return 1 - (1 - confidence) / max(1, comparisons)


def check_rate(least: float, estimate: ShareEstimate, confidence: float, comparisons: int = 1) -> LimitCheck:
    """Whether a pass rate reaches a limit.

    A limit of 1 is not about a rate but about each conversation: one that fails decides, and no number of
    conversations could show that none ever will.
    """
    level = joint_level(confidence, comparisons)
    allowed, interval = Interval(least, 1.0), estimate.interval(level)
    state = rate_state(least, estimate, interval)
    needed: int | None = estimate.clusters
    if state is GateState.UNDECIDED:
        needed = clusters_to_decide(estimate, allowed, level)
    power, worse = _rate_power(least, estimate, level)
    words = f"the chance of red if the true pass rate is {exact_percent(worse)}"
    return LimitCheck(
        state, least, interval, estimate.clusters, needed, power, words, confidence, comparisons
    )


def _rate_power(least: float, estimate: ShareEstimate, level: float) -> tuple[float | None, float]:
    """The power against an agent that fails twice as often as the limit allows, and its pass rate."""
    if least == 0:
        return None, 0.0
    if least == 1:
        # At least: each scenario may fail in more than one conversation.
        return 1 - _FAULTY**estimate.clusters, _FAULTY
    worse = max(0.0, round(1 - 2 * (1 - least), 9))
    return estimate.power_below(least, worse, level), worse


def check_gap(
    most: float, estimate: GapEstimate, p_value: float, confidence: float, comparisons: int = 1
) -> LimitCheck:
    """Whether a gap is within a limit in either direction.

    `p_value` is that of no gap at all, not corrected. Of few scenarios the interval is an approximation, and
    this p-value is exact: what cannot be distinguished from no gap is never red.
    """
    level = joint_level(confidence, comparisons)
    allowed, interval = Interval(-most, most), estimate.interval(level)
    state = gap_state(most, interval, p_value, 1 - level)
    needed: int | None = estimate.clusters
    if state is GateState.UNDECIDED:
        needed = clusters_to_decide(estimate, allowed, level)
        if needed is not None and abs(estimate.difference) > most:
            needed = max(needed, _until_significant(estimate.clusters, p_value, 1 - level))
    power = estimate.power(most, level) if 0 < most < 1 else None
    words = f"the chance to distinguish a true gap of {points(most, signed=False)} points from none"
    return LimitCheck(state, most, interval, estimate.clusters, needed, power, words, confidence, comparisons)


def rate_state(least: float, estimate: ShareEstimate, interval: Interval) -> GateState:
    """The word for a rate and its interval."""
    if least == 1:
        return GateState.GREEN if estimate.share == 1 else GateState.RED
    return _state(side_of(interval, Interval(least, 1.0)))


def gap_state(most: float, interval: Interval, p_value: float, chance: float) -> GateState:
    """The word for a gap's interval; `chance` is the p-value up to which a gap is more than chance."""
    state = _state(side_of(interval, Interval(-most, most)))
    # `1 - level` has lost digits: a p-value that is exactly at the level counts.
    by_chance = state is GateState.RED and p_value > chance * (1 + 1e-9)
    return GateState.UNDECIDED if by_chance else state


def _state(within: bool | None) -> GateState:
    return {True: GateState.GREEN, False: GateState.RED, None: GateState.UNDECIDED}[within]


def _until_significant(scenarios: int, p_value: float, chance: float) -> int:
    """About how many scenarios are needed until such a gap is more than chance."""
    # Each scenario that differs in the same direction halves the p-value of a sign flip, which begins at 2.
    if p_value <= chance:
        return scenarios
    if p_value >= 1:
        return 2 * scenarios
    return max(scenarios + 1, math.ceil(scenarios * math.log(chance / 2) / math.log(p_value / 2)))


def rate_headline(check: LimitCheck, passed: int, scored: int) -> str:
    """What is compared comes first, for a summary that cuts lines off."""
    said = f"{passed} of {scored} passed"
    if check.limit == 1:
        share = percent_beside(passed / scored, 1.0)[0]
        compared = f"{share} < 100 %" if check.state is GateState.RED else share
        return f"{check.state.value}: {compared}: {said}, and the gate asks for all"
    if check.state is GateState.UNDECIDED:
        return (
            f"undecided: {percent_range(check.interval)} includes {exact_percent(check.limit)}: {said}; "
            f"{check.needed_words}"
        )
    red = check.state is GateState.RED
    end, limit = percent_beside(check.interval.high if red else check.interval.low, check.limit)
    return f"red: at most {end} < {limit}: {said}" if red else f"green: at least {end} >= {limit}: {said}"


def rate_lines(check: LimitCheck) -> Iterator[str]:
    """The figures behind the word."""
    scenarios = counted(check.scenarios, "scenario")
    # The headline of an undecided gate says already how many would decide.
    decided = scenarios if check.state is GateState.UNDECIDED else check.needed_words
    yield (
        f"{exact_percent(check.confidence)} interval {percent_range(check.interval)}"
        f"{check.correction_words}; limit {exact_percent(check.limit)}; {decided}"
    )
    if check.power_words:
        yield check.power_words


def gap_headline(check: LimitCheck, name: str, difference: float) -> str:
    """Of the gap that decides; what is compared comes first."""
    limit = points(check.limit, signed=False)
    if check.state is GateState.RED:
        nearest = min(abs(check.interval.low), abs(check.interval.high))
        least = points(nearest, signed=False)
        return f"red: gap {points(abs(difference), signed=False)} (at least {least}) > {limit} points: {name}"
    return (
        f"undecided: gap {points(difference)} ({points_range(check.interval)}) against {limit} points: "
        f"{name}; {check.needed_words}"
    )


def gap_line(check: LimitCheck, name: str, difference: float) -> str:
    """All figures of one gap."""
    more = f"; {check.power_words}" if check.power_words else ""
    interval = f"{exact_percent(check.confidence)} interval {points_range(check.interval)}"
    return (
        f"  {check.state.value}: {name}: {points(difference)} points ({interval}{check.correction_words}; "
        f"limit {points(check.limit, signed=False)}; {check.needed_words}{more})"
    )
