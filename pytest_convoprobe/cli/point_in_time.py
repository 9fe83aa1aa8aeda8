"""A time on the command line."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import click


class PointInTime(click.ParamType[float]):
    """Seconds since 1970, as `date +%s` prints them, or a date and time with its zone; as seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        seconds = _seconds(str(value).strip())
        if seconds is None:
            self.fail(
                f"expected seconds since 1970, or a date and time with a zone such as 2026-11-29T10:15:00Z; "
                f"got {value!r}",
                param,
                ctx,
            )
        return seconds


def _seconds(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return _of_date(text)
    return found if math.isfinite(found) and found >= 0 else None


def _of_date(text: str) -> float | None:
    try:
        # Python 3.10 doesn't read the Z.
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment.timestamp()
