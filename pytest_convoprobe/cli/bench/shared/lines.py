"""A lane of a run in words: while it goes on, as a bar or as a sentence, and when it is over."""

from __future__ import annotations

from collections.abc import Sequence

from ....formatting import dollars, percent, seconds
from ....text import cell_width
from ...console import Console
from ...tables import cut_middle
from .watch import Bar

_WIDTH = 80
_WIDEST_BAR, _NARROWEST_BAR = 30, 6
_NARROWEST_NAME = 8
_LEVELS = 5
_GAP = "  "


def name_of(lane: Bar) -> str:
    """`simulate gpt-4o`."""
    return f"{lane.stage} {lane.target}".rstrip()


def beginning(lane: Bar) -> str:
    """What there is to do."""
    before = f"{lane.before:,} done before" if lane.before else ""
    if not lane.due:
        return "nothing to do" + (f", {before}" if before else "")
    return f"{lane.due:,} to do" + (f" ({before})" if before else "")


def so_far(lane: Bar, now: float) -> str:
    """How far it is: `120 of 400, 2 failed, 2.1/s, $0.12, 2 min 13 s left`."""
    return ", ".join(_known([f"{lane.done:,} of {lane.due:,}", *_wrong(lane), *_pace(lane, now)]))


def result(lane: Bar, now: float) -> str:
    """What came of it: `398 made, 2 failed, $0.12, 3 min 20 s`."""
    if not lane.due:
        return beginning(lane)
    made = lane.done - lane.failed
    left = lane.report.left if lane.report else lane.due - lane.done
    still = f"{left:,} left" if left else ""
    return ", ".join(
        _known([f"{made:,} made", *_wrong(lane), still, _spent(lane), seconds(lane.seconds(now))])
    )


def bar_lines(console: Console, lanes: Sequence[Bar], now: float) -> list[str]:
    """A line for each, with names, bars and figures below one another, none wider than the terminal.

    What is least needed goes first where there is no room: the cost, the rate, the time left, the bar.
    """
    room = (console.width or _WIDTH) - 1
    names = max(cell_width(console.safe(name_of(lane))) for lane in lanes)
    tails, widest = _tails(lanes, now, room - min(names, room // 2) - len(_GAP))
    name_width = max(_NARROWEST_NAME, min(names, room - widest - len(_GAP)))
    bar_width = min(_WIDEST_BAR, room - name_width - widest - 2 * len(_GAP))
    lines = (
        [_fitted(console, lane, name_width), _bar(console, lane, bar_width), tail]
        for lane, tail in zip(lanes, tails, strict=True)
    )
    return [_cut(_GAP.join(_known(line)), room) for line in lines]


def _tails(lanes: Sequence[Bar], now: float, room: int) -> tuple[list[str], int]:
    """The figures of each lane, the same ones for all, as many as there is room for; the widest's width."""
    for level in range(_LEVELS):
        tails = [_GAP.join(_known(_figures(lane, now)[level])) for lane in lanes]
        widest = max(map(cell_width, tails))
        if widest <= room:
            break
    return tails, widest


def _figures(lane: Bar, now: float) -> tuple[list[str], ...]:
    """Fewer and fewer of them."""
    share = percent(lane.done / lane.due if lane.due else 1.0)
    count = f"{lane.done:,}/{lane.due:,}"
    rate, cost, left = _pace(lane, now)
    wrong = ", ".join(_wrong(lane))
    return (
        [f"{share:>5}", count, rate, cost, left, wrong],
        [f"{share:>5}", count, rate, left, wrong],
        [f"{share:>5}", count, left, wrong],
        [f"{share:>5}", count, wrong],
        [f"{share:>5}"],
    )


def _cut(text: str, width: int) -> str:
    while cell_width(text) > width:
        text = text[:-1]
    return text


def _fitted(console: Console, lane: Bar, width: int) -> str:
    shown = cut_middle(console.safe(name_of(lane)), width, console)
    return shown + " " * (width - cell_width(shown))


def _bar(console: Console, lane: Bar, width: int) -> str:
    """Nothing where there is no room for a bar."""
    if width < _NARROWEST_BAR:
        return ""
    filled = round(width * (lane.done / lane.due if lane.due else 1.0))
    full, empty = ("█", "░") if console.unicode else ("#", ".")
    return full * filled + empty * (width - filled)


def _wrong(lane: Bar) -> list[str]:
    counts = {"failed": lane.failed, "unreadable": lane.unreadable}
    return [f"{number:,} {what}" for what, number in counts.items() if number]


def _pace(lane: Bar, now: float) -> tuple[str, str, str]:
    """The rate, the cost, the time left; empty where they aren't known."""
    rate, left = lane.rate(now), lane.seconds_left(now)
    pace = "" if rate is None else f"{rate:.1f}/s" if rate >= 0.1 else f"{rate * 60:.1f}/min"
    return pace, _spent(lane), f"{seconds(left)} left" if left else ""


def _spent(lane: Bar) -> str:
    """Money, or tokens where the price isn't known; nothing where nothing was spent."""
    if lane.cost is None:
        return f"{lane.tokens:,} tokens"
    return dollars(lane.cost) if lane.cost or lane.tokens else ""


def _known(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if part]
