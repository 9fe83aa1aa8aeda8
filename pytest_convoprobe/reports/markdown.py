"""A run as GitHub Markdown: short first, for a comment on a pull request or the summary of a job.

Texts of models, targets and tools are written so that they stay text: no markup, no HTML, no
table cell that ends early, and nobody is mentioned. GitHub looks for mentions and references after
it has decoded entities, so these are broken by a space of no width.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ..excerpts import without_binary
from ..files import shown_path
from ..formatting import counted, dollars, moment, seconds
from ..gate.types import Decision, Word
from ..judging.transcript_view import asked_in
from ..judging.types import CheckResult, CriterionResult
from ..llm.ledger import Spending
from ..result import Outcome, ScenarioResult, answer_word, attempt_words, findings, second_votes, why
from ..results.compare import ScenarioChange
from ..results.run_info import RunState
from ..results.tools_seen import unseen_words
from ..steps import AgentStep, answer_of, kind_word, steps_of
from ..text import one_line, shorten, visible
from ..transcript import PendingRequest, ToolCall, Turn, not_kept
from .comparison import LISTED, figures_of, gate_line, statements, totals
from .decisions import drift_in_words, figures_in_words, listed, sentence, stops
from .failure import MUST, headline, user_side_lines
from .money import ROLE_NAMES, by_roles, without_agent
from .run_headline import base_name, title
from .run_report import RunReport
from .target_table import TargetCell, TargetRow, target_table_of
from .wire_lines import ON_WIRE, made_no_call, model_lines, unrecorded_calls, unrecorded_notes, unused_gateway

MARK = "<!-- convoprobe -->"
"""The first line, by which a workflow finds its own comment again."""

COMMENT_LIMIT = 65_536
SUMMARY_LIMIT = 1024 * 1024
"""What GitHub takes, in bytes here: a comment's limit is one of characters, which are never more."""

_ROWS = (30, 15, 5, 1)
_NOTES = 3
_DETAILED = 100
_TARGETS = 8
_SIGNS = {Outcome.PASSED: "✅", Outcome.FAILED: "❌", Outcome.ERROR: "⚠️", Outcome.SKIPPED: "⏭️"}
_SENTENCE = 600

_SPECIAL = re.compile(r"[\\`*_{}\[\]()<>#+.!|~&$:=^@-]")
_REFERENCE = re.compile(r"(?<=@)|(?<=#)(?=\d)|(?<=\bGH-)(?=\d)", re.IGNORECASE)


def markdown(report: RunReport, limit: int = COMMENT_LIMIT) -> str:
    """The run in at most `limit` bytes; what has no room is counted."""
    wrong = report.wrong
    foot = f"<sub>run {escaped(report.info.id)}{_place(report)}</sub>"
    # What is escaped takes up to seven times its room: then fewer rows are shown.
    heads = ("\n\n".join(_head(report, wrong, rows)) for rows in _ROWS)
    head = next((text for text in heads if _size(text) + _size(foot) + 200 <= limit), MARK)
    parts = [*(_details(report, one) for one in wrong[:_DETAILED]), *_costs(report)]
    room = limit - _size(head) - _size(foot) - 200
    shown = list(_fitting(parts, room))
    left_out = len(parts) - len(shown) + max(0, len(wrong) - _DETAILED)
    if left_out:
        shown.append(f"_The details of {left_out:,} more are left out here: there is no room for them._")
    return "\n\n".join([head, *shown, foot]) + "\n"


def escaped(text: str, limit: int = 300) -> str:
    """Text on one line, cut, in which nothing is markup, a mention, a reference or a link."""
    text = _REFERENCE.sub("\u200b", shorten(one_line(visible(without_binary(text))), limit))
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text).replace("\u200b", "&#8203;")


def _head(report: RunReport, wrong: Sequence[ScenarioResult], rows: int) -> Iterator[str]:
    """What everybody reads, with at most so many rows of each kind."""
    yield f"{MARK}\n### {_sign(report, wrong)} Conversations: {title(report).lower()}"
    yield " · ".join(_counts(report))
    later = [one for one in report.results if one.passed and one.attempts > 1]
    if later:
        more = f", and {len(later) - rows:,} more" if len(later) > rows else ""
        yield f"Passed on a later attempt: {', '.join(map(_name, later[:rows]))}{more}."
    if report.info.state not in (RunState.FINISHED, RunState.RUNNING):
        yield f"**The run did not finish: it was {_ENDED[report.info.state]}.**"
    if report.notes:
        more = f"; and {len(report.notes) - _NOTES:,} more" if len(report.notes) > _NOTES else ""
        yield f"**Not all of it could be read:** {'; '.join(map(escaped, report.notes[:_NOTES]))}{more}."
    if report.unseen_tools:
        yield f"Note: {escaped(unseen_words(report.unseen_tools), _SENTENCE)}."
    if unused := unused_gateway(made_no_call(one.transcript) for one in report.results):
        yield f"Note: {escaped(unused, _SENTENCE)}."
    lacking = unrecorded_notes(
        (one_line(one.name), unrecorded_calls(one.transcript)) for one in report.results
    )
    yield from (f"Note: {escaped(note, _SENTENCE)}." for note in lacking)
    yield from _decided(report, rows)
    yield from (f"_{escaped(line, _SENTENCE)}_" for line in report.info.judges[:_NOTES])
    yield from _compared(report, rows)
    yield from _of_targets(report, rows)
    if wrong:
        yield _table(report, wrong, rows)


