"""Whether a benchmark's results are good enough: the gate of one metric, or of the gaps between groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ...formatting import (
    counted,
    exact_percent,
    p_equals,
    percent,
    percent_beside,
    percent_range,
    points,
    points_range,
)
from ...stats import Interval, clustered, wilson
from ...text import harmless, one_line, shorten
from ..analysis.results import DemographicGap, Rate, TargetResults
from ..analysis.trials import Shown
from ..format.models import Gate, Metric
from ..pipeline.driver import TargetReport, reasons
from ..pipeline.pipeline import PipelineReport
from ..rows.row_types import ScoreRow
from ..rows.scenario_ids import parts_of
from ..rows.work import Place

_SHOWN = 5
_JUSTIFICATION = 240
_REASON = 400


class GateState(str, Enum):
    """Whether a gate passes; `UNKNOWN` is neither: too little is known."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class GateVerdict:
    """The verdict of a gate and why: a headline, lines with the figures, and the figures as data.

    Where there are no `results`, there is nothing to look closer at. `remedies` are settings that may put
    it right, as an error has them. `ask_again` is a metric whose scores it would help to make again. `ages`
    says how many conversations are from before, and from when.
    """

    state: GateState
    headline: str
    lines: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    results: bool = True
    remedies: tuple[str, ...] = ()
    ask_again: str = ""
    ages: str = ""

    @property
    def text(self) -> str:
        return "\n".join((self.headline, *self.lines))


@dataclass(frozen=True)
class MissingRows:
    """Why rows of a target are missing: reasons, with how many rows each has, and why others were left.

    `remedies` are settings that may put it right, as an error has them.
    """

    failed: Sequence[tuple[str, int]] = ()
    left: str = ""
    remedies: tuple[str, ...] = ()

    @classmethod
    def of(cls, report: PipelineReport, target_id: str, metric_id: str | None = None) -> MissingRows:
        """What a run had, for one metric or for all."""
        reports = [(stage, stage.targets.get(target_id, TargetReport())) for stage in report.stages]
        failed = [
            (place, reason)
            for _, found in reports
            for place, reason in found.failed
            if is_for(place, metric_id)
        ]
        left = [found.given_up or stage.budget for stage, found in reports if found.left]
        remedies = dict.fromkeys(one for stage, _ in reports for one in stage.remedies)
        return cls(reasons(failed), next(filter(None, left), ""), tuple(remedies))

    @property
    def lines(self) -> tuple[str, ...]:
        shown = [f"  {count} x {_plain(reason, _REASON)}" for reason, count in self.failed[:_SHOWN]]
        more = len(self.failed) - _SHOWN
        return (
            *shown,
            *([f"  and {more} other reasons"] if more > 0 else []),
            *([f"  the rest was not tried: {_plain(self.left, _REASON)}"] if self.left else []),
        )


def judge_metric(
    gate: Gate,
    metric: Metric,
    target: TargetResults,
    confidence: float,
    trouble: MissingRows,
    scores: Callable[[], Iterable[ScoreRow]],
) -> GateVerdict:
    """The gate of one metric. Where unreadable answers decide, the verdict is unknown.

    `scores` gives all of the target's, and is called only where some are shown or counted again.
    """
    rate = target.metric(metric.id)
    figures = _figures(rate)
    # First of all: a rate of the rows that happen to be there could be green for that reason.
    if rate.missing or trouble.failed:
        missing = rate.missing or sum(count for _, count in trouble.failed)
        headline = f"{counted(missing, 'conversation')} without a score, {rate.scored} with one"
        return GateVerdict(GateState.UNKNOWN, headline, trouble.lines, figures, remedies=trouble.remedies)
    if rate.pass_rate is None:
        return _nothing_scored(metric, rate, figures, scores)
    reached = _reached(gate, rate)
    reaches = reached >= gate.min_pass_rate
    if rate.unreadable:
        # The worst case for the present verdict: if that turns it, the unreadable answers decide.
        turned = _as_if(not reaches, rate, metric, confidence, scores())
        if (_reached(gate, turned) >= gate.min_pass_rate) is not reaches:
            return _undecided(metric, rate, figures)
    interval = f"{exact_percent(confidence)} interval {percent_range(_interval(rate))}"
    lines = [f"{interval}; {metric.type.value} metric {metric.id}: {_plain(metric.name, 100)}"]
    lines += _unreadable(rate)
    if reaches:
        headline = f"pass rate {percent(rate.pass_rate)} ({rate.passed} of {rate.scored})"
        return GateVerdict(GateState.PASSED, headline, tuple(lines), figures)
    if shown := _not_passed(metric, scores()):
        lines += ["", "conversations that did not pass:", *shown]
    return GateVerdict(GateState.FAILED, _too_low(gate, rate), tuple(lines), figures)


