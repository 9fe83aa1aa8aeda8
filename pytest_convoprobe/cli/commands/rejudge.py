"""`convoprobe rejudge`: judge stored conversations again, with today's criteria, prompts and judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import dollars
from ..cells import COLORS
from ..console import Console, write_json
from ..event_loop import end_when_stuck
from ..exits import FINDINGS, OK, TROUBLE, UsageProblem
from ..keyword_expression import selects
from ..progress import progress_line
from ..project import Project, expression_option, json_option, judge_option, project_options

if TYPE_CHECKING:
    from ...results.store import StoredRun
    from ...runs.rejudge import AnswerChange, Rejudged


@click.command(short_help="Judge stored conversations again, with today's criteria and judge.")
@click.argument("run")
@judge_option
@expression_option
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    judge_model: str | None,
    expression: str | None,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Judge the conversations of a stored RUN again, with today's scenario files, prompts and judge. The
    target is not called, and the stored run doesn't change.

    The exit status is 1 if a verdict changed. If none changed but some conversation could not be judged, or
    the judge cannot decide it, the status is 3, and the last line says why.

    \b
    Example:
        convoprobe rejudge latest --judge-model openai/gpt-4o -k "refund and not slow"
    """  # noqa: D301 - click looks for the character itself
    project = Project.here(config_file, results_dir)
    stored, chosen = project.open(run), selects(expression)
    found = _judged(project, stored, judge_model, chosen)
    if not found:
        raise UsageProblem(f"nothing to rejudge in {stored.id}: no conversation matches")
    if as_json:
        trials = [_as_json(one) for one in found]
        write_json({"run": stored.id, "exit_status": _status(found), "trials": trials})
    else:
        _print(found)
    ctx.exit(_status(found))


def _judged(project: Project, stored: StoredRun, judge_model: str | None, chosen: Any) -> list[Rejudged]:
    from ...runs.rejudge import rejudge
    from ...runs.session import Session

    source = project.source({"judge.model": judge_model})
    end_when_stuck()
    with Session(source, project.root) as session, progress_line() as progress:
        return rejudge(
            stored,
            session,
            select=chosen,
            tick=lambda done: progress.tick(f"{done} conversations judged …"),
        )


def _status(found: Sequence[Rejudged]) -> int:
    if any(one.changed and not _errored(one) for one in found):
        return FINDINGS
    return TROUBLE if any(map(_undecided, found)) else OK


def _undecided(one: Rejudged) -> bool:
    return one.new is None or _errored(one)


def _errored(one: Rejudged) -> bool:
    """The judge gave no verdict now: that says nothing about the conversation.

    With `run.inconclusive: fail` or `skip`, the outcome of an undecided one is another word than error.
    """
    return one.new is not None and (one.new.outcome.value == "error" or one.new.blame == "judge")


def _print(found: Sequence[Rejudged]) -> None:
    console = Console.of()
    for one in found:
        _print_trial(console, one)
    judged = [one for one in found if one.new is not None]
    changed = Counter(f"{one.old.outcome.value} → {_new(one)}" for one in judged if one.changed)
    changes = ", ".join(f"{number} {what}" for what, number in changed.items()) or "no verdict changed"
    left = f", {len(found) - len(judged)} not judged" if len(judged) < len(found) else ""
    costs = [one.new.total.cost for one in judged if one.new is not None]
    # One unknown price makes the sum unknown: a sum of the others would look like all of it.
    price = dollars(None if None in costs else sum(cost or 0.0 for cost in costs))
    console.say(f"{len(judged)} judged again: {changes}{left}; {price}")
    if _status(found) == TROUBLE:
        console.say(console.safe(_trouble(found)))


def _trouble(found: Sequence[Rejudged]) -> str:
    """Why the status is that of trouble although no verdict changed."""
    reasons = [one.problem or (one.new.reason if one.new else "") for one in found if _undecided(one)]
    several = f" (+{len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"exit status {TROUBLE}: {len(reasons)} of {len(found)} have no verdict now: {reasons[0]}{several}"


def _new(one: Rejudged) -> str:
    return one.new.outcome.value if one.new else "not judged"


def _print_trial(console: Console, one: Rejudged) -> None:
    """A line for each trial whose verdict or some answer changed, and why; nothing for the rest."""
    answers = [answer for answer in one.answers if answer.changed] if one.new else []
    if not one.changed and not answers and not _undecided(one):
        return
    trial = f" (trial {one.row.trial})" if one.row.trial > 1 else ""
    verdict = f"{one.old.outcome.value} → {_new(one)}" if one.changed or one.new is None else _new(one)
    console.say(f"{verdict}  {console.safe(one.row.scenario_id)}{trial}", COLORS.get(_new(one), "yellow"))
    if one.problem:
        console.say(f"    {console.safe(one.problem)}")
    if _errored(one) and one.new is not None:
        console.say(f"    {console.safe(one.new.reason)}")
    for answer in answers:
        console.say(f"    {console.safe(answer.key)}")
        console.say(f"      {_word(answer.old)} → {_word(answer.new)}{console.safe(_why(answer))}")
    console.say()


def _word(found: Any) -> str:
    """The judge's word, or what code found."""
    from ...result import answer_word

    if found is None:
        return "not asked"
    if hasattr(found, "answer"):
        return answer_word(str(found.answer))
    return "holds" if found.holds else "doesn't hold"


def _why(answer: AnswerChange) -> str:
    new = answer.new
    if new is None:
        return ""
    finding = getattr(new, "finding", "") or getattr(new, "found", "")
    quote, turn = getattr(new, "quote", None), new.turn
    place = f' ("{quote}" in turn {turn})' if quote else ""
    return f": {finding}{place}"


def _as_json(one: Rejudged) -> dict[str, Any]:
    return {
        "scenario_id": one.row.scenario_id,
        "trial": one.row.trial,
        "changed": one.changed,
        "problem": one.problem,
        "old": _verdict(one.old),
        "new": None if one.new is None else {**_verdict(one.new), "cost": one.new.total.cost},
        "answers": [
            {"key": answer.key, "old": answer.old, "new": answer.new}
            for answer in one.answers
            if answer.changed and one.new is not None
        ],
    }


def _verdict(result: Any) -> dict[str, Any]:
    return {"outcome": result.outcome, "score": result.score, "blame": result.blame, "reason": result.reason}