def _of_targets(report: RunReport, rows: int) -> Iterator[str]:
    """A row for each scenario and a column for each target, where there are several."""
    found = target_table_of(report.results)
    if found is None:
        return
    targets, shown = found.targets[:_TARGETS], found.most_telling(rows)
    head = f"| Scenario | {' | '.join(escaped(target, 40) for target in targets)} |"
    lines = [
        head,
        f"| --- |{' --- |' * len(targets)}",
        *(_row_of_targets(row, len(targets)) for row in shown),
    ]
    left_out = [
        f"{count:,} more {what}"
        for count, what in (
            (len(found.targets) - len(targets), "targets"),
            (len(found.rows) - len(shown), "scenarios"),
        )
        if count
    ]
    yield "\n".join(lines) + (f"\n\n_And {', '.join(left_out)}._" if left_out else "")


def _row_of_targets(row: TargetRow, targets: int) -> str:
    cells = " | ".join(f"{_sign_of(cell)} {cell.words}".strip() for cell in row.cells[:targets])
    return f"| {escaped(row.name, 80)} | {cells} |"


def _sign_of(cell: TargetCell) -> str:
    """That of the worst outcome; none for what did not run."""
    worst = (Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED, Outcome.PASSED)
    return next((_SIGNS[outcome] for outcome in worst if outcome in cell.outcomes), "")


def _sign(report: RunReport, wrong: Sequence[ScenarioResult]) -> str:
    """Green only where all was looked at, and nothing was found."""
    baseline = report.baseline
    # A closed gate is red even where all that ran passed: something else is missing.
    closed = baseline is not None and baseline.comparison.fails(baseline.fail_on)
    word = report.gate.word if report.gate else None
    if wrong or closed or word is Word.RED:
        return _SIGNS[Outcome.FAILED]
    if (
        word is Word.UNDECIDED
        or report.notes
        or report.info.state not in (RunState.FINISHED, RunState.RUNNING)
    ):
        return _SIGNS[Outcome.ERROR]
    return _SIGNS[Outcome.PASSED if report.ran else Outcome.SKIPPED]


def _decided(report: RunReport, rows: int) -> Iterator[str]:
    """What the gate decided, with a line for each scenario that didn't simply pass."""
    if report.gate is None:
        return
    decisions = report.gate.decisions
    talks, failed = sum(one.talks for one in decisions), sum(one.failed for one in decisions)
    scenarios = [
        f"{count:,} {word.value}" for word in Word if (count := sum(one.word is word for one in decisions))
    ]
    alone = "" if any(one.past for one in decisions) else " Compared with no baseline."
    yield (
        f"**Gate: {report.gate.word.value}.** {counted(len(decisions), 'scenario')}: {', '.join(scenarios)}; "
        f"{failed:,} of {counted(talks, 'conversation')} failed.{alone}"
    )
    if together := drift_in_words(report.gate):
        yield f"❌ {escaped(together, _SENTENCE)}"
    if report.audit:
        yield f"_{escaped(report.audit, _SENTENCE)}_"
    shown = listed(decisions)
    yield from _list((_decision(report, one) for one in shown[:rows]), len(shown) - rows)


def _decision(report: RunReport, decision: Decision) -> str:
    """`⚠️ **Late refund**: 2 of 20 failed, base 0 of 40: undecided (e-value 12, red from 500)`."""
    names = (one.name for one in report.results if one.scenario_id == decision.scenario_id)
    sign = "❌" if stops(decision) else "⚠️" if decision.word is not Word.GREEN else "✅"
    said = escaped(sentence(decision), _SENTENCE)
    notes = "".join(f"<br>{escaped(note, _SENTENCE)}" for note in decision.notes)
    figures = f"<br><sub>{escaped(figures_in_words(decision), _SENTENCE)}</sub>"
    return f"{sign} **{escaped(next(names, decision.scenario_id), 120)}**: {said}{notes}{figures}"


