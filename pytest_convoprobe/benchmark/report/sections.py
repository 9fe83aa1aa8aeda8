"""What the page's template is given: the parts of the page, every text harmless, notes on what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...formatting import UNKNOWN, counted, exact_percent, percent
from ...reports.html.turns import shown
from ..analysis.results import MetricInfo, Rate, Results, TargetResults
from ..analysis.unscored import next_step
from ..format.models import MetricType
from .charts import level
from .choice import VerdictState
from .conversations import cell_id
from .costs import Costs, read_costs
from .groups import agreement, gaps, people, variants
from .material import Material
from .rate_text import Figure, figure, name


@dataclass(frozen=True)
class BoardRow:
    """A target on the leaderboard; `figures` are its pass rates, overall and of each track."""

    target: str
    figures: tuple[Figure, ...]
    scored: str
    unreadable: int
    missing: int
    cost: str


@dataclass(frozen=True)
class HeatCell:
    """A metric's rate on one target.

    `id` is of the element with its conversations, of which there are `count`. `level` is the
    colour's, None where nothing was scored. `rate` is all that there is to say.
    """

    id: str
    address: str
    text: str
    scored: str
    count: int
    level: int | None
    rate: str
    label: str


@dataclass(frozen=True)
class HeatRow:
    """A metric; `about` is what its cells say when they are opened, as JSON."""

    metric: str
    id: str
    kind: str
    about: str
    cells: tuple[HeatCell, ...]


_TRACKS = ("Positive metrics", "Negative metrics")


def context(material: Material) -> dict[str, Any]:
    """All that the template needs."""
    results = material.results
    costs = read_costs(material.folder)
    ranked = results.ranked if results else []
    return {
        "title": name(material.name),
        "description": shown(results.description.strip()) if results else "",
        "eyebrow": _eyebrow(material),
        "warnings": [*map(shown, _warnings(material))],
        "results": results is not None,
        "sure": exact_percent(results.confidence).replace(" ", "\N{NO-BREAK SPACE}") if results else "",
        "targets": [name(target.id) for target in ranked],
        "tracks": _TRACKS if results and _has_both_tracks(results) else (),
        "board": [_board_row(target, costs, results) for target in ranked] if results else [],
        "heat": _heat(material, results, ranked) if results else [],
        "left_out": material.left_out,
        "conversations": material.conversations,
        "people": people(ranked),
        "gaps": gaps(ranked),
        "variants": variants(ranked, material.variants),
        "agreement": agreement(ranked),
        "costs": costs,
    }


def _eyebrow(material: Material) -> str:
    results = material.results
    if results is None:
        return "Benchmark"
    parts = (
        counted(len(results.targets), "target"),
        counted(len(results.metrics), "metric"),
        counted(material.conversations, "conversation"),
    )
    return " · ".join(("Benchmark", *parts))


def _has_both_tracks(results: Results) -> bool:
    """With one track only, its rate is the overall one."""
    return {metric.type for metric in results.metrics} == {*MetricType}


def _board_row(target: TargetResults, costs: Costs, results: Results) -> BoardRow:
    tracks = (target.positive, target.negative) if _has_both_tracks(results) else ()
    return BoardRow(
        name(target.id),
        tuple(map(figure, (target.overall, *tracks))),
        f"{target.overall.scored:,}",
        target.overall.unreadable,
        target.overall.missing,
        costs.by_target.get(target.id, UNKNOWN),
    )


def _heat(material: Material, results: Results, ranked: Sequence[TargetResults]) -> list[HeatRow]:
    return [_heat_row(material, results, metric, ranked) for metric in results.metrics]


def _heat_row(
    material: Material, results: Results, metric: MetricInfo, ranked: Sequence[TargetResults]
) -> HeatRow:
    title, defined = name(metric.name) or name(metric.id), material.metrics.get(metric.id)
    about = {
        "name": title,
        "definition": shown(defined.definition.strip()) if defined else "",
        "examples": [*map(shown, defined.examples)] if defined else [],
    }
    return HeatRow(
        title,
        name(metric.id),
        metric.type.value,
        json.dumps(about),
        tuple(_heat_cell(material, results, metric, target) for target in ranked),
    )


def _heat_cell(material: Material, results: Results, metric: MetricInfo, target: TargetResults) -> HeatCell:
    rate = target.metric(metric.id)
    share, words = rate.pass_rate, _rate_words(rate)
    return HeatCell(
        id=cell_id(results, metric.id, target.id),
        address=f"{name(metric.id)}/{name(target.id)}",
        text=percent(share),
        scored=f"{rate.scored:,}",
        count=sum(material.counts.get((metric.id, target.id), {}).values()),
        level=None if share is None else level(share),
        rate=words,
        label=f"{name(metric.name) or name(metric.id)}, {name(target.id)}: {words}",
    )


def _rate_words(rate: Rate) -> str:
    """`75 % passed (9 of 12; 57-98 %), 1 unreadable, 2 missing`."""
    found = figure(rate)
    said = "nothing scored"
    if found.bar is not None:
        said = f"{found.share} passed ({'; '.join(filter(None, (found.of, found.between)))})"
    more = [f"{rate.unreadable:,} unreadable"] if rate.unreadable else []
    more += [f"{rate.missing:,} missing"] if rate.missing else []
    return ", ".join([said, *more])


def _warnings(material: Material) -> Iterator[str]:
    results = material.results
    if results is None:
        yield "There are no results yet: `convoprobe bench aggregate` makes them from the scores."
        return
    if not results.targets:
        yield "No target has been run yet: there is nothing to compare."
    elif not any(target.overall.scored for target in results.targets):
        advice = next_step(results.targets)
        yield f"{advice[:1].upper()}{advice[1:]}."
    if changed := _changed(material, results):
        yield (
            f"The scores have changed since the results were made ({changed}): "
            "`convoprobe bench aggregate` makes them again."
        )
    yield from results.notes


def _changed(material: Material, results: Results) -> str:
    """The first cell whose rate is not what its rows add up to; empty if all are."""
    for target in results.targets:
        for one in target.by_metric:
            counts: Mapping[VerdictState, int] = material.counts.get((one.id, target.id), {})
            passed, failed = counts.get(VerdictState.PASSED, 0), counts.get(VerdictState.FAILED, 0)
            there = passed, passed + failed, counts.get(VerdictState.UNREADABLE, 0)
            if there != (one.rate.passed, one.rate.scored, one.rate.unreadable):
                return f"{one.id}, {target.id}: {one.rate.passed} of {one.rate.scored} passed then"
    return ""
