"""Why a scenario did not pass, for someone who reads nothing but the CI log."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Blame
from ..files import shown_path
from ..formatting import counted, number
from ..judging.transcript_view import ending_of
from ..judging.types import CheckResult, CriterionKind, CriterionResult, Suggestion
from ..llm.port import Role
from ..result import ScenarioResult, answer_word, attempt_words, findings, report_order, second_votes, why
from ..start_time import in_words
from ..text import harmless, one_line, shorten
from .money import ROLE_NAMES, spending_in_words, without_agent
from .paste_command import records_again
from .talk import Detail, add_conversation
from .terminal_page import Page
from .wire_lines import NO_CALL, made_no_call, model_of, unrecorded_calls

BLAME_WORDS = {
    Blame.AGENT: "agent",
    Blame.SIMULATOR: "simulator (the synthetic user, not the agent)",
    Blame.JUDGE: "judge (no verdict on the agent)",
    Blame.INFRASTRUCTURE: "infrastructure (not the agent)",
    Blame.SCENARIO: "scenario (its file or the settings, not the agent)",
    Blame.BUDGET: "budget (the run may not spend more)",
    Blame.RECORDING: "recording (missing, or it no longer fits; no verdict on the agent)",
}

MUST = {CriterionKind.CORRECTNESS: "must", CriterionKind.FAILURE: "must not", CriterionKind.TOOL: "tool"}
_HEADLINE = 200
_TRACE_LINES = 30


def headline(result: ScenarioResult) -> str:
    """One line for short summaries: who is to blame, and the sentence of the result on why."""
    reason = shorten(one_line(why(result)), _HEADLINE)
    return harmless(f"{result.blame.value}: {reason}" if result.blame else reason)


def render_failure(
    result: ScenarioResult,
    *,
    verbosity: int,
    width: int,
    rerun_command: str,
    advice: str = "",
    ascii_only: bool,
    color: bool = False,
) -> str:
    """The whole report on one result, as lines of at most `width` columns (60 to 120).

    `verbosity` is pytest's: 0 folds turns far from the evidence, 1 (`-v`) shows all of them,
    2 (`-vv`) shortens nothing. `ascii_only` is for terminals that know nothing else.
    `advice` is a line on what may put the matter right, as the door at hand would have it.
    `rerun_command` (see `fitting_words`), if any, is printed as it is, on a line of its own: it has to fit
    the terminal.
    """
    page = Page(width, ascii_only=ascii_only, color=color)
    _add_head(page, result)
    _add_criteria(page, result, verbosity)
    _add_checks(page, result)
    _add_suggestions(page, result)
    add_conversation(page, result, Detail.of(verbosity))
    # Last but one: who scrolls up from the end meets the command, the cost and the exception first.
    _add_trace(page, result, verbosity)
    _add_spending(page, result)
    page.blank()
    if advice and not records_again(result):  # the command below has the option that the advice names
        page.add(advice)
    if rerun_command:
        page.command("record again: " if records_again(result) else "run again: ", rerun_command)
    return page.text()


def _add_head(page: Page, result: ScenarioResult) -> None:
    trial = f"trial {result.trial}" if result.trial > 1 else ""
    which = ", ".join(filter(None, (trial, attempt_words(result.attempts))))
    name = f"{one_line(result.name)} ({which})" if which else one_line(result.name)
    page.add(f"{result.outcome.value.upper()}  {name}", color="bold")
    file = shown_path(result.file)
    page.pair("where", f"{file}:{result.line}" if result.line else file)
    if result.blame is not None:
        page.pair("blame", BLAME_WORDS[result.blame])
    if not result.passed:
        page.pair("why", why(result))
    for line in user_side_lines(result):
        page.pair("user", line)
    if made_no_call(result.transcript):
        page.pair("gateway", NO_CALL)
    if lacking := unrecorded_calls(result.transcript):
        page.pair("gateway", lacking)
    if result.transcript.now is not None:
        page.pair("began", in_words(result.transcript.now))
    page.pair("ended", ending(result))
    if result.score is not None:
        page.pair("score", _score(result))
    if result.target:
        page.pair("target", one_line(result.target))


def user_side_lines(result: ScenarioResult) -> Iterator[str]:
    """What a report says about the user's side: why it was not reviewed, and what it never said."""
    review = result.review
    if review is None:
        return
    if review.note:
        yield one_line(review.note)
    if review.never_said:
        yield f"known facts never said: {'; '.join(map(one_line, review.never_said))}"


