"""What the votes of several judges come to."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_convoprobe.errors import (
    BudgetExceeded,
    ConvoprobeError,
    JudgeError,
    LLMRejected,
    LLMUnavailable,
    ReplayMiss,
)
from pytest_convoprobe.judging.panel import first_reply, most_calls, other_judge, panel_results
from pytest_convoprobe.judging.types import Criterion, CriterionKind, CriterionResult
from pytest_convoprobe.settings.judge_settings import JudgeSettings

CRITERION = Criterion("c1", CriterionKind.CORRECTNESS, "The agent answers")
HOLDS = {"met": True, "not_met": False, "cannot_tell": None}
DOWN, MISS = LLMUnavailable("openai/b is not available"), ReplayMiss("no reply is recorded")


def settings(*panel: str, **fields: Any) -> JudgeSettings:
    return JudgeSettings.model_validate({"model": "openai/a", "panel": panel, **fields})


async def result(answers: dict[str, str | ConvoprobeError], **fields: Any) -> CriterionResult:
    """The result of a panel whose members, by the last letter of their names, say this."""

    async def ask(member: JudgeSettings) -> tuple[CriterionResult, ...]:
        answer = answers[str(member.model)[-1]]
        if isinstance(answer, Exception):
            raise answer
        return (CriterionResult(CRITERION, answer, HOLDS[answer], f"{member.model} saw it", "hello", 1),)

    names = [f"openai/{letter}" for letter in answers]
    (found,) = await panel_results(settings(*names[1:], **fields), [CRITERION], ask)
    return found


async def test_without_a_panel_the_judge_decides_alone() -> None:
    alone = await result({"a": "not_met"})
    assert (alone.answer, alone.finding, alone.votes) == ("not_met", "openai/a saw it", ())


async def test_the_majority_decides_and_all_votes_are_kept() -> None:
    found = await result({"a": "not_met", "b": "met", "c": "met"})
    assert (found.answer, found.holds, found.quote, found.turn) == ("met", True, "hello", 1)
    assert found.finding == "openai/b saw it (2 for met, 1 for not_met)"
    assert [(vote.model, vote.answer) for vote in found.votes] == [
        ("openai/a", "not_met"),
        ("openai/b", "met"),
        ("openai/c", "met"),
    ]


@pytest.mark.parametrize(
    ("answers", "agreement", "word"),
    [
        (("met", "met", "not_met"), "unanimous", "cannot_tell"),
        (("met", "met", "met"), "unanimous", "met"),
        (("met", "not_met"), "majority", "cannot_tell"),
        (("met", "not_met", "cannot_tell"), "majority", "cannot_tell"),
        (("not_met", "not_met", "cannot_tell"), "majority", "not_met"),
        (("met", "met", "not_met", "not_met"), "majority", "cannot_tell"),
    ],
)
async def test_enough_of_all_members_have_to_agree(
    answers: tuple[str, ...], agreement: str, word: str
) -> None:
    found = await result(dict(zip("abcd", answers, strict=False)), agreement=agreement)
    assert found.answer == word
    assert found.finding.startswith("The panel doesn't agree (") == (word == "cannot_tell")


async def test_a_member_that_fails_is_not_needed_where_the_others_agree() -> None:
    for trouble in (DOWN, MISS, JudgeError("no usable reply")):
        found = await result({"a": "met", "b": trouble, "c": "met"})
        assert (found.answer, found.votes[1].holds) == ("met", None)
        assert (found.votes[1].answer, found.votes[1].finding) == ("no_vote", str(trouble))
        assert found.finding.endswith("(2 for met, 1 missing)")


@pytest.mark.parametrize("trouble", [DOWN, MISS])
@pytest.mark.parametrize("second", ["not_met", "cannot_tell"])
async def test_an_outage_that_leaves_it_open_is_an_error(trouble: ConvoprobeError, second: str) -> None:
    with pytest.raises(type(trouble)):
        await result({"a": "met", "b": trouble, "c": second})


async def test_a_refusal_is_an_error_although_the_others_agree() -> None:
    with pytest.raises(LLMRejected):
        await result({"a": "met", "b": LLMRejected("openai/b refuses the API key"), "c": "met"})


async def test_an_outage_that_could_not_have_decided_it_is_none() -> None:
    found = await result({"a": "met", "b": "not_met", "c": DOWN}, agreement="unanimous")
    assert found.answer == "cannot_tell"


async def test_a_member_without_a_usable_reply_leaves_it_undecided() -> None:
    found = await result({"a": "met", "b": JudgeError("no usable reply")})
    assert (found.answer, found.finding) == (
        "cannot_tell",
        "The panel doesn't agree (majority, so 2 of 2 have to): 1 for met, 1 missing.",
    )


async def test_a_panel_of_which_nobody_answers_is_an_error() -> None:
    with pytest.raises(JudgeError):
        await result({"a": JudgeError("no usable reply"), "b": JudgeError("none either")})


async def test_the_end_of_the_run_ends_all_members() -> None:
    async def ask(member: JudgeSettings) -> tuple[CriterionResult, ...]:
        if member.model == "openai/a":
            raise BudgetExceeded("nothing is left")
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(BudgetExceeded):
        await panel_results(settings("openai/b"), [CRITERION], ask)


async def test_another_model_gives_the_second_vote_if_there_is_one() -> None:
    alone = await result({"a": "not_met"})
    assert other_judge(settings(), [alone]).model == "openai/a"
    both = await result({"a": "not_met", "b": "not_met"})
    assert other_judge(settings("openai/b"), [both]).model == "openai/b"
    without_c = await result({"a": "not_met", "b": "not_met", "c": DOWN})
    assert other_judge(settings("openai/b", "openai/c"), [without_c]).model == "openai/b"


async def test_a_member_that_was_outvoted_does_not_take_the_finding_of_the_majority_back() -> None:
    panel = settings("openai/b", "openai/c")
    against = await result({"a": "not_met", "b": "not_met", "c": "met"})
    assert other_judge(panel, [against]).model == "openai/b"
    # Nobody found all that was found: the last one is as good as another.
    other = await result({"a": "met", "b": "not_met", "c": "not_met"})
    mixed = await result({"a": "not_met", "b": "met", "c": "not_met"})
    assert other_judge(panel, [against, other]).model == "openai/b"
    assert other_judge(panel, [against, other, mixed]).model == "openai/c"


async def test_what_is_asked_once_is_asked_of_the_first_member_that_replies() -> None:
    async def ask(member: JudgeSettings) -> str:
        if member.model in down:
            raise LLMUnavailable(f"{member.model} is not available")
        return str(member.model)

    down = {"openai/a"}
    assert await first_reply(settings("openai/b", "openai/c"), ask) == "openai/b"
    down = {"openai/a", "openai/b"}
    with pytest.raises(LLMUnavailable, match="openai/a"):
        await first_reply(settings("openai/b"), ask)


@pytest.mark.parametrize(
    ("panel", "fields", "calls"),
    [
        ((), {}, 2),
        ((), {"second_vote": False}, 1),
        # Only one member gives the second vote.
        (("openai/b", "openai/c"), {}, 4),
        # Two criteria, of two calls each.
        ((), {"method": "log_odds"}, 8),
        ((), {"method": "contrast"}, 4),
        (("openai/b",), {"method": "contrast"}, 12),
    ],
)
def test_the_calls_of_a_conversation_are_known_before(
    panel: tuple[str, ...], fields: dict[str, Any], calls: int
) -> None:
    assert most_calls(settings(*panel, **fields), 2) == calls
