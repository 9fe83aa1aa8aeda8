from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pydantic import BaseModel

from pytest_convoprobe.errors import LLMUnavailable, StructuredReplyError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import CallContext, LLMReply, LLMRequest, Message, Role
from pytest_convoprobe.llm.sharing import Sharing
from pytest_convoprobe.llm.structured import ask
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.transcript import Usage

ASKED = LLMRequest(
    ModelSettings(model="openai/a"),
    (Message("user", "What is it about?"),),
    CallContext(Role.JUDGE, "one", 1),
    shared=True,
)


async def test_equal_calls_are_made_once_and_cost_once() -> None:
    inner = FakeLLM([LLMReply("An answer", usage=Usage(10, 5), cost=0.5)])
    sharing = Sharing(inner)
    first, second = await asyncio.gather(
        sharing.complete(ASKED), sharing.complete(replace(ASKED, context=CallContext(Role.JUDGE, "two", 7)))
    )
    assert len(inner.requests) == 1
    assert (first.text, first.cost, first.attempts) == ("An answer", 0.5, 1)
    assert (second.text, second.cost, second.attempts, second.usage) == ("An answer", 0.0, 0, Usage())


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, shared=False),
        replace(ASKED, model=ModelSettings(model="openai/b")),
        replace(ASKED, model=ModelSettings(model="openai/a", api_base="http://127.0.0.1:1")),
        replace(ASKED, messages=(Message("user", "And this?"),)),
        replace(ASKED, schema={"type": "object"}),
    ],
)
async def test_other_calls_are_made(other: LLMRequest) -> None:
    inner = FakeLLM(["first", "second"])
    sharing = Sharing(inner)
    assert (await sharing.complete(ASKED)).text == "first"
    assert (await sharing.complete(other)).text == "second"


async def test_a_call_that_failed_is_made_again() -> None:
    sharing = Sharing(FakeLLM([LLMUnavailable("503"), "an answer"]))
    with pytest.raises(LLMUnavailable):
        await sharing.complete(ASKED)
    assert (await sharing.complete(ASKED)).text == "an answer"


class Said(BaseModel):
    """A reply with one word."""

    word: str


async def test_wrong_replies_are_not_the_last_word_for_all_trials() -> None:
    sharing = Sharing(FakeLLM(["no", "no", "no", '{"word": "yes"}']))
    with pytest.raises(StructuredReplyError):
        await ask(sharing, ASKED, Said)
    # The first two attempts are answered as before, the last one is made.
    assert (await ask(sharing, ASKED, Said)).word == "yes"
