"""Rows that could not be made, grouped by the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....formatting import counted
from ...console import Console

if TYPE_CHECKING:
    from ....benchmark.rows.work import Place

Failures = Sequence["tuple[Place, str]"]
"""Rows with their reasons."""

_SHOWN_IDS = 3
_LONGEST_REASON = 400


def print_failures(console: Console, stage: str, target: str, failed: Failures) -> None:
    """For each reason how many rows failed for it, the first of them, and the reason."""
    name = console.safe(f"{stage} {target}".rstrip())
    for reason, places in _by_reason(failed).items():
        console.say(
            f"{name}: {counted(len(places), 'row')} could not be made ({_ids(console, places)}):", "red"
        )
        console.say(f"    {reason_text(console, reason)}")


def failures_json(failed: Failures) -> list[dict[str, Any]]:
    """The same for programs, a row an object."""
    return [{"row": place.text, "reason": reason} for place, reason in failed]


def reason_text(console: Console, reason: str) -> str:
    """A reason on one line; a very long one is cut."""
    from ....text import shorten

    return console.safe(shorten(reason, _LONGEST_REASON))


def _by_reason(failed: Failures) -> Mapping[str, list[Place]]:
    """The rows that failed for each reason, the most frequent reason first."""
    found: defaultdict[str, list[Place]] = defaultdict(list)
    for place, reason in failed:
        found[reason].append(place)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _ids(console: Console, places: Sequence[Place]) -> str:
    names = sorted(place.text for place in places)
    shown = ", ".join(map(console.safe, names[:_SHOWN_IDS]))
    more = len(places) - _SHOWN_IDS
    return f"{shown} and {more:,} more" if more > 0 else shown
