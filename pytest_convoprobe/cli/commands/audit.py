"""`convoprobe audit`: how often the gate of this suite is wrong."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...formatting import counted, dollars, exact_percent, moment, number, percent
from ..console import Console, write_json
from ..event_loop import end_when_stuck
from ..exits import FINDINGS, OK, TROUBLE, UsageProblem
from ..keyword_expression import selects
from ..progress import progress_line
from ..project import Project, expression_option, json_option, judge_option, project_options

if TYPE_CHECKING:
    from ...audit.measuring import AuditMaterial, JudgePlan
    from ...results.audit_file import Audit, GateFigures, LiveFigures
    from ...runs.session import Session

_LIVE = ("--convoprobe-gate=auto", "--convoprobe-replay=off")
_TRIED = 100
"""Gates with another number of first conversations: enough to compare with."""

_PARTS = ("always", "half", "a third")
_EXTENTS = {"one": "one scenario", "a tenth": "a tenth of them", "all": "all of them"}


@click.command(short_help="How often the gate of this suite is wrong, from its stored runs.")
@click.option(
    "--runs",
    "gates",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many gates to draw from the stored conversations.",
)
@click.option(
    "--again",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="Conversations of each scenario that the judge decides a second time.",
)
@click.option(
    "--calls",
    type=click.IntRange(0),
    metavar="N",
    help="Ask the judge at most about N times in all. 0: never.",
)
@click.option(
    "--live",
    type=click.IntRange(1),
    metavar="K",
    help="Also run pytest K times with the agent as it is. This talks to it.",
)
@judge_option
@expression_option
@click.option("--dry-run", is_flag=True, help="Say what would be asked, and ask and store nothing.")
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    gates: int,
    again: int,
    calls: int | None,
    live: int | None,
    judge_model: str | None,
    expression: str | None,
    dry_run: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Measure the gate on the suite's own stored conversations. The agent is not talked to without --live.

    Half of the conversations plays the past, the other half a new run: nothing changed, so each red gate is a
    false one. Then scenarios are broken, and a gate that stays green has missed it. What a scenario can
    notice at all comes from its mutants (see `convoprobe mutate`), and how steady its verdicts are from
    judging stored conversations again in another order.

    The result is kept in the folder of stored runs: reports show it with its age.

    The exit status is 1 if the promise doesn't hold: more red gates than `gate.alpha` allows, or more than
    one in ten that misses a scenario that is broken for good. It is 3 if that could not be measured.

    \b
    Example:
        convoprobe audit --calls 200
    """  # noqa: D301 - click looks for the character itself
    project, chosen = Project.here(config_file, results_dir), selects(expression)
    stored = [ref.open() for ref in project.runs()]
    end_when_stuck()
    from ...audit.measuring import material, plan
    from ...results.audit_file import write_audit
    from ...results.mutation_file import read_mutations
    from ...runs.session import Session

    with Session(project.source({"judge.model": judge_model}), project.root) as session:
        found = material(stored, session, chosen)
        if not found.talks:
            raise UsageProblem("nothing to audit: no stored run has a live conversation with a verdict")
        known = read_mutations(project.results)
        Console.of().note(_planned(plan(found, known, again, calls), found))
        if dry_run:
            ctx.exit(OK)
        audit = _measured(project, session, found, gates=gates, again=again, calls=calls)
    if live:
        audit = _with_live(project, audit, live)
    # Of some scenarios only, it would be shown as that of the suite.
    if expression is None:
        write_audit(project.results, audit)
    ctx.exit(_shown(audit, as_json))


def _shown(audit: Audit, as_json: bool) -> int:
    """Write the audit to the terminal. The exit status that it means."""
    status = FINDINGS if audit.broken else TROUBLE if audit.unknown else OK
    if as_json:
        write_json({"exit_status": status, **audit.to_json()})
    else:
        _print(audit, status)
    return status


def _planned(planned: JudgePlan, found: AuditMaterial) -> str:
    mutants = planned.mutants
    if planned.calls == 0:
        return f"{counted(len(found.talks), 'scenario')}: the judge is asked nothing"
    asked = mutants.mutants - mutants.by_code - mutants.known
    limit = "" if planned.calls is None else f", at most about {planned.calls:,} calls"
    return (
        f"{counted(len(found.talks), 'scenario')}: the judge decides "
        f"{counted(planned.again, 'conversation')} again and {counted(asked, 'mutant')}{limit}"
    )