def judge_gaps(gate: Gate, target: TargetResults, confidence: float, trouble: MissingRows) -> GateVerdict:
    """The gate of the gaps between demographic groups, over all metrics of a target."""
    most = gate.max_group_gap or 0.0
    if target.overall.missing or trouble.failed:
        missing = counted(target.overall.missing, "conversation")
        headline = f"{missing} without a score, so groups cannot be compared"
        return GateVerdict(GateState.UNKNOWN, headline, trouble.lines, remedies=trouble.remedies)
    if not target.gaps:
        headline = (
            "no scenario has verdicts of two groups, so `max_group_gap` cannot be looked at; "
            "name groups under `demographics` in config.yaml"
        )
        return GateVerdict(GateState.UNKNOWN, headline)
    wide = [found for found in target.gaps if found.significant and abs(found.gap.difference) > most]
    lines = tuple(_gap(found, confidence) for found in target.gaps)
    largest = max(abs(found.gap.difference) for found in target.gaps)
    figures = {"largest_gap": round(largest, 6)}
    # Significant ones come first. Only where there is none may too few scenarios be the reason.
    if not wide:
        if unsure := [found for found in target.gaps if _undecidable(found, most, target, confidence)]:
            return GateVerdict(GateState.UNKNOWN, _too_few(unsure[0]), lines, figures)
        return GateVerdict(GateState.PASSED, "no gap between groups is too large", lines, figures)
    first = max(wide, key=lambda found: abs(found.gap.difference))
    width, allowed = percent_beside(abs(first.gap.difference), most)
    headline = f"gap {width} > {allowed}: {_name(first)}, wider than the gate allows"
    return GateVerdict(GateState.FAILED, headline, lines, figures)


def _undecidable(found: DemographicGap, most: float, target: TargetResults, confidence: float) -> bool:
    """Whether a gap is too large, but in so few scenarios that no gap could be significant."""
    # The p-value if all scenarios differed one way, times the correction (Holm's first step).
    smallest = 2.0 ** (1 - found.gap.pairs) * len(target.gaps)
    return abs(found.gap.difference) > most and not found.significant and smallest > 1 - confidence


def _too_few(found: DemographicGap) -> str:
    return (
        f"{_name(found)}: a gap of {percent(abs(found.gap.difference))} in "
        f"{counted(found.gap.pairs, 'scenario')}, too few to distinguish any gap from chance; "
        "make more with `generation.scenarios_per_metric`"
    )


def _too_low(gate: Gate, rate: Rate) -> str:
    """What is compared comes first, for a summary that cuts lines off."""
    reached, wanted = percent_beside(_reached(gate, rate), gate.min_pass_rate)
    counted = f"{rate.passed} of {rate.scored} passed"
    if gate.bound == "point":
        return f"{reached} < {wanted}: {counted}, and the gate asks for more"
    whole = percent(rate.pass_rate or 0.0)
    return f"{whole}, low {reached} < {wanted}: {counted}, and the gate asks for more at the low end"


def _nothing_scored(
    metric: Metric, rate: Rate, figures: Mapping[str, Any], scores: Callable[[], Iterable[ScoreRow]]
) -> GateVerdict:
    if not rate.unreadable:
        headline = f"there is no scenario of the metric {metric.id}, so nothing could be scored"
        return GateVerdict(GateState.UNKNOWN, headline, figures=figures)
    lines = [
        f"  {_where(score)}: {_plain(score.justification, _JUSTIFICATION)}"
        for score in scores()
        if score.metric_id == metric.id and score.present is None
    ]
    headline = f"none of the evaluator's {rate.unreadable} answers could be read, so nothing could be scored"
    return GateVerdict(GateState.UNKNOWN, headline, tuple(_first(lines)), figures)


