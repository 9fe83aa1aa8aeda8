"""Both lanes against a real server: what each failure becomes, and what is sent."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_convoprobe.errors import LLMError, LLMRejected, LLMTimeout, LLMUnavailable, SettingsError
from pytest_convoprobe.llm.by_lane import ByLane
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.redaction import Redactor
from tests.support.chat_server import ChatServer, Completion, Fault

from .adapters import LANES, Adapter
from .requests import KEY, request, settings

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.fixture(params=LANES.values(), ids=list(LANES))
async def llm(request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
    adapter = request.param(Redactor(environ={}))
    yield adapter
    await adapter.aclose()


def to(server: ChatServer, text: str = "hello", *, schema: Any = None, **fields: Any) -> LLMRequest:
    return request(text, model=settings(api_base=server.base_url, **fields), schema=schema)


async def failed(llm: Adapter, fault: str, **fields: Any) -> LLMError:
    with ChatServer(faults=[fault]) as server, pytest.raises(LLMError) as caught:
        await llm.complete(to(server, **fields))
    return caught.value


@pytest.mark.parametrize("model", ["openai/fake", "hosted_vllm/fake"])
@pytest.mark.parametrize("status", [409, 429, 500, 502, 503, 529])
async def test_passing_faults(llm: Adapter, model: str, status: int) -> None:
    error = await failed(llm, str(status), model=model)
    assert (type(error), error.status) == (LLMUnavailable, status)
    assert f"(status {status}): " in error.message
    assert "Scripted" in error.message


@pytest.mark.parametrize("status", [400, 402, 403, 404, 422])
async def test_final_noes(llm: Adapter, status: int) -> None:
    error = await failed(llm, str(status))
    assert (type(error), error.status) == (LLMRejected, status)
    assert f"(status {status}): Scripted {status}" in error.message


@pytest.mark.parametrize("fault", ["garbage", "html", "no_choices", "close"])
@pytest.mark.parametrize("model", ["openai/fake", "hosted_vllm/fake"])
async def test_unreadable_answers_are_worth_another_attempt(llm: Adapter, model: str, fault: str) -> None:
    error = await failed(llm, fault, model=model)
    assert type(error) is LLMUnavailable
    assert model in error.message


@pytest.mark.parametrize("fault", ["hang", "endless"])
async def test_an_attempt_ends_after_its_time(llm: Adapter, fault: str) -> None:
    error = await failed(llm, fault, timeout=0.2)
    assert type(error) is LLMTimeout
    assert error.message == "openai/fake did not answer within 0.2 s, its `timeout` in the settings"


async def test_a_timeout_of_the_provider_is_one(llm: Adapter) -> None:
    error = await failed(llm, "408")
    assert (type(error), error.status) == (LLMTimeout, 408)


async def test_retry_after_in_seconds(llm: Adapter) -> None:
    assert (await failed(llm, "429:7")).retry_after == 7.0


async def test_retry_after_as_a_date(llm: Adapter) -> None:
    wait = (await failed(llm, "429-date:60")).retry_after
    assert wait is not None
    assert 50 <= wait <= 60


async def test_a_full_context_is_a_final_no(llm: Adapter) -> None:
    error = await failed(llm, "context")
    assert type(error) is LLMRejected
    assert error.message.startswith("the conversation is too long for openai/fake: This model's maximum")


async def test_an_echoed_key_is_masked(llm: Adapter) -> None:
    error = await failed(llm, "401")
    assert type(error) is LLMRejected
    assert error.message.startswith("openai/fake refuses the API key (status 401)")
    assert KEY not in str(error)
    assert "****" in str(error)


async def test_no_exception_of_litellm_hangs_on_to_an_error(llm: Adapter) -> None:
    error = await failed(llm, "401")
    assert error.__cause__ is None
    assert error.__context__ is None


async def test_locals_of_the_traceback_hold_no_key(llm: Adapter) -> None:
    error = await failed(llm, "401")
    trace = error.__traceback__
    while trace is not None:
        assert KEY not in repr(
            {name: value for name, value in trace.tb_frame.f_locals.items() if name != "KEY"}
        )
        trace = trace.tb_next


async def test_errors_can_be_pickled(llm: Adapter) -> None:
    error = await failed(llm, "429:7")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.status, copy.retry_after) == (str(error), 429, 7.0)


async def test_a_missing_key_is_a_final_no(llm: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LLMRejected, match="no API key for openai/fake: set api_key"):
        await llm.complete(request(model=settings(api_key=None)))


async def test_nobody_at_the_address_is_said_so(llm: Adapter) -> None:
    with pytest.raises(
        LLMUnavailable, match=r"no connection to openai/fake at http://127.0.0.1:9/v1; is the"
    ):
        await llm.complete(request(model=settings(api_base="http://127.0.0.1:9/v1")))


async def test_a_model_that_no_provider_has() -> None:
    llm = ByLane()
    with pytest.raises(LLMRejected, match="LLM Provider NOT provided"):
        await llm.complete(request(model=settings(model="nonsense")))
    await llm.aclose()


async def test_no_model_is_an_error_of_the_settings(llm: Adapter) -> None:
    with pytest.raises(SettingsError, match="no model is set for the judge"):
        await llm.complete(request(model=settings(model=None)))


async def test_a_refused_temperature_is_left_out_and_remembered(llm: Adapter) -> None:
    with ChatServer(refuses=["temperature"]) as server:
        first = await llm.complete(to(server, temperature=0.0))
        second = await llm.complete(to(server, temperature=0.0))
    assert (first.attempts, second.attempts) == (2, 1)
    assert ["temperature" in body for body in server.bodies] == [True, False, False]


async def test_calls_that_are_refused_together_each_recover(llm: Adapter) -> None:
    with ChatServer(refuses=["temperature"], latency=0.05) as server:
        replies = await asyncio.gather(*(llm.complete(to(server, temperature=0.0)) for _ in range(4)))
    assert {reply.attempts for reply in replies} == {2}


async def test_fewer_top_tokens_are_asked_for_where_that_is_the_most(llm: Adapter) -> None:
    def answer(body: dict[str, Any]) -> Completion | Fault:
        if body["top_logprobs"] > 5:
            refusal = {"error": {"message": "Invalid 'top_logprobs': must be at most 5.", "code": 400}}
            return Fault("few", status=400, body=json.dumps(refusal))
        return Completion("Yes", top_tokens={"Yes": -0.1, "No": -2.5})

    with ChatServer(answer) as server:
        asked = replace(to(server), top_tokens=20)
        first, second = await llm.complete(asked), await llm.complete(asked)
    assert (first.attempts, second.attempts) == (2, 1)
    assert [body["top_logprobs"] for body in server.bodies] == [20, 5, 5]
    assert second.top_tokens == {"Yes": -0.1, "No": -2.5}


async def test_a_refused_schema_falls_back_to_text(llm: Adapter) -> None:
    with ChatServer(refuses=["response_format"]) as server:
        await llm.complete(to(server, schema=SCHEMA))
        await llm.complete(to(server, schema=SCHEMA))
    assert ["response_format" in body for body in server.bodies] == [True, False, False]


async def test_two_refusals_in_one_call(llm: Adapter) -> None:
    with ChatServer(refuses=["temperature", "response_format"]) as server:
        reply = await llm.complete(to(server, schema=SCHEMA, temperature=0.0))
    assert reply.attempts == 3


async def test_a_schema_that_is_insisted_on_is_not_given_up(llm: Adapter) -> None:
    with (
        ChatServer(refuses=["response_format"]) as server,
        pytest.raises(LLMRejected, match="response_format"),
    ):
        await llm.complete(to(server, schema=SCHEMA, structured_output="schema"))


async def test_text_mode_sends_no_schema(llm: Adapter, chat_server: ChatServer) -> None:
    await llm.complete(to(chat_server, schema=SCHEMA, structured_output="text"))
    assert "response_format" not in chat_server.bodies[0]


async def test_auto_sends_the_schema_to_those_that_speak_the_protocol(
    llm: Adapter, chat_server: ChatServer
) -> None:
    await llm.complete(to(chat_server, schema=SCHEMA))
    assert chat_server.bodies[0]["response_format"]["json_schema"]["schema"] == SCHEMA


async def test_headers_and_extra_parameters_are_sent(llm: Adapter, chat_server: ChatServer) -> None:
    await llm.complete(to(chat_server, extra_headers={"x-team": "qa"}, extra_params={"top_k": 5}))
    [sent] = chat_server.requests
    assert (sent.headers["x-team"], sent.body["top_k"]) == ("qa", 5)


async def test_a_failure_is_one_request(llm: Adapter) -> None:
    with ChatServer(faults=["500"] * 5) as server, pytest.raises(LLMUnavailable):
        await llm.complete(to(server))
    assert len(server.requests) == 1


async def test_thinking_is_not_the_reply(llm: Adapter) -> None:
    with ChatServer([Completion("hi", reasoning="the user greets me")]) as server:
        reply = await llm.complete(to(server))
    assert (reply.text, reply.thoughts) == ("hi", "the user greets me")


async def test_usage_and_cost(llm: Adapter, chat_server: ChatServer) -> None:
    reply = await llm.complete(to(chat_server))
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.cost) == (10, 5, None)
    priced = to(chat_server, input_cost_per_token=0.1, output_cost_per_token=0.2)
    assert (await llm.complete(priced)).cost == pytest.approx(2.0)
    listed = to(chat_server, model="openai/gpt-4o-mini")
    assert (await llm.complete(listed)).cost == pytest.approx(10 * 1.5e-7 + 5 * 6e-7)


@pytest.mark.parametrize(
    ("fields", "known"),
    [
        ({"model": "openai/gpt-4o-mini"}, True),
        ({"model": "openai/fake"}, False),
        ({"model": "openai/fake", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0}, True),
        ({"model": "openai/fake", "input_cost_per_token": 0.1}, False),
    ],
    ids=["listed", "unknown", "own", "half"],
)
async def test_known_prices(llm: Adapter, fields: dict[str, Any], known: bool) -> None:
    assert await llm.knows_price(settings(**fields)) is known


@pytest.mark.parametrize(
    ("fields", "price"),
    [
        ({"model": "openai/gpt-4o-mini"}, (1.5e-7, 6e-7)),
        ({"model": "openai/fake"}, None),
        ({"model": "openai/gpt-4o-mini", "input_cost_per_token": 1.0, "output_cost_per_token": 2.0}, (1, 2)),
    ],
    ids=["listed", "unknown", "own"],
)
async def test_prices(llm: Adapter, fields: dict[str, Any], price: tuple[float, float] | None) -> None:
    found = await llm.price_of(settings(**fields))
    assert found == (None if price is None else pytest.approx(price))


async def test_a_second_loop_is_refused(llm: Adapter, chat_server: ChatServer) -> None:
    await llm.complete(to(chat_server))
    with pytest.raises(RuntimeError, match="used from a second event loop"):
        await asyncio.to_thread(asyncio.run, llm.complete(to(chat_server)))


# Redirects, and answers without end


@pytest.mark.parametrize("model", ["openai/fake", "hosted_vllm/fake"])
async def test_a_redirect_to_another_host_is_not_followed(llm: Adapter, model: str) -> None:
    with ChatServer() as elsewhere:
        location = f"{elsewhere.base_url}/chat/completions?code=CANARY1#CANARY2".replace(
            "://", "://u:CANARY3@"
        )
        away = Fault("away", status=307, headers={"Location": location})
        with ChatServer(lambda body: away) as server, pytest.raises(LLMRejected) as caught:
            await llm.complete(to(server, model=model))
        assert not elsewhere.requests
    assert f"{model} redirects to another host (http://127.0.0.1:" in caught.value.message
    assert "set it in `api_base`" in caught.value.message
    assert "CANARY" not in caught.value.message


@pytest.mark.parametrize("lane", LANES.values(), ids=list(LANES))
async def test_an_answer_is_given_up_where_it_is_too_large(lane: type[Adapter]) -> None:
    flood = Fault("flood", body="y" * 11_000_000)
    small = lane(Redactor(environ={}), max_text=1000)
    try:
        with ChatServer(lambda body: flood) as server, pytest.raises(LLMRejected) as caught:
            await small.complete(to(server))
    finally:
        await small.aclose()
    assert "openai/fake sent an answer of more than 10.0 MB" in caught.value.message
    assert "`run.max_text: 1000`" in caught.value.message
