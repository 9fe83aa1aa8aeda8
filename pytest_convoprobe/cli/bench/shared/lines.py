"""The progress of a stage and target as text: a bar or a sentence while it runs, and its result."""

from __future__ import annotations

from collections.abc import Sequence

from ....formatting import dollars, percent, seconds
from ....text import cell_width
from ...console import Console
from ...tables import cut_middle
from .progress_model import Bar

_WIDTH = 80
_WIDEST_BAR, _NARROWEST_BAR = 30, 6
_NARROWEST_NAME = 8
_LEVELS = 5
_GAP = "  "


def name_of(bar: Bar) -> str:
    """`simulate gpt-4o`."""
    return f"{bar.stage} {bar.target}".rstrip()


def beginning(bar: Bar) -> str:
    """What there is to do."""
    before = f"{bar.before:,} done before" if bar.before else ""
    if not bar.missing:
        return "nothing to do" + (f", {before}" if before else "")
    return f"{bar.missing:,} to do" + (f" ({before})" if before else "")


def so_far(bar: Bar, now: float) -> str:
    """How far it is: `120 of 400, 2 failed, 2.1/s, $0.12, 2 min 13 s left`."""
    return ", ".join(_known([f"{bar.done:,} of {bar.missing:,}", *_wrong(bar), *_pace(bar, now)]))


def result(bar: Bar, now: float) -> str:
    """What came of it: `398 made, 2 failed, $0.12, 3 min 20 s`."""
    if not bar.missing:
        return beginning(bar)
    made = bar.done - bar.failed
    left = bar.report.left if bar.report else bar.missing - bar.done
    still = f"{left:,} left" if left else ""
    return ", ".join(_known([f"{made:,} made", *_wrong(bar), still, _spent(bar), seconds(bar.seconds(now))]))


def bar_lines(console: Console, bars: Sequence[Bar], now: float) -> list[str]:
    """A line for each, with names, bars and figures below one another, none wider than the terminal.

    What is least needed goes first where there is no room: the cost, the rate, the time left, the bar.
    """
    # A character in the last column wraps the cursor on some terminals, and the redrawing goes wrong.
    room = (console.width or _WIDTH) - 1
    names = max(cell_width(console.safe(name_of(bar))) for bar in bars)
    tails, widest = _tails(bars, now, room - min(names, room // 2) - len(_GAP))
    name_width = max(_NARROWEST_NAME, min(names, room - widest - len(_GAP)))
    bar_width = min(_WIDEST_BAR, room - name_width - widest - 2 * len(_GAP))
    lines = (
        [_fitted(console, bar, name_width), _bar(console, bar, bar_width), tail]
        for bar, tail in zip(bars, tails, strict=True)
    )
    return [_cut(_GAP.join(_known(line)), room) for line in lines]


def _tails(bars: Sequence[Bar], now: float, room: int) -> tuple[list[str], int]:
    """The figures of each bar, the same ones for all, as many as there is room for; the widest's width."""
    for level in range(_LEVELS):
        tails = [_GAP.join(_known(_figures(bar, now)[level])) for bar in bars]
        widest = max(map(cell_width, tails))
        if widest <= room:
            break
    return tails, widest


def _figures(bar: Bar, now: float) -> tuple[list[str], ...]:
    """Fewer and fewer of them."""
    share = percent(bar.done / bar.missing if bar.missing else 1.0)
    count = f"{bar.done:,}/{bar.missing:,}"
    rate, cost, left = _pace(bar, now)
    wrong = ", ".join(_wrong(bar))
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


def _fitted(console: Console, bar: Bar, width: int) -> str:
    shown = cut_middle(console.safe(name_of(bar)), width, console)
    return shown + " " * (width - cell_width(shown))


def _bar(console: Console, bar: Bar, width: int) -> str:
    """Nothing where there is no room for a bar."""
    if width < _NARROWEST_BAR:
        return ""
    filled = round(width * (bar.done / bar.missing if bar.missing else 1.0))
    full, empty = ("█", "░") if console.unicode else ("#", ".")
    return full * filled + empty * (width - filled)


def _wrong(bar: Bar) -> list[str]:
    counts = {"failed": bar.failed, "unreadable": bar.unreadable}
    return [f"{number:,} {what}" for what, number in counts.items() if number]


def _pace(bar: Bar, now: float) -> tuple[str, str, str]:
    """The rate, the cost, the time left; empty where they aren't known."""
    rate, left = bar.rate(now), bar.seconds_left(now)
    pace = "" if rate is None else f"{rate:.1f}/s" if rate >= 0.1 else f"{rate * 60:.1f}/min"
    return pace, _spent(bar), f"{seconds(left)} left" if left else ""


def _spent(bar: Bar) -> str:
    """Money, or tokens where the price isn't known; nothing where nothing was spent."""
    if bar.cost is None:
        return f"{bar.tokens:,} tokens"
    return dollars(bar.cost) if bar.cost or bar.tokens else ""


def _known(parts: Sequence[str]) -> list[str]:
    return [part for part in parts if part]
