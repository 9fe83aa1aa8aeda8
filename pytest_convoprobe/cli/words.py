"""Numbers, times and outcomes in the words of a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .tables import Cell

if TYPE_CHECKING:
    from ..results.store import RunInfo
    from ..stats import Interval

COLORS = {"passed": "green", "failed": "red", "error": "yellow", "skipped": "faint"}
_UNKNOWN = "-"


def outcome_cell(outcome: str) -> Cell:
    """`passed`, `failed`, `error` or `skipped` in its colour."""
    return Cell(outcome, COLORS.get(outcome, ""))


def moment(seconds: float) -> str:
    """A time of day here, to the minute; `-` if it isn't known."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds else _UNKNOWN


def seconds_text(seconds: float | None) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds is None:
        return _UNKNOWN
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def percent(share: float | None) -> str:
    """A share as a whole percentage; one that isn't all or nothing never looks as if it were."""
    if share is None:
        return _UNKNOWN
    rounded = round(share * 100)
    if 0 < share < 1:
        rounded = min(99, max(1, rounded))
    return f"{rounded} %"


def between(interval: Interval | None) -> str:
    """`57-98 %`."""
    if interval is None:
        return _UNKNOWN
    return f"{round(interval.low * 100)}-{round(interval.high * 100)} %"


def number(value: float | None, digits: int = 2) -> str:
    """A number with so many digits behind the point."""
    return _UNKNOWN if value is None else f"{value:.{digits}f}"


def money(cost: float | None) -> str:
    """US dollars; `-` where the price isn't known."""
    from ..reports.money import dollars

    return _UNKNOWN if cost is None else dollars(cost)


def commit_text(info: RunInfo) -> str:
    """`main 1a2b3c4d+`; the plus says that the checkout had changes of its own."""
    if info.git is None:
        return _UNKNOWN
    name = info.git.commit[:8] + ("+" if info.git.dirty else "")
    return f"{info.git.branch} {name}" if info.git.branch else name


def counts_text(counts: Mapping[str, int]) -> str:
    """`5 passed, 1 failed`."""
    return ", ".join(f"{counts[name]} {name}" for name in COLORS if counts.get(name)) or "nothing"


def rate_color(rate: float | None) -> str:
    """Green for all, red for none, yellow between."""
    if rate is None:
        return "faint"
    return "green" if rate == 1 else "red" if rate == 0 else "yellow"
