"""What a dry run says: what would be made, how many calls that takes, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ....formatting import dollars
from ...console import Console
from ...tables import Cell, Column, Row, print_table

if TYPE_CHECKING:
    from ....benchmark.pipeline.forecast import Forecast
    from ....llm.ledger import Spending

_COLUMNS = (
    Column("STAGE"),
    Column("TARGET", flexible=True),
    Column("DONE", right=True, rank=1),
    Column("TO MAKE", right=True),
    Column("CALLS", right=True),
    Column("TOKENS IN", right=True, rank=3),
    Column("TOKENS OUT", right=True, rank=2),
    Column("COST", right=True),
)
_BASES = {
    "rows": "estimated from existing rows",
    "sizes": "estimated from typical sizes of such calls; existing rows give a better estimate",
}


def print_forecasts(console: Console, forecasts: Sequence[Forecast]) -> None:
    """A table, a stage with its targets first and then its calls by role; below it what it rests on."""
    busy = [one for one in forecasts if one.rows]
    rows = [row for one in forecasts for row in _rows(one)]
    whole = [_whole(forecasts)] if len(busy) > 1 else []
    print_table(console, _COLUMNS, [*rows, *whole])
    if not busy:
        console.say("nothing to do")
        return
    console.say()
    for basis, words in _BASES.items():
        stages = [one.stage for one in busy if one.basis == basis]
        which = "" if len(stages) == len(busy) else f"{', '.join(stages)}: "
        if stages:
            console.say(f"{which}{words}")
    console.say("nothing was called or written; calls that have to be repeated come on top")
    for one in forecasts:
        for remark in one.remarks:
            console.say(f"{one.stage}: {console.safe(remark)}", "yellow")


def forecast_json(one: Forecast) -> dict[str, Any]:
    """The same for programs."""
    return {
        "stage": one.stage,
        "rows": one.rows,
        "later": one.later,
        "basis": one.basis,
        "targets": {
            target: {"done": counts.done, "missing": counts.missing} for target, counts in one.targets.items()
        },
        "spending": {role: _spending(part) for role, part in one.spending.items()},
        "remarks": one.remarks,
    }


def total_json(forecasts: Sequence[Forecast]) -> dict[str, Any] | None:
    """What all stages together would take; None where nothing was forecast."""
    return _spending(_sum(forecasts)) if forecasts else None


def _spending(part: Spending) -> dict[str, Any]:
    return {
        "calls": part.calls,
        "prompt_tokens": part.usage.prompt_tokens,
        "completion_tokens": part.usage.completion_tokens,
        "cost": part.cost,
    }


def _sum(forecasts: Iterable[Forecast]) -> Spending:
    from ....llm.ledger import Spending

    return sum((one.total for one in forecasts), Spending())


def _whole(forecasts: Iterable[Forecast]) -> Row:
    return (Cell("all stages", "bold"), "", "", "", *_spent(_sum(forecasts)))


def _rows(one: Forecast) -> Iterable[Row]:
    yield _total(one)
    if len(one.targets) > 1 or any(one.targets):
        for target, counts in one.targets.items():
            yield "", target, f"{counts.done:,}", f"{counts.missing:,}", "", "", "", ""
    if one.later:
        yield "", Cell("of rows not made yet", "faint"), "", f"about {one.later:,}", "", "", "", ""
    for role, part in one.spending.items():
        if part.calls:
            yield ("", Cell(role.replace("_", " "), "faint"), "", "", *_spent(part))


def _total(one: Forecast) -> Row:
    done = sum(counts.done for counts in one.targets.values())
    rows = f"about {one.rows:,}" if one.later else f"{one.rows:,}"
    return (Cell(one.stage, "bold"), "", f"{done:,}", rows, *_spent(one.total))


def _spent(part: Spending) -> tuple[str, str, str, str]:
    if not part.calls:
        return "0", "", "", ""
    usage = part.usage
    return f"{part.calls:,}", f"{usage.prompt_tokens:,}", f"{usage.completion_tokens:,}", dollars(part.cost)