def ending(result: ScenarioResult) -> str:
    """Why and after how many turns the conversation ended."""
    transcript = result.transcript
    turns = counted(len(transcript.user_turns), "turn")
    if transcript.turns and not transcript.user_turns:
        turns = "the agent's greeting"
    why = ending_of(transcript)
    if why is None:
        return f"after {turns}" if transcript.turns else "before the first turn"
    return f"{why}, after {turns}"


def _score(result: ScenarioResult) -> str:
    items = findings(result)
    satisfied = sum(item.holds is True for item in items)
    return f"{number(result.score)} ({satisfied} of {len(items)} hold)"


def _add_criteria(page: Page, result: ScenarioResult, verbosity: int) -> None:
    criteria, _ = report_order(result)
    if not criteria:
        if result.transcript.turns:
            page.title(f"Criteria: {NO_JUDGE if without_judge(result) else 'not judged'}")
        return
    page.title("Criteria")
    for answer in criteria:
        page.marked(answer.holds, _criterion(answer))
        # Reasons for what is right are many lines that nobody reads in a CI log.
        if answer.holds is not True or verbosity > 0:
            _add_answer(page, answer, verbosity)


def without_judge(result: ScenarioResult) -> bool:
    """Whether there is a verdict, and code alone decided it."""
    return result.score is not None and not result.criteria


NO_JUDGE = "no judge was asked, since all checks are by code"
"""What a report says of such a result in place of criteria."""


def _criterion(answer: CriterionResult) -> str:
    criterion = answer.criterion
    kind = f"{MUST[criterion.kind]} {criterion.tool}" if criterion.tool else MUST[criterion.kind]
    return f"{criterion.id} {kind}: {one_line(criterion.text)}"


def _add_answer(page: Page, answer: CriterionResult, verbosity: int) -> None:
    """The judge's word and reason, its quote with the turn, and what a second vote said."""
    finding = answer.finding if verbosity > 1 else shorten(one_line(answer.finding), 600)
    page.add(f"{answer_word(answer.answer)}: {finding}", "       ")
    if answer.quote is not None:
        quote = answer.quote if verbosity > 1 else shorten(one_line(answer.quote), 300)
        page.add(f'"{quote}"', f"       turn {answer.turn}: ")
    votes = second_votes(answer)
    if votes:
        page.add(votes if verbosity > 1 else shorten(votes, 600), "       ")


def _add_checks(page: Page, result: ScenarioResult) -> None:
    _, checks = report_order(result)
    if checks:
        page.title("Checks")
    for check in checks:
        page.marked(check.holds, _check(check))


def suggestion_words(one: Suggestion) -> str:
    """`high parameters of search: …`, the headline of a suggestion in every report on one trial."""
    return f"{one.severity.value} {one.category} of {one_line(one.tool)}: {one_line(one.issue)}"


def _add_suggestions(page: Page, result: ScenarioResult) -> None:
    given = result.suggestions
    if given is None or not (given.found or given.note):
        return
    page.title("Suggestions of a model about the tools")
    for one in given.found:
        page.add(suggestion_words(one), "  ")
        page.add(one_line(one.suggestion), "      ")
    if given.note:
        page.add(one_line(given.note), "  ")


def _check(check: CheckResult) -> str:
    place = f" (turn {check.turn})" if check.turn is not None and not check.holds else ""
    return f"{check.name}: expected {check.expected}; found {check.found}{place}"


def _add_trace(page: Page, result: ScenarioResult, verbosity: int) -> None:
    """The end of the trace, where the exception is; all of it at `-vv`."""
    if not result.trace:
        return
    page.title("The judge's last reply" if result.blame is Blame.JUDGE else "Trace")
    lines = result.trace.rstrip("\n").split("\n")
    hidden = len(lines) - _TRACE_LINES if verbosity < 2 else 0
    if hidden > 0:
        page.add(f"… {counted(hidden, 'more line')} (-vv shows them) …", "  ", color="faint")
    page.add("\n".join(lines[max(0, hidden) :]), "  ", "  ")


def _add_spending(page: Page, result: ScenarioResult) -> None:
    if not result.spending:
        return
    page.title("Cost")
    roles = [role for role in Role if role in result.spending]
    width = max(16, *(len(ROLE_NAMES[role]) + 2 for role in roles))
    for role in roles:
        name = model_of(result, role)
        model = f"  [{name}]" if name else ""
        page.add(spending_in_words(result.spending[role]) + model, f"  {ROLE_NAMES[role]:<{width}}")
    if len(result.spending) > 1:
        page.add(spending_in_words(result.total), f"  {'total':<{width}}")
        if remark := without_agent([result]):
            page.add(remark, " " * (width + 2))