def _compared(report: RunReport, rows: int) -> Iterator[str]:
    """The rows and the sentences of `convoprobe compare`, in the same words."""
    compared = report.baseline or report.previous
    if compared is None:
        return
    yield f"**Against {escaped(base_name(report))}:** {totals(compared.comparison)}."
    listed = compared.comparison.of(*LISTED)
    yield from _list(map(_change, listed[:rows]), len(listed) - rows)
    yield "<br>".join(
        escaped(line, _SENTENCE) for line in [*statements(compared.comparison), *compared.notes]
    )
    if report.baseline is not None:
        yield f"**{gate_line(compared.comparison, compared.fail_on)}**"


_ENDED = {
    RunState.STOPPED: "stopped early",
    RunState.INTERRUPTED: "interrupted",
    RunState.BROKEN_OFF: "broken off",
}


def _counts(report: RunReport) -> Iterator[str]:
    shown = [one for one in report.results if not report.is_excused(one)]
    for outcome in Outcome:
        count = sum(one.outcome is outcome for one in shown)
        if count and outcome is not Outcome.PASSED:
            blames = Counter(one.blame.value for one in shown if one.outcome is outcome and one.blame)
            named = ", ".join(blame if len(blames) == 1 else f"{n:,} {blame}" for blame, n in blames.items())
            said = counted(count, "error") if outcome is Outcome.ERROR else f"{count:,} {outcome.value}"
            yield f"**{said}**" + (f" ({named})" if named else "")
    spent = by_roles(report.spenders, replayed=False).values()
    if spent:
        total = sum(spent, Spending())
        remark = without_agent(report.results)
        figures = f"{dollars(total.cost).replace('<', '&lt;')}, {counted(total.usage.total, 'token')}"
        yield f"{figures} ({remark})" if remark else figures
    elif by_roles(report.spenders, replayed=True):
        yield "$0, all replayed"
    if report.info.ended is not None:
        yield seconds(max(0.0, report.info.ended - report.info.started))


def _change(change: ScenarioChange) -> str:
    """`new failure: Refund after a month (passed 3 of 3 → 1 of 3, score 1.00 → 0.40; changed: prompts)`."""
    changed = f"changed: {', '.join(change.changed)}" if change.changed else ""
    beside = "; ".join(filter(None, (figures_of(change), changed)))
    return f"{change.kind.value}: **{escaped(change.name, 120)}**" + (
        f" ({escaped(beside)})" if beside else ""
    )


def _list(lines: Iterable[str], more: int) -> Iterator[str]:
    found = [f"- {line}" for line in lines]
    if found:
        yield "\n".join([*found, *([f"- and {more:,} more"] if more > 0 else [])])


def _table(report: RunReport, wrong: Sequence[ScenarioResult], most: int) -> str:
    """A row for each scenario, with its first trial that did not pass."""
    # Reversed, so that the first trial of a scenario is the one that stays.
    first = {one.scenario_id: one for one in reversed(wrong)}
    scenarios = [one for one in wrong if first[one.scenario_id] is one]
    rows = [
        f"| {_SIGNS[one.outcome]} | {_scenario(report, one)} | {escaped(headline(one), 200)} |"
        for one in scenarios[:most]
    ]
    more = len(scenarios) - len(rows)
    if more:
        rows.append(f"| | _and {more:,} more_ | |")
    return "\n".join(["| | Scenario | Why |", "|---|---|---|", *rows])


def _scenario(report: RunReport, result: ScenarioResult) -> str:
    """The name, with how many of its trials passed where there are several; errors are no part of that."""
    trials = [one for one in report.results if one.scenario_id == result.scenario_id]
    counts = Counter(one.outcome for one in trials if one.outcome is not Outcome.SKIPPED)
    if sum(counts.values()) <= 1:
        return _name(result)
    errors, judged = counts[Outcome.ERROR], counts[Outcome.PASSED] + counts[Outcome.FAILED]
    passed = f"passed {counts[Outcome.PASSED]} of {judged} trials" if judged else "no verdict"
    beside = f", {counted(errors, 'error')}" if errors else ""
    return f"{escaped(result.name, 120)} ({passed}{beside})"


def _name(result: ScenarioResult) -> str:
    trial = f" (trial {result.trial})" if result.trial > 1 else ""
    attempt = f" ({attempt_words(result.attempts)})" if result.attempts > 1 else ""
    return escaped(result.name, 120) + trial + attempt


