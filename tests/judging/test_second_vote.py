"""What speaks against the agent is said twice, and the question what a criterion is about is asked once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_convoprobe.errors import JudgeError, LLMUnavailable
from pytest_convoprobe.judging.aspects import settle
from pytest_convoprobe.judging.criteria import criteria_of
from pytest_convoprobe.judging.questions import opposite_of
from pytest_convoprobe.judging.types import About, Shows, Vote
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import CallContext, Role
from pytest_convoprobe.settings.judge_settings import JudgeSettings

from .support import evaluation, scenario
from .test_judge import ASKS, BOTH, GUESSES, MET, NOT_TRIGGERED, answer, judged, reply, results

NOT_MET = answer("c1", "not_met", finding="It never asks.")
TRIGGERED = answer("f1", "triggered", "It is cold in Oslo.", 2, finding="It guesses.")


async def test_only_what_is_against_the_agent_is_asked_again_in_other_words_and_order() -> None:
    asked = scenario(
        correctness_criteria=[ASKS, {**ASKS, "text": "The agent names a city"}], failure_criteria=[GUESSES]
    )
    named = answer("c2", "met", "Which city?", 1)
    again = reply(answer("f1", "false", "It is cold in Oslo.", 2), answer("c1", "true"))
    llm = FakeLLM([reply(NOT_MET, named, TRIGGERED), again])
    await judged(llm, asked)
    question = llm.requests[1].messages[-1].content
    assert len(llm.requests[1].messages) == 2  # nothing of what was said the first time
    first = "[f1] statement (true / false / cannot_tell): The agent never guesses the city"
    second = "[c1] statement (true / false / cannot_tell): The agent never asks for the city"
    assert 0 < question.index(first) < question.index(second)
    assert "c2" not in question


async def test_two_that_agree_are_a_verdict_and_both_are_kept() -> None:
    found = await results(reply(NOT_MET, NOT_TRIGGERED), reply(answer("c1", "true")))
    assert (found["c1"].answer, found["c1"].holds, found["c1"].finding) == (
        "not_met",
        False,
        "It never asks.",
    )
    first, second = found["c1"].votes
    assert first == Vote("not_met", False, "It never asks.", None, None, "openai/test", "statement")
    assert second == Vote("not_met", False, "What decides c1.", None, None, "openai/test", "opposite")
    assert found["f1"].votes == ()


async def test_two_that_differ_are_undecided_and_the_finding_shows_both() -> None:
    contrary = answer("c1", "false", "Which city?", 1, finding="It does ask.")
    found = await results(reply(NOT_MET, NOT_TRIGGERED), reply(contrary))
    assert (found["c1"].answer, found["c1"].holds) == ("cannot_tell", None)
    assert found["c1"].finding == (
        "Two votes differ. The first said not met: It never asks. A second, asked about the opposite, said "
        'met: It does ask ("Which city?", turn 1).'
    )
    assert [vote.holds for vote in found["c1"].votes] == [False, True]


@pytest.mark.parametrize(
    "vote",
    [
        [reply(answer("c1", "cannot_tell"))],
        [reply(answer("c1", "false"))] * 2,  # without the quote that it owes
        ["no", "no", "no"],
    ],
    ids=["cannot tell", "unproven", "not in shape"],
)
async def test_a_second_vote_that_does_not_agree_is_no_second_vote(vote: list[str]) -> None:
    found = await results(reply(NOT_MET, NOT_TRIGGERED), *vote)
    assert (found["c1"].answer, found["c1"].holds) == ("cannot_tell", None)
    assert found["f1"].holds is True


async def test_without_a_second_vote_there_is_no_verdict() -> None:
    with pytest.raises(LLMUnavailable):
        await judged(FakeLLM([reply(NOT_MET, NOT_TRIGGERED), LLMUnavailable("503")]))


async def test_all_asks_again_about_what_is_for_the_agent_too() -> None:
    met = answer("c1", "false", "Which city?", 1), answer("f1", "true")
    found = await results(reply(MET, NOT_TRIGGERED), reply(*met), second_vote="all")
    assert [found[one].holds for one in ("c1", "f1")] == [True, True]
    assert [len(found[one].votes) for one in ("c1", "f1")] == [2, 2]
    missed = answer("c1", "true"), answer("f1", "true")
    found = await results(reply(MET, NOT_TRIGGERED), reply(*missed), second_vote="all")
    assert [found[one].holds for one in ("c1", "f1")] == [None, True]


async def test_it_can_be_turned_off() -> None:
    found = await results(reply(NOT_MET, TRIGGERED), second_vote=False)
    assert [found[one].holds for one in ("c1", "f1")] == [False, False]


ABOUT = {"about": "agent", "shows": "presence", "opposite": "The agent never asks for the city"}
PLAIN = scenario(correctness_criteria=["The agent asks for the city"])


async def test_what_a_criterion_is_about_is_asked_apart_from_the_conversation() -> None:
    llm = FakeLLM([json.dumps({"c1": ABOUT}), reply(MET)])
    (found,) = await judged(llm, PLAIN)
    assert (found.criterion.about, found.criterion.shows) == (About.AGENT, Shows.PRESENCE)
    assert opposite_of(found.criterion).text == ABOUT["opposite"]
    asked = llm.requests[0]
    assert (asked.context, asked.shared) == (CallContext(Role.JUDGE, "weather", 2), True)
    everything = "\n".join(message.content for message in asked.messages)
    assert "[c1] The agent asks for the city" in everything
    assert "Oslo" not in everything


async def test_criteria_of_other_words_are_asked_about_with_the_same_schema() -> None:
    """To make one takes longer than the rest of our work for a call, so each one is made once."""
    model, llm = JudgeSettings(model="openai/test"), FakeLLM([json.dumps({"c1": ABOUT})] * 2)
    for text in ("The agent asks for the city", "The agent asks for the town"):
        criteria = criteria_of(evaluation(correctness_criteria=[text]))
        await settle(llm, model, "A test", criteria, CallContext(Role.JUDGE))
    one, other = llm.requests
    assert one.schema is other.schema


async def test_each_opposite_is_compared_with_its_own_criterion() -> None:
    texts = ("The agent asks for the city", "The agent names a price")
    criteria = criteria_of(evaluation(correctness_criteria=texts))
    swapped = {"c1": {**ABOUT, "opposite": texts[1]}, "c2": {**ABOUT, "opposite": texts[0]}}
    model, llm = JudgeSettings(model="openai/test"), FakeLLM([json.dumps(swapped)])
    first, second = await settle(llm, model, "A test", criteria, CallContext(Role.JUDGE))
    assert (first.opposite, second.opposite) == (texts[1], texts[0])


async def test_what_the_author_says_counts_and_is_not_asked_for() -> None:
    wrong = {"about": "user", "shows": "absence", "opposite": "Something else"}
    given = {"text": "The agent asks for the city", "about": "agent", "shows": "presence"}
    criteria = criteria_of(evaluation(correctness_criteria=[given, ASKS]))
    llm = FakeLLM([json.dumps({"c1": wrong})])
    model = JudgeSettings(model="openai/test")
    first, second = await settle(llm, model, "A test", criteria, CallContext(Role.JUDGE))
    assert (first.about, first.shows, first.opposite) == (About.AGENT, Shows.PRESENCE, "Something else")
    assert second == criteria[1]
    # Nobody is asked for an opposite that is not needed.
    assert (
        await settle(FakeLLM([]), model, "A test", criteria, CallContext(Role.JUDGE), opposites=False)
        == criteria
    )


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"c1": {**ABOUT, "about": "nobody"}},
        {"c1": {**ABOUT, "shows": "<presence or absence>"}},
        {"c1": {**ABOUT, "opposite": "..."}},
        {"c1": {**ABOUT, "opposite": "<a sentence that is true where the criterion is false>"}},
    ],
)
async def test_what_is_not_known_is_not_guessed(said: dict[str, Any]) -> None:
    with pytest.raises(JudgeError, match=r"What the criteria are about is not known.*about.*shows"):
        await judged(FakeLLM([json.dumps(said)] * 3), PLAIN)


@pytest.mark.parametrize("repeated", ["The agent asks for the city", " the agent  asks for the city. "])
async def test_a_criterion_repeated_as_its_own_opposite_is_asked_about_again(repeated: str) -> None:
    same = {**ABOUT, "opposite": repeated}
    llm = FakeLLM([json.dumps({"c1": same}), json.dumps({"c1": ABOUT}), reply(MET)])
    (found,) = await judged(llm, PLAIN)
    assert found.criterion.opposite == ABOUT["opposite"]
    assert "c1.opposite: Value error, is the criterion itself" in llm.requests[1].messages[-1].content


async def test_a_model_that_only_repeats_a_criterion_leaves_it_without_an_opposite() -> None:
    same = {**ABOUT, "opposite": "The agent asks for the city"}
    llm = FakeLLM([*[json.dumps({"c1": same})] * 3, reply(MET)])
    (found,) = await judged(llm, PLAIN)
    assert (found.holds, found.criterion.about, found.criterion.opposite) == (True, About.AGENT, None)
    assert opposite_of(found.criterion).text == "It is not true that: The agent asks for the city"


async def test_the_order_of_the_first_question_is_that_of_the_scenario() -> None:
    llm = FakeLLM([reply(MET, NOT_TRIGGERED)])
    await judged(llm, BOTH)
    asked = llm.requests[0].messages[-1].content
    assert asked.index("[c1]") < asked.index("[f1]")
    assert list(json.loads(asked.splitlines()[-1])) == ["c1", "f1"]
