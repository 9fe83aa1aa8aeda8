"""The gates of a benchmark: of one metric of a target, or of the gaps between its groups, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...formatting import counted, percent, points
from ...stats import ShareEstimate
from ...text import harmless, one_line, shorten
from ..analysis.results import DemographicGap, Rate, TargetResults
from ..analysis.trials import Shown
from ..format.models import Gate, Metric
from ..pipeline.driver import TargetReport, reasons
from ..pipeline.pipeline import PipelineReport
from ..rows.row_types import ScoreRow
from ..rows.scenario_ids import parts_of
from ..rows.work import Place
from .limit_checks import (
    GateState,
    LimitCheck,
    check_gap,
    check_rate,
    gap_headline,
    gap_line,
    rate_headline,
    rate_lines,
)

_SHOWN = 5
_JUSTIFICATION = 240
_REASON = 400


@dataclass(frozen=True)
class GateVerdict:
    """The word of a gate and why: a headline, lines with the figures, and the figures as data.

    Where there are no `results`, there is nothing to look closer at. `remedies` are settings that may put
    it right, as an error has them. `ask_again` is a metric whose scores it would help to make again. `ages`
    says how many conversations are from before, and from when. `unreadable` is the line, if any, on answers
    that count neither way.
    """

    state: GateState
    headline: str
    lines: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    results: bool = True
    remedies: tuple[str, ...] = ()
    ask_again: str = ""
    ages: str = ""
    unreadable: tuple[str, ...] = ()

    @property
    def brief(self) -> str:
        """One line: without the power, a gate that isn't red says little."""
        power = self.figures.get("power")
        return self.headline + (f"; power {percent(power)}" if power is not None else "")

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
    comparisons: int = 1,
) -> GateVerdict:
    """The gate of one metric. Where unreadable answers decide, the verdict is unknown.

    `scores` gives all of the target's, and is called only where some are shown or counted again.
    `comparisons` is how many gates of rates the benchmark has, over all targets.
    """
    rate = target.metric(metric.id)
    figures = _figures(rate)
    # First of all: a rate of the rows that happen to be there could be green for that reason.
    if rate.missing or trouble.failed:
        headline = f"{_without_score(rate, trouble)}, {rate.scored} with one"
        return _unknown(headline, trouble.lines, figures, remedies=trouble.remedies)
    if rate.pass_rate is None:
        return _nothing_scored(metric, rate, figures, scores)

    def check(estimate: ShareEstimate) -> LimitCheck:
        return check_rate(gate.min_pass_rate, estimate, confidence, comparisons)

    found = check(_estimate(rate))
    if rate.unreadable:
        # The best and the worst case: if one of them is another word, the unreadable answers decide.
        cases = (_as_if(passed, metric, scores()) for passed in (False, True))
        if any(case and check(case).state is not found.state for case in cases):
            return _depends_on_unreadable(metric, rate, figures)
    return _rate_verdict(found, metric, rate, figures, scores)


def _without_score(rate: Rate, trouble: MissingRows) -> str:
    missing = rate.missing or sum(count for _, count in trouble.failed)
    return f"{counted(missing, 'conversation')} without a score"


def _rate_verdict(
    found: LimitCheck,
    metric: Metric,
    rate: Rate,
    figures: Mapping[str, Any],
    scores: Callable[[], Iterable[ScoreRow]],
) -> GateVerdict:
    unreadable = _unreadable(rate)
    lines = [*rate_lines(found), f"{metric.type.value} metric {metric.id}: {_plain(metric.name, 100)}"]
    lines += unreadable
    if found.state is not GateState.GREEN and (shown := _not_passed(metric, scores())):
        lines += ["", "conversations that did not pass:", *shown]
    return GateVerdict(
        found.state,
        rate_headline(found, rate.passed, rate.scored),
        tuple(lines),
        {"gate": found.state.value, **figures, **found.figures},
        unreadable=unreadable,
    )


def _estimate(rate: Rate) -> ShareEstimate:
    """By scenario; of a rate without its scenarios, as if each conversation were of one of its own."""
    alone = ((int(number < rate.passed), 1) for number in range(rate.scored))
    found = rate.estimate or ShareEstimate.of(alone)
    assert found is not None  # noqa: S101 - something was scored
    return found


def _unknown(
    headline: str,
    lines: tuple[str, ...] = (),
    figures: Mapping[str, Any] | None = None,
    remedies: tuple[str, ...] = (),
) -> GateVerdict:
    state = GateState.UNKNOWN
    return GateVerdict(state, headline, lines, {"gate": state.value, **(figures or {})}, remedies=remedies)


def judge_gaps(
    gate: Gate, target: TargetResults, confidence: float, trouble: MissingRows, targets: int = 1
) -> GateVerdict:
    """The gate of the gaps between demographic groups, over all metrics of a target.

    `targets` is how many the benchmark has: the gaps of all are corrected together.
    """
    if target.overall.missing or trouble.failed:
        headline = f"{_without_score(target.overall, trouble)}, so groups cannot be compared"
        return _unknown(headline, trouble.lines, remedies=trouble.remedies)
    if not target.gaps:
        return _unknown(
            "no scenario has verdicts of two groups, so `max_group_gap` cannot be looked at; "
            "name groups under `demographics` in config.yaml"
        )
    # Of other targets as many gaps are assumed as of this one: they compare the same scenarios.
    comparisons = targets * len(target.gaps)
    checked = [(found, _check_gap(gate, found, confidence, comparisons)) for found in target.gaps]
    return _gap_verdict(checked, target.overall)