def _details(report: RunReport, result: ScenarioResult) -> str:
    """One scenario, folded: what doesn't hold and why, and the turns that it rests on."""
    decision = report.decision(result)
    place = escaped(f"{shown_path(result.file)}:{result.line}", 200)
    lines = [f"{place} · {escaped(why(result), 600)}"]
    lines += [f"_gate:_ {escaped(sentence(decision), _SENTENCE)}"] if decision else []
    against_it = [item for item in findings(result) if item.holds is not True]
    lines += ["\n".join(_finding(item) for item in against_it)] if against_it else []
    lines += [f"_user:_ {escaped(line, 600)}" for line in user_side_lines(result)]
    numbers = {item.turn for item in against_it if item.turn is not None}
    lines += [_turn(turn) for turn in result.transcript.turns if turn.number in numbers]
    summary = f"{_SIGNS[result.outcome]} {_name(result)}"
    return _folded(summary, lines)


def _folded(summary: str, lines: Iterable[str]) -> str:
    return "\n\n".join([f"<details><summary>{summary}</summary>", *lines, "</details>"])


def _finding(item: CriterionResult | CheckResult) -> str:
    mark = "?" if item.holds is None else "✗"
    if isinstance(item, CheckResult):
        return f"- {mark} {escaped(f'{item.name}: expected {item.expected}, found {item.found}')}"
    asked = item.criterion
    quote = f" “{escaped(item.quote)}” (turn {item.turn})" if item.quote else ""
    votes = second_votes(item)
    said_twice = f"<br>{escaped(votes, 600)}" if votes else ""
    tool = f" {escaped(asked.tool)}" if asked.tool else ""
    return (
        f"- {mark} {escaped(asked.id)} {MUST[asked.kind]}{tool}: **{escaped(asked.text)}**<br>"
        f"{escaped(answer_word(item.answer))}: {escaped(item.finding, 600)}{quote}{said_twice}"
    )


def _turn(turn: Turn) -> str:
    calls = "".join(map(_step, steps_of(turn.reply)))
    reply = escaped(turn.reply.text, 600) or "(an empty reply)"
    thoughts = (
        f"<br>_thoughts (not sent):_ {escaped(turn.reply.thoughts, 200)}" if turn.reply.thoughts else ""
    )
    cut = f"<br>_{escaped(not_kept(turn.reply.cut))}_" if turn.reply.cut else ""
    calls += "".join(f"<br>_model:_ {escaped(line, 600)}" for line in model_lines(turn.reply.wire))
    said = f"{calls}{thoughts}<br>_agent:_ {reply}{cut}"
    user = "" if turn.is_greeting else f"<br>_user:_ {escaped(turn.user, 600)}"
    return f"> Turn {turn.number}{user}{said}"


def _step(step: AgentStep) -> str:
    if isinstance(step.what, PendingRequest):
        asked, answer = escaped(asked_in(step.what), 300), escaped(answer_of(step.what), 300)
        return f"<br>_waits:_ {asked} → {answer}"
    return _tool_call(step.what, step.depth)


def _tool_call(call: ToolCall, depth: int) -> str:
    failed = " (not carried out)" if not call.executed else " (failed)" if call.failed else ""
    cut = f" ({escaped(not_kept(call.cut))})" if call.cut else ""
    injected = f" (injected: {escaped(call.fault)})" if call.fault else ""
    seen = f" ({ON_WIRE})" if call.on_wire else ""
    return f"<br>{'↳ ' * depth}_{kind_word(call.kind)}:_ {escaped(call.name)}{failed}{seen}{injected}{cut}"


def _costs(report: RunReport) -> Iterator[str]:
    rows = [
        f"| {ROLE_NAMES[role]} | {'replayed' if replayed else ''} | {spent.calls:,} | {spent.usage.total:,} "
        f"| {dollars(spent.cost).replace('<', '&lt;')} |"
        for replayed in (False, True)
        for role, spent in by_roles(report.spenders, replayed=replayed).items()
    ]
    if report.without_result:
        lost = sum(report.without_result.values(), Spending())
        rows.append(
            f"| of it, without a result | | {lost.calls:,} | {lost.usage.total:,} "
            f"| {dollars(lost.cost).replace('<', '&lt;')} |"
        )
    if rows:
        head = ["| Role | | Calls | Tokens | Cost |", "|---|---|--:|--:|--:|"]
        yield _folded("Cost by role", ["\n".join([*head, *rows])])


def _place(report: RunReport) -> str:
    info = report.info
    commit = f" · commit {escaped(info.commit[:12])}" if info.commit else ""
    began = f" · {escaped(moment(info.started))}" if moment(info.started) else ""
    return commit + began


def _fitting(parts: Iterable[str], room: int) -> Iterator[str]:
    """The parts from the first on, as long as there is room."""
    for part in parts:
        room -= _size(part) + 2
        if room < 0:
            return
        yield part


def _size(text: str) -> int:
    # GitHub's limits count bytes: a page in Japanese has three for each character.
    return len(text.encode("utf-8"))
