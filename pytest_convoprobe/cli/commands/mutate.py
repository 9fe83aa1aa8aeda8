"""`convoprobe mutate`: whether scenarios notice that a stored conversation was changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import counted, dollars, percent
from ..console import Console, write_json
from ..event_loop import end_when_stuck
from ..exits import FINDINGS, OK, TROUBLE, UsageProblem
from ..keyword_expression import selects
from ..progress import progress_line
from ..project import Project, expression_option, json_option, judge_option, project_options

if TYPE_CHECKING:
    from ...mutants.probing import Known, MutationPlan, Probed, Talk
    from ...redaction import Redactor
    from ...results.mutation_file import CriterionScore, Remark, ScenarioMutations
    from ...runs.session import Session


@click.command(short_help="Whether scenarios notice that stored conversations were changed.")
@click.argument("run", default="latest")
@judge_option
@expression_option
@click.option(
    "--talks", type=click.IntRange(1), default=1, show_default=True, help="Conversations of each scenario."
)
@click.option(
    "--calls", type=click.IntRange(1), metavar="N", help="Ask the judge at most about N times in all."
)
@click.option(
    "--min-score",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit with 1 only where a scenario notices a smaller share of its mutants, from 0 to 1.",
)
@click.option(
    "--llm", "asks", is_flag=True, help="A second control, in a model's words: one call a conversation."
)
@click.option("--again", is_flag=True, help="Ask about all mutants, also about those that are known.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked, and ask nothing.")
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    run: str,
    judge_model: str | None,
    expression: str | None,
    talks: int,
    calls: int | None,
    min_score: float | None,
    asks: bool,
    again: bool,
    dry_run: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Change stored conversations of RUN (the latest by default) in ways that must fail, and judge them.

    A mutant is a refusal, an empty reply, a number that is off by one, a claim without its tool call, a
    statement that is taken back, a turn that is missing, a wrong argument, a prohibited call, or an order to
    the judge. Each is made where the evidence of the stored verdict is. One more says the same in another
    form and must still pass. The target is not called, and what checks decide costs nothing.

    A criterion that lets a mutant through can't protect a merge: its sentence is named. The result is kept
    in the folder of stored runs.

    The exit status is 1 if a mutant came through or a control failed, 3 if the judge could decide nothing.

    \b
    Example:
        convoprobe mutate latest -k refund --calls 50
    """  # noqa: D301 - click looks for the character itself
    project = Project.here(config_file, results_dir)
    stored, chosen = project.open(run), selects(expression)
    end_when_stuck()
    from ...mutants.probing import forecast, talks_of
    from ...redaction import Redactor
    from ...results.mutation_file import check_mutations_can_be_kept, read_mutations
    from ...runs.session import Session

    with Session(project.source({"judge.model": judge_model}), project.root) as session:
        found = talks_of(stored, session, select=chosen, each=talks)
        if not found:
            raise UsageProblem(f"nothing to change in {stored.id}: no conversation with a verdict matches")
        known = {} if again else read_mutations(project.results)
        planned = forecast(found, known, calls)
        _announce(planned, found, asks)
        if dry_run:
            ctx.exit(OK)
        check_mutations_can_be_kept(project.results)
        if asks:
            found = _paraphrased(session, found)
        keep = partial(_kept, project, stored.id, redactor=Redactor(session.settings.secrets))
        probed = _probed(session, found, known, calls, keep)
        kept = keep(probed)
    status = _status(kept, probed, min_score)
    if as_json:
        write_json(_as_json(stored.id, status, planned, found, probed, kept))
    else:
        _print(found, probed, kept)
    ctx.exit(status)


def _announce(planned: MutationPlan, talks: Sequence[Talk], asks: bool) -> None:
    """Say what will be asked, before the first call; `asks` is whether a model words a second control."""
    Console.of().note(_planned(planned, talks))
    if asks:
        Console.of().note(
            f"--llm: {len(talks)} calls more, and up to {2 * len(talks)} for what comes of them"
        )


def _planned(planned: MutationPlan, talks: Sequence[Talk]) -> str:
    many = f"{counted(planned.mutants, 'mutant')} of {counted(len(talks), 'conversation')}"
    decided = f"checks by code decide {planned.by_code}"
    if planned.known:
        decided += f", {planned.known} are known from before"
    if planned.mutants == planned.by_code + planned.known:
        return f"{many}: {decided}, and none is left for the judge"
    calls = f"{planned.least:,} to {planned.most:,} calls of the judge"
    price = "" if planned.cost is None else f", about {dollars(planned.cost)} at most"
    return f"{many}: {decided}, for the others {calls}{price}"


def _paraphrased(session: Session, talks: list[Talk]) -> list[Talk]:
    """The talks with a control of a model's, where there can be one."""
    from ...mutants.paraphrasing import with_paraphrases
    from ..asking import asked_of_models

    made, notes = asked_of_models(
        session.settings, lambda llm: with_paraphrases(llm, talks), "asking for other words …"
    )
    for note in notes:
        Console.of().note(note)
    return made


def _probed(
    session: Session,
    talks: Sequence[Talk],
    known: Known,
    calls: int | None,
    keep: Callable[[list[Probed]], object],
) -> list[Probed]:
    from ...mutants.probing import probe

    with progress_line() as progress:
        tick = lambda done: progress.tick(f"{done} mutants judged …")  # noqa: E731
        return probe(talks, session, known, calls=calls, tick=tick, keep=keep)


