from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import LLMUnavailable
from pytest_convoprobe.llm.chat_format import (
    call_parameters,
    chat_messages,
    fewer_top_tokens,
    refused_parameter,
)
from pytest_convoprobe.llm.chat_reply import read_reply
from pytest_convoprobe.llm.port import Message, ToolRequest, ToolSpec
from pytest_convoprobe.transcript import Usage

from .requests import request, settings


def response(content: str | None = "hi", **fields: object) -> SimpleNamespace:
    message = SimpleNamespace(content=content, tool_calls=None, reasoning_content="hmm")
    choice = SimpleNamespace(message=message, finish_reason="stop")
    usage = SimpleNamespace(prompt_tokens=10, completion_tokens=4)
    return SimpleNamespace(**{"choices": [choice], "usage": usage, **fields})


def test_nothing_is_sent_that_is_not_set() -> None:
    assert call_parameters(request(), schema=True) == {}


def test_what_is_set_is_sent() -> None:
    asked = request(model=settings(temperature=0.0, max_tokens=50, reasoning="low"))
    assert call_parameters(asked, schema=True) == {
        "temperature": 0.0,
        "max_tokens": 50,
        "reasoning_effort": "low",
    }


def test_the_chances_of_tokens_are_asked_for() -> None:
    assert call_parameters(request(top_tokens=5), schema=True) == {"logprobs": True, "top_logprobs": 5}


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("Invalid value for 'top_logprobs': must be less than or equal to 5.", 5),
        ("Requested sample logprobs of 20, which is greater than max allowed: 10", 10),
        ("top_logprobs must be between 0 and 8 (status 400)", 8),
        ("top_logprobs: value 20 is not in the range [0, 5]", 5),
        ("logprobs is not supported with gpt-5", None),
        ("max_tokens must be at most 5", None),
        ("top_logprobs must be at most 0", None),
        ("top_logprobs must be at least 1 and at most 20", None),
    ],
)
def test_how_many_tokens_a_provider_gives_the_chances_of(words: str, most: int | None) -> None:
    assert fewer_top_tokens(20, words) == most


@pytest.mark.parametrize(
    ("told", "chances"),
    [
        ([], {}),
        ([("Yes", -0.1), ("No", -2.5)], {"Yes": -0.1, "No": -2.5}),
        ([("Yes", -0.1), ("Yes", -3.0)], {"Yes": -0.1}),
    ],
)
def test_the_chances_of_the_first_token_are_read(
    told: list[tuple[str, float]], chances: dict[str, float]
) -> None:
    top = [SimpleNamespace(token=token, logprob=chance) for token, chance in told]
    answer = response()
    answer.choices[0].logprobs = SimpleNamespace(content=[SimpleNamespace(top_logprobs=top)])
    assert read_reply(answer, settings(), None).top_tokens == chances


def test_the_limit_of_the_call_goes_before_that_of_the_settings() -> None:
    asked = request(model=settings(max_tokens=50), max_tokens=200)
    assert call_parameters(asked, schema=True)["max_tokens"] == 200


def test_extra_parameters_take_precedence() -> None:
    asked = request(model=settings(temperature=0.0, extra_params={"temperature": 1.0, "seed": 3}))
    assert call_parameters(asked, schema=True) == {"temperature": 1.0, "seed": 3}


@pytest.mark.parametrize(("model", "sent"), [("ollama/llama3", {"num_ctx": 8192}), ("openai/gpt-4o", {})])
def test_the_context_size_is_told_to_those_that_need_it(model: str, sent: dict[str, int]) -> None:
    assert call_parameters(request(model=settings(model=model, context_size=8192)), schema=True) == sent


def test_tools_and_schema_take_the_form_of_the_protocol() -> None:
    spec = ToolSpec("look_up", "finds an order", {"type": "object"})
    sent = call_parameters(
        request(tools=(spec,), schema={"type": "object"}, schema_name="verdict"), schema=True
    )
    assert sent["tools"][0]["function"] == {
        "name": "look_up",
        "description": "finds an order",
        "parameters": {"type": "object"},
    }
    assert sent["response_format"]["json_schema"] == {
        "name": "verdict",
        "strict": True,
        "schema": {"type": "object"},
    }


