"""A benchmark's results in tables."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ....files import read_file
from ....formatting import (
    UNKNOWN,
    dollars,
    exact_percent,
    number,
    p_equals,
    percent,
    percent_range,
    points,
    points_range,
)
from ...console import Console
from ...tables import Cell, Column, Row, print_table

if TYPE_CHECKING:
    from ....benchmark.analysis.results import DemographicGap, Rate, Results, TargetResults
    from ....benchmark.format.folder import BenchmarkFolder
    from ....llm.ledger import Spending

CostsByTarget = Mapping[str, "Spending"]
"""What was spent by target; what has no target is under `all`, and the sum under `total`."""

_AGREEMENT = (
    Column("AGREEMENT OF SAMPLES", flexible=True),
    Column("UNANIMOUS", right=True),
    Column("FLEISS' KAPPA", right=True, rank=1),
    Column("ALPHA", right=True, rank=2),
    Column("ONE WITH MOST", right=True, rank=3),
)


def print_results(
    console: Console, results: Results, costs: CostsByTarget, *, scenarios_known: bool = True
) -> None:
    """Pass rates of the targets, the best first; agreement, significant gaps, notes.

    What is missing is only known where the scenarios are.
    """
    rows = [_row(one, costs, scenarios_known) for one in results.ranked]
    print_table(console, _columns(results), rows)
    agreeing = [one for one in results.targets if one.agreement is not None]
    if agreeing:
        console.say()
        print_table(console, _AGREEMENT, [_agreement(one) for one in agreeing])
    _print_gaps(console, results.targets)
    if "total" in costs:
        console.say()
        print_costs(console, costs)
    for note in results.notes:
        console.note(f"note: {note}")


def print_costs(console: Console, costs: CostsByTarget) -> None:
    """What the runs have spent; nothing where that is not known."""
    from ....reports.money import spending_in_words

    if "total" in costs:
        console.say(f"cost of all runs together: {spending_in_words(costs['total'])}")


def costs_of(folder: BenchmarkFolder) -> CostsByTarget:
    """What `cost.json` says, with the sum as `total`; nothing where the file is another system's."""
    from ....benchmark.rows.spending import read_spending

    try:
        total = json.loads(read_file(folder.cost))["total"]
        found = {name: read_spending(one) for name, one in total["by_target"].items()}
        return {**found, "total": read_spending(total)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _columns(results: Results) -> Sequence[Column]:
    sure = exact_percent(results.confidence)
    return (
        Column("TARGET", flexible=True),
        Column(f"POSITIVE ({sure})", right=True, rank=3),
        Column(f"NEGATIVE ({sure})", right=True, rank=4),
        Column(f"OVERALL ({sure})", right=True),
        Column("N", right=True),
        Column("UNREADABLE", right=True, rank=2),
        Column("MISSING", right=True, rank=1),
        Column("CALLS", right=True, rank=7),
        Column("TOKENS", right=True, rank=6),
        Column("COST", right=True, rank=5),
    )


def _row(one: TargetResults, costs: CostsByTarget, scenarios_known: bool) -> Row:
    rate = one.overall
    missing = f"{rate.missing:,}" if rate.missing or scenarios_known else UNKNOWN
    return (
        one.id,
        rate_text(one.positive),
        rate_text(one.negative),
        rate_text(rate),
        f"{rate.scored:,}",
        Cell(f"{rate.unreadable:,}", "yellow" if rate.unreadable else ""),
        Cell(missing, "yellow" if rate.missing else ""),
        *_spent(costs.get(one.id)),
    )


def _spent(spending: Spending | None) -> tuple[str, str, str]:
    """Calls, tokens and money."""
    if spending is None:
        return UNKNOWN, UNKNOWN, UNKNOWN
    return f"{spending.calls:,}", f"{spending.usage.total:,}", dollars(spending.cost, "unknown")


def rate_text(rate: Rate) -> str:
    """`75 % (57-98 %)`, with the interval that allows for scenarios, where there is one."""
    interval = f" ({percent_range(rate.widest)})" if rate.widest and rate.scored else ""
    return percent(rate.pass_rate) + interval


def _agreement(one: TargetResults) -> Row:
    found = one.agreement
    assert found is not None  # noqa: S101 - asked for where there is one
    return (
        one.id,
        percent(found.unanimous),
        number(found.fleiss_kappa),
        number(found.krippendorff_alpha),
        percent(found.single_with_majority),
    )


def _print_gaps(console: Console, targets: Sequence[TargetResults]) -> None:
    """Gaps between groups that are more than chance, and how many were looked at."""
    looked_at = sum(len(one.gaps) for one in targets)
    if not looked_at:
        return
    significant = [(one.id, gap) for one in targets for gap in one.gaps if gap.significant]
    console.say()
    console.say(f"gaps between groups: {len(significant)} of {looked_at} are more than chance", "bold")
    for target, gap in significant:
        console.say(f"  {console.safe(_gap_text(target, gap))}", "yellow")


def _gap_text(target: str, found: DemographicGap) -> str:
    """`gpt-4o, age: "Adult" passes 12 points more often (+3 to +21) than "Child", p = 0.012`."""
    gap, first, second = found.gap, found.first, found.second
    if gap.difference < 0:
        gap, first, second = gap.turned(), second, first
    interval = f" ({points_range(gap.interval)})" if gap.interval else ""
    more = f'passes {points(gap.difference, signed=False)} points more often{interval} than "{second}"'
    return f'{target}, {found.attribute}: "{first}" {more}, {p_equals(found.adjusted)}'