def _kept(
    project: Project, run: str, probed: Sequence[Probed], redactor: Redactor
) -> list[ScenarioMutations]:
    from ...mutants.scoring import scores
    from ...results.mutation_file import add_mutations

    found = scores(probed, run, time.time(), redactor)
    # What nobody was asked about must not take the place of what was known.
    add_mutations(project.results, [one for one in found if one.score is not None or one.verdicts])
    return found


def _status(kept: Sequence[ScenarioMutations], probed: Sequence[Probed], min_score: float | None) -> int:
    known = [one.score for one in kept if one.score is not None]
    if not known:
        # Without a mutant nothing is known of the criteria, which is worth a look; the judge is not at fault.
        asked = any(not one.mutant.is_control for one in probed) or any(one.problem for one in probed)
        return TROUBLE if asked else FINDINGS
    if min_score is not None:
        return FINDINGS if min(known) < min_score else OK
    return FINDINGS if any(one.survivors or one.failed_controls for one in kept) else OK


def _print(talks: Sequence[Talk], probed: Sequence[Probed], kept: Sequence[ScenarioMutations]) -> None:
    from ...mutants.probing import errors_in, unasked

    console = Console.of()
    for talk in talks:
        if talk.problem:
            console.say(f"{console.safe(talk.row.scenario_id)}: no mutants: {console.safe(talk.problem)}")
    for one in kept:
        _print_scenario(console, one)
    for reason in errors_in(probed):
        console.say(f"no verdict: {console.safe(reason)}")
    left = unasked(probed)
    if left:
        console.say(f"{counted(left, 'mutant')} not judged: the limit of calls was reached")
    console.say(_summary(kept))


def _print_scenario(console: Console, one: ScenarioMutations) -> None:
    color = "faint" if one.score is None else "green" if one.score == 1 and not one.survivors else "yellow"
    console.say(f"{console.safe(one.scenario_id)}: {_in_words(one)}", color)
    for criterion in one.criteria:
        console.say(f"  {criterion.id} {_of_criterion(criterion)}: {console.safe(criterion.text)}")
        for remark in one.survivors:
            if remark.criterion == criterion.id:
                console.say(f"     let through: {console.safe(_of_remark(remark))}", "red")
        for remark in one.failed_controls:
            if remark.criterion == criterion.id:
                console.say(f"     failed a harmless change: {console.safe(_of_remark(remark))}", "red")


def _in_words(one: ScenarioMutations) -> str:
    undecided = f", {one.undecided} undecided" if one.undecided else ""
    if one.score is None:
        return f"nothing decided{undecided}"
    return (
        f"{percent(one.score)}, {one.caught} of {one.caught + one.survived} mutants noticed, "
        f"{one.by_code} of them by checks{undecided}"
    )


def _of_criterion(one: CriterionScore) -> str:
    undecided = f", {one.undecided} undecided" if one.undecided else ""
    if one.score is None:
        return f"not known, no mutant is about it{undecided}" if not undecided else f"not known{undecided}"
    return f"{percent(one.score)} ({one.caught} of {one.caught + one.survived}{undecided})"


def _of_remark(remark: Remark) -> str:
    kind = remark.kind.replace("_", " ")
    place = f'"{remark.sentence}"' if remark.sentence else "(nothing)"
    return f"{kind}, turn {remark.turn}: {place}; {remark.why}"


def _summary(kept: Sequence[ScenarioMutations]) -> str:
    caught, survived = sum(one.caught for one in kept), sum(one.survived for one in kept)
    share = caught / (caught + survived) if caught + survived else None
    blind = sum(len(one.blind) for one in kept)
    controls = sum(len(one.failed_controls) for one in kept)
    unknown = sum(one.score is None for scenario in kept for one in scenario.criteria)
    parts = [
        f"mutation score {'unknown' if share is None else percent(share)}",
        f"{counted(blind, 'criterion')} of {sum(len(one.criteria) for one in kept)} let a mutant through"
        if blind == 1
        else f"{blind} criteria of {sum(len(one.criteria) for one in kept)} let a mutant through",
        *([f"{unknown} not known"] if unknown else []),
        *([f"{counted(controls, 'harmless change')} failed"] if controls else []),
    ]
    return ", ".join(parts)


def _as_json(
    run: str,
    status: int,
    planned: MutationPlan,
    talks: Sequence[Talk],
    probed: Sequence[Probed],
    kept: Sequence[ScenarioMutations],
) -> dict[str, Any]:
    from ...mutants.probing import errors_in, unasked

    # The judge's single words are for the next run, not for readers.
    return {
        "run": run,
        "exit_status": status,
        "forecast": planned,
        "problems": list(_problems(talks)),
        "errors": errors_in(probed),
        "not_judged": unasked(probed),
        "scenarios": [
            {
                **{name: value for name, value in one.to_json().items() if name != "verdicts"},
                "score": one.score,
                "criteria": [{**_plain(criterion), "score": criterion.score} for criterion in one.criteria],
            }
            for one in kept
        ],
    }


def _problems(talks: Sequence[Talk]) -> Iterator[dict[str, str]]:
    for talk in talks:
        if talk.problem:
            yield {"scenario_id": talk.row.scenario_id, "problem": talk.problem}


def _plain(criterion: CriterionScore) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(criterion)
