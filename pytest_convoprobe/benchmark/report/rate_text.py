"""Rates, gaps and people in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...reports.html.view import shown
from ...reports.words import percent
from ...stats import Gap, Interval
from ...text import one_line
from ..analysis.results import Rate
from .charts import RateBar, bar

NONE = "-"


@dataclass(frozen=True)
class Figure:
    """A pass rate to be read; `bar` is None where nothing was scored."""

    share: str
    between: str
    of: str
    bar: RateBar | None


def figure(rate: Rate) -> Figure:
    """With the interval that allows for scenarios resembling each other, where there is one."""
    share, interval = rate.pass_rate, rate.clustered or rate.interval
    if share is None:
        return Figure(NONE, "", "nothing scored", None)
    between = between_words(interval) if interval else ""
    return Figure(percent(share), between, f"{rate.passed:,} of {rate.scored:,}", bar(share, interval))


def between_words(interval: Interval) -> str:
    """`57-98 %`."""
    return f"{round(interval.low * 100)}-{round(interval.high * 100)} %"


def share_words(share: float | None) -> str:
    """`75 %`, or a dash for what is not known."""
    return NONE if share is None else percent(share)


def number_words(value: float | None) -> str:
    """`0.71`, or a dash for what is not known."""
    return NONE if value is None else f"{value:.2f}"


def points(difference: float) -> str:
    """`+12`, `-5` or `0`: percentage points."""
    rounded = round(difference * 100)
    return f"{rounded:+d}" if rounded else "0"


def gap_words(gap: Gap) -> str:
    """`+12 points (+3 to +21)`."""
    if gap.low is None or gap.high is None:
        return f"{points(gap.difference)} points (interval unknown)"
    return f"{points(gap.difference)} points ({points(gap.low)} to {points(gap.high)})"


def p_words(value: float) -> str:
    """`0.031`, `<0.001`."""
    return "<0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def person_words(person: Mapping[str, str]) -> str:
    """`age: Adult, region: North`; empty for nobody in particular."""
    return ", ".join(f"{shown(one_line(name))}: {shown(one_line(value))}" for name, value in person.items())


def name(text: str) -> str:
    """A name or an id on one line."""
    return shown(one_line(text))
