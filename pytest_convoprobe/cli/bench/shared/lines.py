"""A lane of a run in words: while it goes on, as a bar or as a sentence, and when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from ....text import cell_width
from ...console import Console
from ...tables import cut_middle
from ...words import money, percent, seconds_text
from .watch import Lane

_WIDEST_BAR, _NARROWEST_BAR = 30, 6
_NARROWEST_NAME = 8
_GAP = "  "


def name_of(lane: Lane) -> str:
    """`simulate gpt-4o`."""
    return f"{lane.stage} {lane.target}".rstrip()


def beginning(lane: Lane) -> str:
    """What there is to do."""
    before = f"{lane.before:,} done before" if lane.before else ""
    if not lane.due:
        return "nothing to do" + (f", {before}" if before else "")
    return f"{lane.due:,} to do" + (f" ({before})" if before else "")


def so_far(lane: Lane, now: float) -> str:
    """How far it is: `120 of 400, 2 failed, 2.1/s, $0.12, 2 min 13 s left`."""
    return ", ".join(_known([f"{lane.done:,} of {lane.due:,}", *_wrong(lane), *_pace(lane, now)]))


def result(lane: Lane, now: float) -> str:
    """What came of it: `398 made, 2 failed, $0.12, 3 min 20 s`."""
    if not lane.due:
        return beginning(lane)
    made = lane.done - lane.failed
    left = lane.report.left if lane.report else lane.due - lane.done
    still = f"{left:,} left" if left else ""
    return ", ".join(
        _known([f"{made:,} made", *_wrong(lane), still, _spent(lane), seconds_text(lane.seconds(now))])
    )


def bar_line(console: Console, lane: Lane, now: float, names: int) -> str:
    """A line of at most the terminal's width; `names` columns are for the name, where there is room.

    What is least needed goes first where there is none: the bar, the cost, the rate.
    """
    room = (console.width or 80) - 1
    count = f"{lane.done:,}/{lane.due:,}"
    rate, cost, left = _pace(lane, now)
    wrong = ", ".join(_wrong(lane))
    share = percent(lane.done / lane.due if lane.due else 1.0)
    choices = (
        [share, count, rate, cost, left, wrong],
        [share, count, rate, left, wrong],
        [share, count, left, wrong],
        [share, count, wrong],
        [share],
    )
    tails = (_GAP.join(_known(parts)) for parts in choices)
    needed = min(names, room // 2)
    tail = next((tail for tail in tails if needed + len(_GAP) + cell_width(tail) <= room), share)
    name = _fitted(
        console, name_of(lane), max(_NARROWEST_NAME, min(names, room - cell_width(tail) - len(_GAP)))
    )
    width = room - cell_width(name) - cell_width(tail) - 2 * len(_GAP)
    parts = [name, *([_bar(console, lane, min(width, _WIDEST_BAR))] if width >= _NARROWEST_BAR else []), tail]
    return cut(_GAP.join(parts), room)


def cut(text: str, width: int) -> str:
    """The text in at most so many columns."""
    while cell_width(text) > width:
        text = text[:-1]
    return text


def _fitted(console: Console, name: str, width: int) -> str:
    shown = cut_middle(console.safe(name), width, console)
    return shown + " " * (width - cell_width(shown))


def _bar(console: Console, lane: Lane, width: int) -> str:
    filled = round(width * (lane.done / lane.due if lane.due else 1.0))
    full, empty = ("█", "░") if console.unicode else ("#", ".")
    return full * filled + empty * (width - filled)


def _wrong(lane: Lane) -> list[str]:
    counts = {"failed": lane.failed, "unreadable": lane.unreadable}
    return [f"{number:,} {what}" for what, number in counts.items() if number]


def _pace(lane: Lane, now: float) -> tuple[str, str, str]:
    """The rate, the cost, the time left; empty where they aren't known."""
    rate, left = lane.rate(now), lane.seconds_left(now)
    pace = "" if rate is None else f"{rate:.1f}/s" if rate >= 0.1 else f"{rate * 60:.1f}/min"
    return pace, _spent(lane), "" if left is None else f"{seconds_text(left)} left"


def _spent(lane: Lane) -> str:
    """Money, or tokens where the price isn't known; nothing where nothing was spent."""
    if lane.cost is None:
        return f"{lane.tokens:,} tokens"
    return money(lane.cost) if lane.cost or lane.tokens else ""


def _known(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if part]
