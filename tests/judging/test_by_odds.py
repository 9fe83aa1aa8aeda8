"""The judge by log-odds, for each criterion: what was measured, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_convoprobe.errors import LLMRejected, NoTokenChances
from pytest_convoprobe.judging.by_odds import UNCERTAIN, OddsVoter
from pytest_convoprobe.judging.questions import opposite_of, statement_of
from pytest_convoprobe.judging.transcript_view import view_of
from pytest_convoprobe.judging.types import Criterion, CriterionKind
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import CallContext, LLMReply, LLMRequest, Role
from pytest_convoprobe.settings.judge_settings import JudgeSettings

from .support import talk

TALK = talk(("Where is my parcel?", "It has the number ZX-9981."))
MET = Criterion("c1", CriterionKind.CORRECTNESS, "The agent names the number", opposite="No number is named")
BAD = Criterion("f1", CriterionKind.FAILURE, "The agent is rude", opposite="The agent is polite")


def leaning(yes: float) -> LLMReply:
    """The reply of a model whose log-odds of Yes are these."""
    return LLMReply("No", top_tokens={"Yes": yes - 1, "No": -1.0})


def judge(statement: float, opposite: float = 0.0, empty: float = 0.0) -> Callable[[LLMRequest], LLMReply]:
    """What a model leans to about a statement and its opposite, and about anything without a conversation."""

    def answer(request: LLMRequest) -> LLMReply:
        question = request.messages[-1].content
        if "ZX-9981" not in question:
            return leaning(empty)
        about_opposite = (
            "No number is named" in question or "is polite" in question or "not true that" in question
        )
        return leaning(opposite if about_opposite else statement)

    return answer


def asked(answer: Any, method: str, **settings: Any) -> OddsVoter:
    model = JudgeSettings.model_validate({"model": "openai/judge", "method": method, **settings})
    return OddsVoter(FakeLLM(answer), model, view_of(TALK), CallContext(Role.JUDGE, "s1"))


@pytest.mark.parametrize(
    ("method", "leanings", "score", "word"),
    [
        ("log_odds", {"statement": 2.0, "empty": 1.5}, 0.5, "met"),
        ("log_odds", {"statement": 2.0, "empty": 3.0}, -1.0, "not_met"),
        ("contrast", {"statement": 2.0, "opposite": 1.0, "empty": 9.0}, 1.0, "met"),
        ("contrast", {"statement": 2.0, "opposite": 4.0}, -2.0, "not_met"),
    ],
)
async def test_a_criterion_is_met_if_it_is_truer_than_what_it_is_compared_with(
    method: str, leanings: dict[str, float], score: float, word: str
) -> None:
    (result,) = await asked(judge(**leanings), method).answers([statement_of(MET)])
    assert (result.answer, result.holds, result.quote) == (word, word == "met", None)
    assert result.score == pytest.approx(score)
    assert f"{score:+.2f} against" in result.finding
    assert "; true from +0.00." in result.finding


async def test_what_must_not_happen_speaks_against_the_agent_if_it_is_true() -> None:
    (result,) = await asked(judge(statement=3.0), "log_odds").answers([statement_of(BAD)])
    assert (result.answer, result.holds) == ("triggered", False)


@pytest.mark.parametrize("away", [0.9 * UNCERTAIN, -0.9 * UNCERTAIN])
async def test_near_the_threshold_nothing_is_decided(away: float) -> None:
    (result,) = await asked(judge(1.3 + away), "log_odds", threshold=1.3).answers([statement_of(MET)])
    assert (result.answer, result.holds) == ("cannot_tell", None)
    assert "true from +1.30, which is too near to tell (within 0.2)." in result.finding


async def test_a_threshold_moves_the_verdict() -> None:
    for threshold, word in ((None, "met"), (1.5, "not_met"), (-1.5, "met")):
        (result,) = await asked(judge(1.0), "log_odds", threshold=threshold).answers([statement_of(MET)])
        assert result.answer == word


@pytest.mark.parametrize(
    ("opposite", "word"),
    [(2.0, "not_met"), (-2.0, "met"), (0.0, "cannot_tell")],
)
async def test_a_second_vote_by_log_odds_asks_for_the_opposite(opposite: float, word: str) -> None:
    one = asked(judge(9.0, opposite=opposite), "log_odds")
    for criterion in (MET, Criterion("c1", CriterionKind.CORRECTNESS, "The agent names the number")):
        (result,) = await one.answers([opposite_of(criterion)])
        assert result.answer == word
        assert "that the opposite is true" in result.finding
        assert result.score == pytest.approx(-opposite)


async def test_without_an_opposite_there_is_no_contrast() -> None:
    one = asked(judge(9.0), "contrast")
    (result,) = await one.answers(
        [statement_of(Criterion("c1", CriterionKind.CORRECTNESS, "The agent greets"))]
    )
    assert (result.answer, one.llm.requests) == ("cannot_tell", [])
    assert "write it as `{text: …, opposite: …}`" in result.finding


async def test_an_answer_that_is_neither_is_no_verdict() -> None:
    (result,) = await asked(lambda _: LLMReply("Well", top_tokens={"Well": -0.1}), "log_odds").answers(
        [statement_of(MET)]
    )
    assert (result.answer, result.finding) == ("cannot_tell", "The judge would answer neither Yes nor No.")


REFUSAL = LLMRejected("openai/judge rejects the call (status 400): logprobs is not supported", status=400)


@pytest.mark.parametrize("answer", [lambda _: "Yes", lambda _: REFUSAL], ids=["left out", "refused"])
async def test_a_model_without_probabilities_is_refused(answer: Any) -> None:
    with pytest.raises(
        NoTokenChances, match=r"openai/judge doesn't report .* judge.method: log_odds needs"
    ) as caught:
        await asked(answer, "log_odds").answers([statement_of(MET)])
    assert ("status 400" in caught.value.message) == (caught.value.status == 400)


async def test_another_refusal_stays_what_it_is() -> None:
    with pytest.raises(LLMRejected, match="refuses the API key") as caught:
        await asked(lambda _: LLMRejected("refuses the API key", status=401), "log_odds").answers(
            [statement_of(MET)]
        )
    assert not isinstance(caught.value, NoTokenChances)


async def test_each_call_is_of_one_token() -> None:
    tool = Criterion("t1", CriterionKind.TOOL, "It is called with the id", tool="get_order")
    one = asked(judge(1.0), "log_odds", extra_instructions="Be strict.")
    await one.answers([statement_of(tool)])
    assert [(request.max_tokens, request.top_tokens) for request in one.llm.requests] == [(1, 20)] * 2
    assert all(
        "about the calls of the tool get_order" in one.messages[-1].content for one in one.llm.requests
    )
    assert {request.messages[0].content for request in one.llm.requests} == {"Be strict."}
