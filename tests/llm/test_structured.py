from __future__ import annotations

from dataclasses import replace
from typing import Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field

from pytest_convoprobe.errors import LLMUnavailable, StructuredReplyError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply
from pytest_convoprobe.llm.schema import strict_schema
from pytest_convoprobe.llm.structured import ask

from .requests import KEY, request, settings


class Part(BaseModel):
    id: str
    answer: Literal["yes", "no"]
    quote: str | None = None


class Shape(BaseModel):
    """What is asked for in these tests."""

    parts: list[Part] = Field(min_length=1)
    note: str = "none"


GOOD = '{"parts": [{"id": "a", "answer": "yes"}]}'
BAD = '{"parts": [{"id": "a", "answer": "perhaps"}]}'
CUT = LLMReply('{"parts": [{"id', finish_reason="length")


class Masks:
    def text(self, text: str) -> str:
        return text.replace(KEY, "***")


async def test_a_good_reply_is_returned_at_once() -> None:
    llm = FakeLLM([f"Sure!\n```json\n{GOOD}\n```"])
    assert (await ask(llm, request(), Shape)).parts[0].answer == "yes"
    assert len(llm.requests) == 1


async def test_the_schema_goes_along() -> None:
    llm = FakeLLM([GOOD])
    await ask(llm, request(), Shape)
    assert llm.requests[0].schema == strict_schema(Shape)


async def test_a_wrong_reply_is_asked_for_again_with_the_error() -> None:
    llm = FakeLLM([BAD, GOOD])
    await ask(llm, request("judge this"), Shape)
    first, said, repair = llm.requests[1].messages
    assert (first.content, said.role, said.content) == ("judge this", "assistant", BAD)
    assert "parts.0.answer: Input should be 'yes' or 'no' (found 'perhaps')" in repair.content


async def test_only_the_last_reply_goes_into_a_second_repair() -> None:
    llm = FakeLLM([BAD, "sorry", GOOD])
    await ask(llm, request(), Shape)
    assert [message.content for message in llm.requests[2].messages[:2]] == ["hello", "sorry"]
    assert "it holds no complete JSON object" in llm.requests[2].messages[2].content


async def test_an_empty_reply_is_asked_for_again() -> None:
    llm = FakeLLM(["", GOOD])
    await ask(llm, request(), Shape)
    assert llm.requests[1].messages[1].content == "(an empty message)"


async def test_after_the_repairs_it_gives_up_and_masks() -> None:
    llm = FakeLLM([f"I will not, {KEY}"] * 3)
    with pytest.raises(
        StructuredReplyError, match="judge's model openai/fake gave no usable reply in 3"
    ) as error:
        await ask(llm, request(), Shape, redactor=Masks())
    assert error.value.reply == "I will not, ***"
    assert KEY not in str(error.value)
    assert not error.value.truncated


async def test_a_cut_reply_is_asked_for_with_more_room() -> None:
    llm = FakeLLM([CUT, CUT, GOOD])
    await ask(llm, request(max_tokens=3000), Shape)
    assert [asked.max_tokens for asked in llm.requests] == [3000, 6000, 12000]
    assert all(len(asked.messages) == 1 for asked in llm.requests)


async def test_more_room_than_the_settings_give() -> None:
    llm = FakeLLM([CUT, GOOD])
    await ask(llm, request(model=settings(max_tokens=200)), Shape)
    assert llm.requests[1].max_tokens == 4096


async def test_a_reply_cut_to_the_end_is_said_to_be_cut() -> None:
    with pytest.raises(
        StructuredReplyError, match=r"cut off by the limit on tokens \(max_tokens 16384\); set a larger"
    ):
        await ask(FakeLLM([CUT] * 3), request(max_tokens=4096), Shape)


async def test_a_whole_object_before_the_cut_counts() -> None:
    llm = FakeLLM([LLMReply(GOOD + " " * 50, finish_reason="length")])
    assert await ask(llm, request(), Shape)


async def test_unknown_keys_are_tolerated() -> None:
    assert await ask(FakeLLM([GOOD[:-1] + ', "confidence": 1}']), request(), Shape)


async def test_the_object_that_fits_is_taken() -> None:
    assert await ask(FakeLLM([f'{GOOD} and that was {{"easy": true}}']), request(), Shape)


async def test_errors_of_the_model_pass_through() -> None:
    with pytest.raises(LLMUnavailable, match="away"):
        await ask(FakeLLM([LLMUnavailable("away")]), request(), Shape)


async def test_no_repairs_means_one_call() -> None:
    with pytest.raises(StructuredReplyError, match="in 1 attempt"):
        await ask(FakeLLM([BAD]), request(), Shape, repairs=0)


def test_the_strict_schema_closes_and_requires_everything() -> None:
    schema = strict_schema(Shape)
    part = schema["$defs"]["Part"]
    assert (schema["required"], schema["additionalProperties"]) == (["parts", "note"], False)
    assert (part["required"], part["additionalProperties"]) == (["id", "answer", "quote"], False)
    assert "default" not in schema["properties"]["note"]


def test_the_strict_schema_has_no_bounds_that_a_provider_may_refuse() -> None:
    assert "minItems" not in strict_schema(Shape)["properties"]["parts"]


def test_the_strict_schema_accepts_what_the_type_does() -> None:
    shape = Shape(parts=[Part(id="a", answer="no")])
    jsonschema.validate(shape.model_dump(), strict_schema(Shape))


def test_properties_named_like_keywords_survive() -> None:
    class Odd(BaseModel):
        title: str
        default: int

    assert set(strict_schema(Odd)["properties"]) == {"title", "default"}


async def test_the_question_itself_stays_as_it_was() -> None:
    asked = request()
    await ask(FakeLLM([GOOD]), asked, Shape)
    assert asked == replace(asked, schema=None)
