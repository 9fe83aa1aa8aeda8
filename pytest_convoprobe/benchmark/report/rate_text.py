"""Rates, gaps and people in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...formatting import UNKNOWN, percent, percent_range, points, points_range
from ...reports.html.turns import shown
from ...stats import Gap
from ...text import one_line
from ..analysis.results import Rate
from .charts import RateBar, bar


@dataclass(frozen=True)
class Figure:
    """A pass rate to be read; `bar` is None where nothing was scored."""

    share: str
    between: str
    of: str
    bar: RateBar | None


def figure(rate: Rate) -> Figure:
    """With the interval that allows for scenarios resembling each other, where there is one."""
    share, interval = rate.pass_rate, rate.widest
    if share is None:
        return Figure(UNKNOWN, "", "nothing scored", None)
    between = percent_range(interval) if interval else ""
    return Figure(percent(share), between, f"{rate.passed:,} of {rate.scored:,}", bar(share, interval))


def gap_words(gap: Gap) -> str:
    """`+12 points (+3 to +21)`."""
    between = "interval unknown" if gap.interval is None else points_range(gap.interval)
    return f"{points(gap.difference)} points ({between})"


def person_words(person: Mapping[str, str]) -> str:
    """`age: Adult, region: North`; empty for nobody in particular."""
    return ", ".join(f"{shown(one_line(name))}: {shown(one_line(value))}" for name, value in person.items())


def name(text: str) -> str:
    """A name or an id on one line."""
    return shown(one_line(text))
