"""Numbers, times and money as people read them: one rule for each, in the terminal, pages and documents.

Programs read other files (JSON, JUnit), which have plain numbers.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .stats import Interval

UNKNOWN = "-"
"""In a table, for what is not known."""


def seconds(value: float | None) -> str:
    """`40 ms`, `0.4 s`, `12 s`, `3 min 5 s`, `2 h 0 min`: two units at most, the smaller one rounded."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.0995:
        return f"{value * 1000:.0f} ms"
    # Rounded before the unit is chosen: 59.6 s are a minute, not 60 s.
    if value < 9.95:
        return f"{value:.1f} s"
    if round(value) < 60:
        return f"{value:.0f} s"
    if round(value) < 3600:
        return "{} min {} s".format(*divmod(round(value), 60))
    return "{:,} h {} min".format(*divmod(round(value / 60), 60))


def exact_seconds(value: float | None) -> str:
    """`0.25 s`, `90 s`: a setting, such as a time limit, in its own unit and with the digits it was given."""
    return UNKNOWN if value is None else f"{value:g} s"


def moment(stamp: float) -> str:
    """`2026-11-27 22:15 UTC`; empty for a time that is not known (0, or nothing that a calendar has).

    Always UTC: run ids begin with UTC, and so do the logs of CI. The reader of a report may be in another
    time zone than its writer.
    """
    try:
        when = datetime.fromtimestamp(stamp, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{when:%Y-%m-%d %H:%M} UTC" if stamp > 0 else ""


def percent(share: float | None) -> str:
    """`75 %`: a whole number, with one decimal near the ends (`99.6 %`).

    A share is never rounded to all or nothing: 9,999 of 10,000 are `99.9 %`.
    """
    return UNKNOWN if share is None else f"{_whole(share)} %"


def percent_range(interval: Interval | None) -> str:
    """`57-98 %`."""
    return UNKNOWN if interval is None else f"{_whole(interval.low)}-{_whole(interval.high)} %"


def exact_percent(share: float) -> str:
    """`97.5 %`: a setting, such as a confidence or a limit, with all the digits that it was given."""
    return f"{100 * share:.10g} %"


def percent_beside(share: float, limit: float) -> tuple[str, str]:
    """A share and the limit that it is compared with: with the digits that show which one is larger."""
    for digits in range(_DIGITS):
        rounded = round(share, digits + 2)
        if (rounded < limit) is (share < limit) and (rounded > limit) is (share > limit):
            break
    return exact_percent(rounded), exact_percent(limit)


def points(difference: float, *, signed: bool = True) -> str:
    """`+12`, `-5`, `0`: percentage points; less than one of them has a decimal (`+0.4`)."""
    value = 100 * difference
    digits = next((digits for digits in range(_DIGITS) if round(value, digits)), 0)
    text = f"{value:+.{digits}f}" if round(value, digits) else "0"
    return text if signed else text.lstrip("+-")


def points_range(interval: Interval) -> str:
    """`-42 to +100`: percentage points."""
    return f"{points(interval.low)} to {points(interval.high)}"


def number(value: float | None, digits: int = 2) -> str:
    """A score or a coefficient, with so many decimals: `0.71`."""
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def number_range(interval: Interval | None) -> str:
    """`0.20 to 0.55`: numbers may be negative, so not with a dash."""
    return UNKNOWN if interval is None else f"{number(interval.low)} to {number(interval.high)}"


def p_value(value: float) -> str:
    """`0.31`, `0.031`, `<0.001`."""
    return "<0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def p_equals(value: float) -> str:
    """`p = 0.031`, `p < 0.001`."""
    text = p_value(value)
    return f"p < {text[1:]}" if text.startswith("<") else f"p = {text}"


def dollars(cost: float | None, unknown: str = "price unknown") -> str:
    """`$0.0123`, `$1.50`, `<$0.0001`, `$0`. A price that is not known is said to be unknown, never 0."""
    if cost is None:
        return unknown
    if cost == 0:
        return "$0"
    if cost < 0.0001:
        return "<$0.0001"
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.4f}"


def size(length: int) -> str:
    """`512 bytes`, `30 kB`, `1.5 MB`: how much data there is."""
    if length < 1000:
        return counted(length, "byte")
    return f"{round(length / 1000):,} kB" if length < 999_500 else f"{length / 1_000_000:,.1f} MB"


def counted(number: int, thing: str) -> str:
    """`1 call`, `1,200 calls`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


_DIGITS = 8


def _whole(share: float) -> str:
    """Without the sign. What differs from 0 and 1 only by the error of floats counts as these."""
    whole = round(100 * share)
    if whole not in (0, 100) or abs(100 * share - whole) < 1e-9:
        return f"{whole}"
    return f"{min(99.9, max(0.1, 100 * share)):.1f}"