def test_in_text_mode_no_schema_is_sent() -> None:
    assert call_parameters(request(schema={"type": "object"}), schema=False) == {}


def test_what_was_refused_is_left_out() -> None:
    asked = request(model=settings(temperature=0.0, max_tokens=50))
    sent = call_parameters(asked, schema=True, refused={"temperature", "max_tokens"})
    assert sent == {"max_completion_tokens": 50}


@pytest.mark.parametrize(
    ("message", "parameter"),
    [
        ("Unsupported value: 'temperature' does not support 0", "temperature"),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported", "response_format"),
        ("json_schema is not available here", "response_format"),
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", "max_tokens"),
        ("max_tokens is too large", None),
        ("the moon is full", None),
    ],
)
def test_the_refused_parameter_is_read_from_the_message(message: str, parameter: str | None) -> None:
    assert refused_parameter(("temperature", "response_format", "max_tokens"), message) == parameter


@given(st.text())
def test_what_was_not_sent_was_not_refused(message: str) -> None:
    assert refused_parameter((), message + " temperature") is None


def test_a_tool_conversation_takes_the_form_of_the_protocol() -> None:
    asked = ToolRequest("c1", "look_up", "{}")
    sent = chat_messages(
        (Message("assistant", "", tool_requests=(asked,)), Message("tool", "found", tool_call_id="c1"))
    )
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    assert sent == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "found", "tool_call_id": "c1"},
    ]


def test_a_half_of_a_character_does_not_keep_a_call_from_being_sent() -> None:
    asked = ToolRequest("1", "look", '{"a": "\ud83d"}')
    messages = chat_messages(
        (Message("user", "cut \ud83d"), Message("assistant", "", tool_requests=(asked,)))
    )
    assert messages[0]["content"] == "cut ?"
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"a": "?"}'


def test_thinking_is_not_the_reply() -> None:
    assert read_reply(response(content=None), settings(), None).text == ""


def test_no_choices_is_no_reply() -> None:
    with pytest.raises(LLMUnavailable, match="openai/fake sent a response without a reply"):
        read_reply(response(choices=[]), settings(), None)


@pytest.mark.parametrize(
    "counts", [(-5, 4), (10, -100), (10**30, 1), ("x", 1), (1.5, 2), (float("nan"), 1), ({}, [])], ids=str
)
def test_an_impossible_usage_is_none_and_has_no_price(counts: tuple[object, object]) -> None:
    """A negative one would give a budget back what it has spent."""
    usage = SimpleNamespace(prompt_tokens=counts[0], completion_tokens=counts[1])
    prices = {"input_cost_per_token": 0.01, "output_cost_per_token": 0.1}
    found = read_reply(response(usage=usage), settings(**prices), -7.0)
    assert (found.usage, found.cost) == (Usage(), None)


@pytest.mark.parametrize("listed", [-1.0, float("nan"), float("inf"), 1e9, "3", True])
def test_an_impossible_cost_is_unknown(listed: object) -> None:
    assert read_reply(response(), settings(), listed).cost is None


def test_a_missing_usage_is_no_tokens() -> None:
    assert read_reply(response(usage=None), settings(), None).usage.total == 0


@pytest.mark.parametrize(
    ("prices", "listed", "cost"),
    [
        ({}, None, None),
        ({}, 0.5, 0.5),
        ({"input_cost_per_token": 0.01, "output_cost_per_token": 0.1}, 7.0, 0.5),
        ({"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}, None, 0.0),
        ({"input_cost_per_token": 0.01}, None, None),
    ],
    ids=["unknown", "listed", "own", "free", "half"],
)
def test_own_prices_take_precedence_and_unknown_is_none(
    prices: dict[str, float], listed: float | None, cost: float | None
) -> None:
    assert read_reply(response(), settings(**prices), listed).cost == pytest.approx(cost)