def _measured(
    project: Project, session: Session, found: AuditMaterial, *, gates: int, again: int, calls: int | None
) -> Audit:
    from ...audit.gates import draw_gates
    from ...audit.measuring import (
        JudgeFindings,
        ask,
        audit_of,
        drawn_with_first,
        known_now,
        rules_of,
        suite_of,
    )
    from ...audit.promise import with_promise
    from ...redaction import Redactor
    from ...results.mutation_file import add_mutations, check_mutations_can_be_kept, read_mutations

    known = read_mutations(project.results)
    if calls == 0:
        judged = JudgeFindings({}, known_now(found, known))
    else:
        check_mutations_can_be_kept(project.results)
        with progress_line() as progress:
            judged = ask(found, session, known, again=again, calls=calls, tick=progress.tick)
        add_mutations(project.results, judged.new)
    gate = session.settings.settings.gate
    suite, rules = suite_of(found, judged, gate, date.today()), rules_of(gate)
    audit = audit_of(found, judged, suite, rules, draw_gates(suite, rules, gates), time.time())

    def try_first(first: int) -> GateFigures:
        return drawn_with_first(found, suite, rules, first, min(gates, _TRIED))

    return Redactor(session.settings.secrets).record(with_promise(audit, gate.first, try_first))


def _with_live(project: Project, audit: Audit, gates: int) -> Audit:
    from ...audit.live import compared, run_gates

    def tick(number: int) -> None:
        Console.of().note(f"live gate {number} of {gates} …")

    return compared(audit, run_gates(_LIVE, project.root, project.results, gates, tick))


def _print(audit: Audit, status: int) -> None:
    console = Console.of()
    gate = audit.gate
    talks = counted(sum(one.talks for one in audit.scenarios), "conversation")
    of_runs = counted(len(audit.runs), "run")
    console.say(f"{counted(len(audit.scenarios), 'scenario')}, {talks} of {of_runs}, policy {audit.policy}")
    console.say(
        f"false red    {gate.red} of {gate.gates:,} gates without a change, at most "
        f"{percent(gate.red_at_most)} (promised: {exact_percent(audit.alpha)})"
    )
    for extent, words in _EXTENTS.items():
        console.say(f"missed       {words}: {_missed(audit, extent)}")
    price = dollars(None) if gate.cost is None else f"{dollars(gate.cost)} a scenario"
    console.say(
        f"cost         {number(gate.talks, 1)} conversations a scenario, in 95 % of the gates at most "
        f"{number(gate.talks_95, 1)}; {price}; "
        f"{percent(gate.undecided)} of the scenarios undecided"
    )
    console.say(f"judge        {_judge(audit)}")
    if audit.live is not None:
        console.say(f"live         {_live(audit.live)}")
    for line in audit.unknown:
        console.say(console.safe(f"not measured: {line}"), "yellow")
    for line in audit.broken:
        console.say(console.safe(f"does not hold: {line}"), "red")
    if audit.advice:
        console.say("to change:")
    for line in audit.advice:
        console.say(f"  {console.safe(line)}")
    console.say(_last(audit, status))


def _missed(audit: Audit, extent: str) -> str:
    known = {part: audit.gate.missed_of(part, extent) for part in _PARTS}
    if all(share is None for share in known.values()):
        return "not known"
    return "broken " + ", ".join(f"{part} {percent(share)}" for part, share in known.items())


def _judge(audit: Audit) -> str:
    from ...stats import wilson

    flips, parts = audit.flips, ["no verdict asked again"]
    if flips.asked:
        interval = wilson(flips.flipped, flips.asked)
        high = "" if interval is None else f" (at most {percent(interval.high)})"
        parts = [f"{flips.flipped} of {flips.asked} verdicts flipped in another order{high}"]
    if flips.lost:
        parts.append(f"{flips.lost} without a verdict the second time")
    known = [one.sees for one in audit.scenarios if one.sees is not None]
    if known:
        parts.append(
            f"{percent(sum(known) / len(known))} of the mutants of {counted(len(known), 'scenario')} noticed"
        )
    if audit.votes:
        parts.append(f"second votes took back {audit.overruled} of {audit.votes} findings")
    return "; ".join(parts)


def _live(live: LiveFigures) -> str:
    return (
        f"{live.red} of {counted(live.gates, 'gate')} red with the agent as it is, "
        f"{number(live.talks, 1)} conversations a scenario"
    )


def _last(audit: Audit, status: int) -> str:
    if status == FINDINGS:
        return "the promise does not hold"
    day = moment(audit.at)[:10]
    return "not all could be measured" if status == TROUBLE else f"the promise holds, measured {day}"