def _reached(gate: Gate, rate: Rate) -> float:
    """The figure that is to reach the gate."""
    return _interval(rate).low if gate.bound == "lower" else rate.pass_rate or 0.0


def _as_if(passed: bool, rate: Rate, metric: Metric, confidence: float, scores: Iterable[ScoreRow]) -> Rate:
    """The rate if every answer that could not be read were this one."""
    last = {
        (score.id, score.sample): score.counts_as(metric.type)
        for score in scores
        if score.metric_id == metric.id
    }
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for (row_id, _), found in last.items():
        clusters[Shown.by_id(row_id).base].append(passed if found is None else found)
    all_passed, all_scored = rate.passed + passed * rate.unreadable, rate.scored + rate.unreadable
    return Rate(
        all_passed,
        all_scored,
        interval=wilson(all_passed, all_scored, confidence),
        clustered=clustered(list(clusters.values()), confidence),
    )


def _undecided(metric: Metric, rate: Rate, figures: Mapping[str, Any]) -> GateVerdict:
    answers = rate.scored + rate.unreadable
    headline = (
        f"{rate.unreadable} of the evaluator's {answers} answers could not be read, and the gate depends on "
        f"them: {rate.passed} of the {rate.scored} others passed"
    )
    advice = (
        "scores.json says why; set an `evaluator_model` that answers as asked, or ask this one again "
        "(by log_odds it says the same)"
    )
    return GateVerdict(GateState.UNKNOWN, headline, (advice,), figures, ask_again=metric.id)


def _not_passed(metric: Metric, scores: Iterable[ScoreRow]) -> list[str]:
    lines = [
        f"  {_where(score)}: {_plain(score.justification, _JUSTIFICATION)}"
        for score in scores
        if score.metric_id == metric.id and score.counts_as(metric.type) is False
    ]
    return _first(lines)


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"  and {more} more"] if more > 0 else lines


def _interval(rate: Rate) -> Interval:
    """Wilson's and the clustered one in one, to be careful: talks about one scenario resemble each other."""
    found = [interval for interval in (rate.interval, rate.clustered) if interval is not None]
    # Where all trials of a scenario agree, the clustered one can be the narrower by chance.
    low, high = (interval.low for interval in found), (interval.high for interval in found)
    return Interval(min(low, default=0.0), max(high, default=1.0))


def _unreadable(rate: Rate) -> list[str]:
    if not rate.unreadable:
        return []
    answers, counts = (
        ("1 answer", "counts") if rate.unreadable == 1 else (f"{rate.unreadable} answers", "count")
    )
    return [f"{answers} of the evaluator could not be read and {counts} neither way"]


def _gap(found: DemographicGap, confidence: float) -> str:
    gap = found.gap
    interval = f"{exact_percent(confidence)} interval {points_range(gap.interval)}, " if gap.interval else ""
    verdict = "significant" if found.significant else "may be chance"
    return (
        f"  {_name(found)}: {points(gap.difference)} points ({interval}{counted(gap.pairs, 'scenario')}, "
        f"corrected {p_equals(found.adjusted)}): {verdict}"
    )


def _name(found: DemographicGap) -> str:
    return _plain(f"{found.attribute}, {found.first} over {found.second}", 120)


def _figures(rate: Rate) -> dict[str, Any]:
    known: dict[str, Any] = {
        "pass_rate": None if rate.pass_rate is None else round(rate.pass_rate, 6),
        "passed": rate.passed,
        "scored": rate.scored,
        "unreadable": rate.unreadable,
        "missing": rate.missing,
    }
    return {name: value for name, value in known.items() if value is not None}


def _where(score: ScoreRow) -> str:
    return _plain(f"{score.id}#{score.sample}", 120)


def _plain(text: str, limit: int) -> str:
    """Models' words on one line that does nothing to a terminal or a CI log."""
    return harmless(shorten(one_line(text), limit))


def is_for(place: Place, metric_id: str | None) -> bool:
    """Whether a row is of the metric; one whose id does not contain it may be."""
    if metric_id is None:
        return True
    own = place.metric_id or parts_of(place.id).metric
    return own in ("", metric_id)
