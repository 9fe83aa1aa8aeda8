"""Each scenario over its latest runs as a page of a site. Pure: `context` is for trends.html.jinja."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...formatting import UNKNOWN, counted, dollars, moment, percent, percent_range, seconds
from ...results.history import Point, Trend
from ...text import one_line
from .anchors import scenario_anchor
from .charts import spark
from .links import SiteLinks
from .turns import shown


def context(trends: Sequence[Trend], links: SiteLinks, notes: Sequence[str] = ()) -> dict[str, Any]:
    """All that the template needs. `notes` say which runs are not among them, and why."""
    return {
        "links": links,
        "notes": [shown(one_line(note)) for note in notes],
        "rows": [_row(trend, links) for trend in trends],
    }


def _row(trend: Trend, links: SiteLinks) -> dict[str, Any]:
    return {
        "anchor": scenario_anchor(trend.scenario_id),
        "name": shown(one_line(trend.name)),
        "id": shown(one_line(trend.scenario_id)),
        "passed": f"{trend.passed:,} of {trend.trials:,}",
        "rate": UNKNOWN if trend.rate is None else percent(trend.rate),
        "interval": percent_range(trend.interval),
        "errors": ", ".join(f"{number:,} {shown(blame)}" for blame, number in trend.errors.items()),
        "spark": spark([point.outcomes for point in trend.points]),
        "points": [*_points(trend, links)],
    }


def _points(trend: Trend, links: SiteLinks) -> Iterator[dict[str, Any]]:
    """The newest first."""
    anchor = scenario_anchor(trend.scenario_id)
    for point in reversed(trend.points):
        yield {
            "began": moment(point.started) or UNKNOWN,
            "address": links.conversation_of(point.run, anchor),
            "outcome": _outcome(point),
            "passed": f"{point.passed:,} of {point.trials:,} passed" if point.trials else "no verdict",
            "errors": counted(sum(point.errors.values()), "error") if point.errors else "",
            "took": UNKNOWN if point.duration is None else seconds(point.duration),
            "cost": UNKNOWN if point.cost is None else dollars(point.cost),
            "changed": shown(", ".join(point.changed)),
        }


def _outcome(point: Point) -> str:
    if point.outcomes.get("failed"):
        return "failed"
    return "error" if point.errors or not point.trials else "passed"
