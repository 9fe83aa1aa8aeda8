"""Before a conversation counts against the agent, the user's side of it is reviewed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, LLMUnavailable
from pytest_convoprobe.judging.types import UserReview
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.reports.failure import render_failure
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.transcript import Reply, ToolCall, Usage
from tests.support.scripted_llm import FakeLLM

SCENARIO = """\
name: A room
description: The agent books a room.
synthetic_user:
  persona: Somebody in a hurry
  initial_query: I want to book a room
  max_turns: {turns}
  {script}
  clarification_behavior:
    known_facts: ["{fact}", "The day is Friday"]
evaluation:
  {evaluation}
"""
TOOL = "tool_usage: {required_tools: [book_room]}"
WITHHELD = {"fact": "fact 1", "turn": 2, "question": "Which room do you want?"}


def review(**found: Any) -> dict[str, Any]:
    return {"finding": "The user is vague.", "withheld": [], "invented": [], "out_of_role": [], **found}


def models(
    reviewed: Any,
    says: Callable[[int], str] = lambda turn: f"Whatever, {turn} times no.",
    verdict: str = "not_met",
    by_assistant: bool = False,
) -> FakeLLM:
    """A user that says no fact, a judge that finds the criterion unmet, and a reviewer with this answer.

    `by_assistant` is what the guard is answered about any message.
    """

    def answer(request: LLMRequest) -> LLMReply | Exception:
        role = request.context.role
        if role is Role.REVIEWER:
            if isinstance(reviewed, Exception):
                return reviewed
            return LLMReply(
                reviewed if isinstance(reviewed, str) else json.dumps(reviewed), usage=Usage(7, 3)
            )
        if role is Role.SYNTHETIC_USER:
            return LLMReply(json.dumps({"message": says(request.context.turn), "status": "continue"}))
        if role is Role.GUARD:
            return LLMReply(
                json.dumps({"by_assistant": by_assistant, "takes_leave": False, "took_leave_before": False})
            )
        found = {"finding": "no", "quote": None, "turn": None, "absence": True, "verdict": verdict}
        return LLMReply(json.dumps({"answers": [{"id": "c1", **found}]}))

    return FakeLLM(answer, shows="absence" if verdict == "met" else "presence")


def asks(message: str, turn: int) -> Reply:
    return Reply(["Sure.", "Which room do you want?", "And on which day?", "I see.", "Fine."][turn - 1], ())


def run(
    tmp_path: Path,
    llm: FakeLLM,
    *,
    evaluation: str = "correctness_criteria: [The agent books the room]",
    script: str = "",
    turns: int = 4,
    fact: str = "The room is Blue",
    target: Any = None,
    **overrides: Any,
) -> ScenarioResult:
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake", **overrides}, environ={})
    text = SCENARIO.format(turns=turns, evaluation=evaluation, script=script, fact=fact)
    (loaded,) = parse_scenarios(text, str(tmp_path / "room.yaml"))
    assert loaded.scenario is not None
    chosen = scenario_settings(settings, loaded.scenario.config)
    job = Job(loaded, f"room.yaml::{loaded.id}", target or FakeTarget(asks), chosen)
    return asyncio.run(Runner(settings, llm=llm).run(job))


def roles(llm: FakeLLM) -> list[Role]:
    return [request.context.role for request in llm.requests]


def test_a_user_that_never_says_what_it_is_asked_for_is_not_the_agents_fault(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["check 1", "c1"]))
    result = run(tmp_path, llm, evaluation="correctness_criteria: [It books]\n  " + TOOL)
    assert (result.outcome, result.blame, result.score) == (Outcome.ERROR, Blame.SIMULATOR, None)
    assert result.reason == (
        'the synthetic user never said "The room is Blue", although the agent asked for it in turn 2 '
        '("Which room do you want?")'
    )
    assert result.spending[Role.REVIEWER].usage == Usage(7, 3)


def test_the_report_lists_the_facts_that_were_never_said(tmp_path: Path) -> None:
    result = run(tmp_path, models(review(), lambda turn: f"On Friday, I said {turn} times."))
    assert result.review is not None
    assert result.review.never_said == ("The room is Blue",)
    shown = render_failure(result, verbosity=0, width=100, rerun_command="pytest", ascii_only=True)
    assert "known facts never said: The room is Blue" in shown


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"withheld": [WITHHELD]},  # it explains nothing
        {"withheld": [{**WITHHELD, "fact": "fact 9"}], "explains": ["c1"]},
        {"withheld": [{**WITHHELD, "fact": "The colour of the door"}], "explains": ["c1"]},
        {"withheld": [{**WITHHELD, "turn": 3}], "explains": ["c1"]},
        {"withheld": [{**WITHHELD, "question": "What is your mother's name?"}], "explains": ["c1"]},
        {"withheld": [{**WITHHELD, "turn": 1, "question": "Sure"}], "explains": ["c1"]},
        {"invented": [{"turn": 2, "quote": "I am the pope"}], "explains": ["c1"]},
        {"invented": [{"turn": 1, "quote": "book a room"}], "explains": ["c1"]},
        {"invented": [{"turn": 2, "quote": "Whatever, 2 times no"}], "explains": ["c1"]},  # nobody took it up
        {"out_of_role": [{"turn": 2, "quote": "How may I help you, dear guest?"}], "explains": ["c1"]},
        {"out_of_role": [{"turn": 1, "quote": "I want to book a room"}], "explains": ["c1"]},
        # It is the user's own, but the guard takes it for a person's.
        {"out_of_role": [{"turn": 2, "quote": "Whatever, 2 times no"}], "explains": ["c1"]},
        # No question, and no more in common with the fact than "is".
        {"withheld": [{**WITHHELD, "turn": 1, "question": "Sure."}], "explains": ["c1"]},
    ],
)
def test_a_review_without_evidence_does_not_excuse_the_agent(tmp_path: Path, found: dict[str, Any]) -> None:
    result = run(tmp_path, models(review(**found)))
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)


def test_a_fact_that_was_said_after_all_was_not_withheld(tmp_path: Path) -> None:
    llm = models(
        review(withheld=[WITHHELD], explains=["c1"]), lambda turn: f"The blue one, for the {turn}. time!"
    )
    assert run(tmp_path, llm).outcome is Outcome.FAILED


def test_a_question_in_the_last_turn_could_not_be_answered(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["c1"]))
    assert run(tmp_path, llm, turns=2).outcome is Outcome.FAILED


def test_every_finding_has_to_be_explained(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["check 1"]))
    result = run(tmp_path, llm, evaluation="correctness_criteria: [It is polite]\n  " + TOOL)
    assert result.outcome is Outcome.FAILED


def test_no_user_excuses_a_prohibited_call(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["check 1", "c1"]))
    target = FakeTarget(lambda message, turn: Reply(asks(message, turn).text, (ToolCall("delete_all"),)))
    result = run(
        tmp_path,
        llm,
        target=target,
        evaluation="correctness_criteria: [It books]\n  tool_usage: {prohibited_tools: [delete_all]}",
    )
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)


def test_what_the_user_made_up_and_the_agent_worked_with(tmp_path: Path) -> None:
    llm = models(
        review(invented=[{"turn": 3, "quote": "room 4711"}], explains=["c1"]),
        lambda turn: f"Take room 4711, that is the {turn}. time.",
    )
    target = FakeTarget(
        lambda message, turn: Reply(f"({turn}) Room 4711 is not there." if turn > 2 else "Ok?")
    )
    result = run(tmp_path, llm, target=target)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SIMULATOR)
    assert result.reason == 'in turn 3 the synthetic user made up "room 4711"'


def test_a_user_that_spoke_as_the_assistant(tmp_path: Path) -> None:
    llm = models(
        review(out_of_role=[{"turn": 3, "quote": "I have booked the green room for you"}], explains=["c1"]),
        lambda turn: f"I have booked the green room for you ({turn}).",
        by_assistant=True,
    )
    result = run(tmp_path, llm)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SIMULATOR)
    asked = [request for request in llm.requests if request.context.role is Role.GUARD]
    assert [request.context.turn for request in asked] == [3]
    assert "The agent books" not in asked[0].messages[-1].content


def test_what_no_user_can_be_blamed_for(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["check 1", "c1"]))
    checks = "tool_call_criteria: [{tool: pay, assertions: [{times: 0}]}]"
    cases = {
        "": Reply("", ()),
        "tool_usage: {only_listed: true}": Reply("Which room do you want?", (ToolCall("pay"),)),
        f"tool_usage: {{{checks}}}": Reply("Which room do you want?", (ToolCall("pay"),)),
    }
    for evaluation, reply in cases.items():
        target = FakeTarget(lambda message, turn, reply=reply: reply)
        given = f"correctness_criteria: [It books]\n  {evaluation}"
        result = run(tmp_path, llm, evaluation=given, target=target)
        assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT), evaluation


@pytest.mark.parametrize("finding", ["check 1", "[Check 1]", "check 1: required tool book_room"])
def test_a_check_alone_that_fails_for_a_withheld_fact(tmp_path: Path, finding: str) -> None:
    llm = models(review(withheld=[WITHHELD], explains=[finding]), verdict="met")
    result = run(tmp_path, llm, evaluation="correctness_criteria: [It is polite]\n  " + TOOL)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SIMULATOR)


@pytest.mark.parametrize(
    ("question", "fact", "excused"),
    [
        ("Please name the room.", "The room is Blue", True),
        ("Bitte nennen Sie mir das Zimmer.", "Das Zimmer ist Edelweiss", True),
        ("部屋を教えてください。", "部屋は青です", True),
        ("Which room do you want", "The colour is Blue", True),  # the quote stops before the mark
        ("The weather is nice.", "The room is Blue", False),
        ("I see nothing", "The room is Blue", False),  # the mark is behind another sentence
    ],
)
def test_what_counts_as_a_question_for_a_fact(
    tmp_path: Path, question: str, fact: str, excused: bool
) -> None:
    llm = models(review(withheld=[{"fact": "fact 1", "turn": 1, "question": question}], explains=["c1"]))
    rest = "? Really." if question.startswith("Which") else ". Anything else?"
    target = FakeTarget(lambda message, turn: Reply(f"{question}{rest} ({turn})", ()))
    result = run(tmp_path, llm, fact=fact, target=target)
    assert (result.outcome is Outcome.ERROR) is excused


def test_what_only_the_user_says_again_was_not_taken_up(tmp_path: Path) -> None:
    llm = models(
        review(invented=[{"turn": 2, "quote": "room 4711"}], explains=["c1"]),
        lambda turn: f"Take room 4711, that is the {turn}. time.",
    )
    assert run(tmp_path, llm).outcome is Outcome.FAILED


def test_a_withheld_fact_in_words_that_code_cannot_look_for_is_listed_too(tmp_path: Path) -> None:
    llm = models(review(withheld=[{**WITHHELD, "question": "Which room do you want?"}]))
    result = run(tmp_path, llm, fact="部屋は青です")
    assert (result.outcome, result.review) == (
        Outcome.FAILED,
        UserReview(never_said=("The day is Friday", "部屋は青です")),
    )


def test_a_pass_is_not_reviewed(tmp_path: Path) -> None:
    llm = models(review(), verdict="met")
    result = run(tmp_path, llm)
    assert result.outcome is Outcome.PASSED
    assert Role.REVIEWER not in roles(llm)
    assert result.review is None


def test_messages_of_the_author_are_not_reviewed(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["c1"]))
    result = run(tmp_path, llm, script="script: [Hm., Well., Bye.]")
    assert (result.outcome, result.review) == (Outcome.FAILED, None)
    assert Role.REVIEWER not in roles(llm)


@pytest.mark.parametrize("reviewed", ["no idea", LLMUnavailable("503 from the provider")])
def test_without_a_review_the_agent_has_failed_and_the_report_says_so(tmp_path: Path, reviewed: Any) -> None:
    result = run(tmp_path, models(reviewed))
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    shown = render_failure(result, verbosity=0, width=100, rerun_command="pytest", ascii_only=True)
    assert "the user's side was not reviewed: " in shown


def test_a_spent_budget_does_not_turn_the_verdict_into_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, models(review(), lambda turn: f"No {turn}."), **{"run.max_tokens": 1000})
    assert result.outcome is Outcome.FAILED


def test_a_review_that_takes_too_long_leaves_the_verdict(tmp_path: Path) -> None:
    inner = models(review())

    async def answer(request: LLMRequest) -> Any:
        if request.context.role is Role.REVIEWER:
            await asyncio.sleep(60)
        return (await inner.complete(request)).text

    llm = FakeLLM(answer, shows="presence")
    result = run(tmp_path, llm, **{"run.scenario_timeout": 1.5})
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert result.review is not None
    assert "was not reviewed" in result.review.note


def test_a_review_is_recorded_and_replayed(tmp_path: Path) -> None:
    llm = models(review(withheld=[WITHHELD], explains=["c1"]))
    first = run(tmp_path, llm, **{"run.replay": "record"})
    again = run(tmp_path, FakeLLM([]), **{"run.replay": "only"})
    assert (again.outcome, again.reason) == (first.outcome, first.reason)
    assert again.spending[Role.REVIEWER].replayed == 1


def test_a_recording_from_before_reviews_needs_none(tmp_path: Path) -> None:
    run(tmp_path, models(review()), **{"run.replay": "record"})
    (path,) = tmp_path.rglob("_recordings/**/*.json")
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["now"]
    path.write_text(json.dumps(data), encoding="utf-8")
    llm = models(review())
    result = run(tmp_path, llm, **{"run.replay": "auto"})
    assert Role.REVIEWER not in roles(llm)
    assert result.review is not None
    assert result.review.note.endswith("it was recorded before there were reviews")
