"""When a conversation began: a date, a time and their zone, for prompts, templates, records and reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

# Not `strftime`: its names follow the locale of the process, and a prompt must be the same everywhere.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip

_EXPECTED = "must be a date and a time with their zone, such as 2026-11-28T14:30:00+01:00"


def present() -> datetime:
    """The time now in the zone of this machine, to the second."""
    return datetime.now().astimezone().replace(microsecond=0)


def read_time(value: object) -> datetime:
    """From ISO 8601, or from a `datetime` as TOML has it. Raises `ValueError` without a time or a zone."""
    if isinstance(value, str):
        value = _from_text(value.strip())
    if not isinstance(value, datetime):
        is_date = isinstance(value, date)
        raise ValueError(f"{_EXPECTED}; the time is missing" if is_date else _EXPECTED)
    if value.tzinfo is None:
        raise ValueError(f"{_EXPECTED}; the zone is missing")
    return value.replace(microsecond=0)


def in_words(time: datetime) -> str:
    """`Saturday, 28 November 2026, 14:30 (UTC+01:00)`."""
    day = f"{_DAYS[time.weekday()]}, {time.day} {_MONTHS[time.month - 1]} {time.year}"
    return f"{day}, {time:%H:%M} ({_zone(time)})"


TEMPLATE_NAMES = ("now", "today")


def template_values(time: datetime) -> Mapping[str, str]:
    """What templates of targets may name: `now` (2026-11-28T14:30:00+01:00) and `today` (2026-11-28)."""
    return {"now": time.isoformat(), "today": time.date().isoformat()}


def _from_text(text: str) -> object:
    # Python 3.10 doesn't know the letter for UTC.
    iso = f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text
    try:
        return date.fromisoformat(iso) if len(iso) == len("2026-11-28") else datetime.fromisoformat(iso)
    except ValueError:
        return None


def _zone(time: datetime) -> str:
    text = f"{time:%z}"
    offset = f"UTC{text[:3]}:{text[3:5]}"
    return "UTC" if offset == "UTC+00:00" else offset
