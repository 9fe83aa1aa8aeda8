"""What the page's template is given: the head of the run, the tiles, the filters and a row a trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...formatting import counted, dollars, moment, percent, seconds
from ...gate.types import Word
from ...llm.ledger import Spending
from ...result import Outcome, ScenarioResult, attempt_words, reasons
from ...results.records import TrialRecord
from ...results.run_info import RunInfo, RunState
from ...results.tools_seen import unseen_words
from ...text import one_line, shorten, visible
from ..decisions import badge, drift_in_words, sentence
from ..money import ROLE_NAMES, by_roles, without_agent
from ..run_headline import against, title
from ..run_report import RunReport
from ..target_table import plain_name
from ..wire_lines import made_no_call, unrecorded_calls, unrecorded_notes, unused_gateway
from .anchors import anchor
from .charts import Spark, spark
from .links import STANDS_ALONE, SiteLinks
from .matrix import matrix
from .turns import shown
from .view import change_lines, details, place_of

OUTCOMES = tuple(
    (outcome.value, "errors" if outcome is Outcome.ERROR else outcome.value) for outcome in Outcome
)

_STATES = {
    RunState.RUNNING: "The run was still in progress when this page was made.",
    RunState.STOPPED: "The run was stopped at a failure: not every scenario ran.",
    RunState.INTERRUPTED: "The run was interrupted: not every scenario ran.",
    RunState.BROKEN_OFF: "The run broke off: its end was not recorded, and some scenarios may be missing.",
}


@dataclass(frozen=True)
class Row:
    """A trial in the list; `gate` is the decision about its scenario in two words, `decision` in a sentence.

    `why` has a sentence for each finding. `details` makes what is shown when it is unfolded: only one
    trial at a time has it.
    """

    anchor: str
    outcome: str
    blame: str
    name: str
    target: str
    trial: str
    why: tuple[str, ...]
    tags: tuple[str, ...]
    place: str
    duration: str
    cost: str
    score: str
    turns: str
    newly: str
    gate: str
    decision: str
    changes: int
    spark: Spark | None
    details: Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class SpendingLine:
    """What one role, or all of them, spent."""

    label: str
    cost: str
    tokens: str
    calls: str
    replayed: bool


def context(report: RunReport, links: SiteLinks = STANDS_ALONE, *, is_part: bool = False) -> dict[str, Any]:
    """All that the template needs; `is_part` says that the report has only some trials of its run."""
    compared = report.baseline or report.previous
    return {
        "links": links,
        "whole_run": links.run_of(report.info.id) if is_part else "",
        "run_id": report.info.id,
        "compared_with": compared.run if compared else "",
        "run": shown(report.info.id),
        "title": title(report),
        "began": moment(report.info.started),
        "took": _took(report.info),
        "facts": [(shown(label), shown(text)) for label, text in _facts(report.info, report.audit)],
        "ci_url": _web(report.info),
        "warnings": [*_warnings(report)],
        "counts": {outcome.value: count for outcome, count in report.counts.items()},
        "outcomes": OUTCOMES,
        "total": len(report.trials),
        "share": _share(report),
        "against": against(report),
        "decided": _decided(report),
        "spark": spark(report.runs),
        "blames": Counter(one.blame.value for one in report.results if one.blame).most_common(),
        "tags": _counted(tag for one in report.results for tag in set(one.tags)),
        "targets": _counted(one.target_name for one in report.results if one.target_name),
        "matrix": matrix(report.results),
        "spent": _spent(report),
        "slowest": _slowest(report),
        "rows": _rows(report),
    }


def _share(report: RunReport) -> str:
    """The share of the verdicts that passed. Errors are counted beside it."""
    if not report.judged:
        return "no verdict" if report.ran else "none"
    return percent(report.counts[Outcome.PASSED] / report.judged)


def _decided(report: RunReport) -> list[tuple[str, int]]:
    """How many scenarios the gate found red, undecided and green; empty without a gate."""
    counts = Counter(one.word for one in report.decisions.values())
    return [(word.value, counts[word]) for word in Word if counts[word]]


def _took(info: RunInfo) -> str:
    return "" if info.ended is None else seconds(max(0.0, info.ended - info.started))


def _facts(info: RunInfo, audit: str) -> Iterator[tuple[str, str]]:
    yield "Run", info.id
    if info.git:
        changed = ", with changes that no commit has" if info.git.dirty else ""
        yield "Commit", info.git.commit[:12] + changed
        if info.git.branch:
            yield "Branch", info.git.branch
    if info.ci:
        pull = f", pull request {info.ci.pull_request}" if info.ci.pull_request else ""
        yield "CI", info.ci.provider + pull
    for role, model in info.models.items():
        yield f"Model, {role.replace('_', ' ')}", str(model)
    if info.versions:
        yield "Versions", ", ".join(f"{name} {version}" for name, version in info.versions.items())
    if audit:
        yield "Gate", audit
    for line in info.judges:
        yield "Measured", line
    if info.command:
        yield "Command", " ".join(info.command)


def _web(info: RunInfo) -> str | None:
    """The page of the CI run, if it is a web page: the address is from the environment."""
    url = info.ci.url if info.ci else None
    return visible(url) if url and url.startswith(("https://", "http://")) else None


def _warnings(report: RunReport) -> Iterator[str]:
    if report.info.state in _STATES:
        yield _STATES[report.info.state]
    yield from map(shown, report.notes)
    if report.gate and (together := drift_in_words(report.gate)):
        yield together[0].upper() + together[1:] + "."
    if report.unseen_tools:
        yield f"Note: {shown(unseen_words(report.unseen_tools))}."
    if unused := unused_gateway(made_no_call(one.transcript) for one in report.results):
        yield f"Note: {shown(unused)}."
    lacking = unrecorded_notes(
        (one_line(one.name), unrecorded_calls(one.transcript)) for one in report.results
    )
    yield from (f"Note: {shown(note)}." for note in lacking)


def _counted(words: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(shown(one_line(word)) for word in words).items())


def _spent(report: RunReport) -> list[SpendingLine]:
    """What the run cost, all roles first; what recordings answered is separate."""
    lines = []
    for replayed in (False, True):
        by_role = by_roles(report.spenders, replayed=replayed)
        remark = without_agent(report.results)
        label = "replayed, when recorded" if replayed else "all roles" + (f" ({remark})" if remark else "")
        if by_role:
            lines.append(_line(label, sum(by_role.values(), Spending()), replayed))
            lines += [_line(ROLE_NAMES[role], spent, replayed) for role, spent in by_role.items()]
        if by_role and not replayed and report.without_result:
            lost = sum(report.without_result.values(), Spending())
            lines.append(_line("of it, without a result", lost, replayed))
    return lines


def _line(label: str, spent: Spending, replayed: bool) -> SpendingLine:
    tokens, calls = counted(spent.usage.total, "token"), counted(spent.calls, "call")
    return SpendingLine(label, dollars(spent.cost), tokens, calls, replayed)


def _slowest(report: RunReport) -> list[tuple[str, str, str]]:
    """The three trials that took longest: anchor, name and time."""
    longest = sorted((one for one in report.results if one.duration), key=lambda one: -one.duration)
    return [(anchor(one), _with_target(one), seconds(one.duration)) for one in longest[:3]]


def _name(result: ScenarioResult) -> str:
    return shorten(visible(one_line(plain_name(result))), 200)


def _with_target(result: ScenarioResult) -> str:
    target = shown(one_line(result.target_name))
    return f"{_name(result)} · {target}" if target else _name(result)


def _rows(report: RunReport) -> list[Row]:
    return [_row(report, trial) for trial in report.trials]


def _row(report: RunReport, trial: TrialRecord) -> Row:
    result, scenario = trial.result, trial.result.scenario_id
    newly, decision = report.newly(scenario), report.decision(result)
    return Row(
        anchor=anchor(result),
        outcome=result.outcome.value,
        blame=result.blame.value if result.blame else "",
        name=_name(result),
        target=shown(one_line(result.target_name)),
        trial=_trial(report, result),
        why=tuple(shorten(visible(one_line(reason)), 240) for reason in reasons(result)),
        tags=tuple(dict.fromkeys(shown(one_line(tag)) for tag in result.tags)),
        place=shown(place_of(result)),
        duration=seconds(result.duration) if result.duration else "",
        cost=dollars(result.total.cost) if result.total.calls else "",
        score="" if result.score is None else f"{result.score:.2f}",
        turns=counted(len(result.transcript.user_turns), "turn") if result.transcript.turns else "",
        newly={True: "fixed", False: "new"}.get(newly, "") if newly is not None else "",
        gate=shown(badge(decision)) if decision else "",
        decision=shown(sentence(decision)) if decision and badge(decision) else "",
        changes=sum(1 for _ in change_lines(report, scenario)),
        spark=spark([point.outcomes for point in report.points(scenario)]),
        details=partial(details, report, trial),
    )


def _trial(report: RunReport, result: ScenarioResult) -> str:
    """`trial 2 · 1 of 2 passed, 1 error`, where there is more than one; `attempt 2 of 2` of a rerun."""
    points = report.points(result.scenario_id)
    outcomes = points[-1].outcomes if points else {}
    attempt = attempt_words(result.attempts)
    if sum(outcomes.values()) <= 1 and result.trial == 1:
        return attempt
    judged = outcomes.get("passed", 0) + outcomes.get("failed", 0)
    errors = f", {counted(outcomes['error'], 'error')}" if outcomes.get("error") else ""
    trial = f"trial {result.trial} · {outcomes.get('passed', 0)} of {judged} passed{errors}"
    return f"{trial} · {attempt}" if attempt else trial