def _gap_verdict(checked: Sequence[_Checked], overall: Rate) -> GateVerdict:
    found, check = max(checked, key=_weight)
    headline = f"green: no gap between groups is larger than {points(check.limit, signed=False)} points"
    if check.state is not GateState.GREEN:
        headline = gap_headline(check, _name(found), found.gap.difference)
    lines = [gap_line(check, _name(found), found.gap.difference) for found, check in checked]
    figures, unreadable = _gap_figures(checked, check), _unreadable(overall)
    if unreadable:
        figures["unreadable"] = overall.unreadable
    return GateVerdict(check.state, headline, (*lines, *unreadable), figures, unreadable=unreadable)


_Checked = tuple[DemographicGap, LimitCheck]


def _check_gap(gate: Gate, found: DemographicGap, confidence: float, comparisons: int) -> LimitCheck:
    estimate = found.estimate
    assert estimate is not None  # noqa: S101 - it is made with the gap; only what was read from a file has none
    return check_gap(gate.max_group_gap or 0.0, estimate, found.gap.p_value, confidence, comparisons)


def _weight(checked: _Checked) -> tuple[int, float]:
    """Which gap decides: a red one before an undecided one, and of these the widest."""
    found, check = checked
    ranks = (GateState.GREEN, GateState.UNDECIDED, GateState.RED)
    return ranks.index(check.state), abs(found.gap.difference)


def _gap_figures(checked: Sequence[_Checked], deciding: LimitCheck) -> dict[str, Any]:
    """Of the gap that decides; the power is the least, and the scenarios are enough for all gaps."""
    powers = [check.power for _, check in checked if check.power is not None]
    needed = [check.needed for _, check in checked]
    known = [count for count in needed if count is not None]
    all_of_them = replace(
        deciding,
        power=min(powers, default=None),
        needed=max(known) if len(known) == len(needed) else None,
    )
    largest = max(abs(found.gap.difference) for found, _ in checked)
    return {"gate": deciding.state.value, "largest_gap": round(largest, 6), **all_of_them.figures}


def _nothing_scored(
    metric: Metric, rate: Rate, figures: Mapping[str, Any], scores: Callable[[], Iterable[ScoreRow]]
) -> GateVerdict:
    if not rate.unreadable:
        headline = f"there is no scenario of the metric {metric.id}, so nothing could be scored"
        return _unknown(headline, figures=figures)
    lines = [
        f"  {_with_reason(score)}"
        for score in scores()
        if score.metric_id == metric.id and score.present is None
    ]
    headline = f"none of the evaluator's {rate.unreadable} answers could be read, so nothing could be scored"
    return _unknown(headline, tuple(_first(lines)), figures)


def _as_if(passed: bool, metric: Metric, scores: Iterable[ScoreRow]) -> ShareEstimate | None:
    """The rate if every answer that could not be read were this one."""
    last = {
        (score.id, score.sample): score.counts_as(metric.type)
        for score in scores
        if score.metric_id == metric.id
    }
    clusters: defaultdict[str, list[bool]] = defaultdict(list)
    for (row_id, _), found in last.items():
        clusters[Shown.by_id(row_id).base].append(passed if found is None else found)
    return ShareEstimate.of((sum(cluster), len(cluster)) for cluster in clusters.values())


def _depends_on_unreadable(metric: Metric, rate: Rate, figures: Mapping[str, Any]) -> GateVerdict:
    answers = rate.scored + rate.unreadable
    headline = (
        f"{rate.unreadable} of the evaluator's {answers} answers could not be read, and the gate depends on "
        f"them: {rate.passed} of the {rate.scored} others passed"
    )
    advice = (
        "scores.json says why; set an `evaluator_model` that answers as asked, or ask this one again "
        "(by log_odds it says the same)"
    )
    return replace(_unknown(headline, (advice,), figures), ask_again=metric.id)


def _not_passed(metric: Metric, scores: Iterable[ScoreRow]) -> list[str]:
    lines = [
        f"  {_with_reason(score)}"
        for score in scores
        if score.metric_id == metric.id and score.counts_as(metric.type) is False
    ]
    return _first(lines)


def _first(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [*lines[:_SHOWN], f"  and {more} more"] if more > 0 else lines


def _unreadable(rate: Rate) -> tuple[str, ...]:
    if not rate.unreadable:
        return ()
    answers, counts = (
        ("1 answer", "counts") if rate.unreadable == 1 else (f"{rate.unreadable} answers", "count")
    )
    return (f"{answers} of the evaluator could not be read and {counts} neither way",)


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


def _with_reason(score: ScoreRow) -> str:
    """Which conversation, and why; scores of other systems may have no reason."""
    where = _plain(f"{score.id}#{score.sample}", 120)
    return f"{where}: {_plain(score.justification, _JUSTIFICATION)}" if score.justification else where


def _plain(text: str, limit: int) -> str:
    """Models' words on one line that does nothing to a terminal or a CI log."""
    return harmless(shorten(one_line(text), limit))


def is_for(place: Place, metric_id: str | None) -> bool:
    """Whether a row is of the metric; one whose id does not contain it may be."""
    if metric_id is None:
        return True
    own = place.metric_id or parts_of(place.id).metric
    return own in ("", metric_id)
