"""Providers' SDKs through the gateway: they get what the provider sent, and faults as errors of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anthropic
import openai
import pytest

from pytest_convoprobe.faults.model_plan import ModelFaultPlan
from pytest_convoprobe.faults.rules import FaultRule
from pytest_convoprobe.gateway.attribution import TurnInFlight
from pytest_convoprobe.gateway.conversation import GatewayConversation
from pytest_convoprobe.gateway.port import Wire
from pytest_convoprobe.gateway.server import Gateway
from pytest_convoprobe.gateway.wire_faults import PlannedFaults
from tests.support.model_server import Gate, ModelServer

HELLO: list[Any] = [{"role": "user", "content": "hello"}]
CALL = 'call lookup {"order": "7"}'
TOOL: Any = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
ASKED: dict[str, Any] = {"model": "gpt-4o", "messages": HELLO}
OF_ANTHROPIC: dict[str, Any] = {"model": "claude-x", "max_tokens": 9, "messages": HELLO}


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    made = Gateway()
    yield made
    await made.aclose()


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@asynccontextmanager
async def talking(
    gateway: Gateway, provider: ModelServer, *faults: dict[str, Any]
) -> AsyncIterator[GatewayConversation]:
    """A conversation in its first turn, whose calls get these faults."""
    plan = ModelFaultPlan(map(FaultRule.model_validate, faults), "a", 1)
    upstreams = {"openai": f"{provider.url}/v1", "anthropic": provider.url}
    async with gateway.conversation(Wire(upstreams, faults=PlannedFaults(plan))) as opened:
        opened.own_url()
        async with gateway.turn(opened, TurnInFlight(1, "hello")):
            yield opened


def of_openai(url: str, **more: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, **{"api_key": "k", "max_retries": 0, "timeout": 20, **more})


def of_anthropic(url: str, **more: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, **{"api_key": "k", "max_retries": 0, "timeout": 20, **more})


def chat(url: str) -> Any:
    with of_openai(url) as client:
        return client.chat.completions.create(**ASKED).choices[0].message.content


def chat_with_tool(url: str) -> Any:
    with of_openai(url) as client:
        asked: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": CALL}], "tools": [TOOL]}
        calls = client.chat.completions.create(**asked).choices[0].message.tool_calls or []
        return [(call.function.name, call.function.arguments) for call in calls]  # type: ignore[union-attr]


def chat_stream(url: str) -> Any:
    with of_openai(url) as client, client.chat.completions.stream(**ASKED) as stream:
        return stream.get_final_completion().choices[0].message.content


def responses(url: str) -> Any:
    with of_openai(url) as client:
        return client.responses.create(model="gpt-4o", input="hello").output_text


def responses_stream(url: str) -> Any:
    with of_openai(url) as client, client.responses.stream(model="gpt-4o", input="hello") as stream:
        return stream.get_final_response().output_text


def embeddings(url: str) -> Any:
    with of_openai(url) as client:
        return len(client.embeddings.create(model="gpt-4o", input="hello").data)


def messages(url: str) -> Any:
    with of_anthropic(url) as client:
        return "".join(block.text for block in client.messages.create(**OF_ANTHROPIC).content)  # type: ignore[union-attr]


def messages_stream(url: str) -> Any:
    with of_anthropic(url) as client, client.messages.stream(**OF_ANTHROPIC) as stream:
        return "".join(stream.text_stream)


CLIENTS: dict[str, Callable[[str], Any]] = {
    client.__name__: client
    for client in (
        chat,
        chat_stream,
        responses,
        responses_stream,
        embeddings,
        messages,
        messages_stream,
    )
}
EVERY = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
STREAMS = ("chat_stream", "responses_stream", "messages_stream")


@EVERY
async def test_the_answer_is_that_of_the_provider(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    async with talking(gateway, provider) as opened:
        said = await asyncio.to_thread(client, opened.url)
    assert said == (1 if client is embeddings else "hello")
    [call] = opened.calls
    assert (call.turn, call.fault, call.problem, call.answered and call.answered.status) == (1, "", "", 200)


async def test_calls_of_tools_come_through(gateway: Gateway, provider: ModelServer) -> None:
    async with talking(gateway, provider) as opened:
        assert await asyncio.to_thread(chat_with_tool, opened.url) == [("lookup", '{"order": "7"}')]


async def test_asynchronous_clients_of_both(gateway: Gateway, provider: ModelServer) -> None:
    async with (
        talking(gateway, provider) as opened,
        openai.AsyncOpenAI(base_url=opened.url, api_key="k") as client,
        anthropic.AsyncAnthropic(base_url=opened.url, api_key="k") as other,
    ):
        one = await client.chat.completions.create(**ASKED)
        two = await other.messages.create(**OF_ANTHROPIC)
    assert (one.choices[0].message.content, two.content[0].text) == ("hello", "hello")  # type: ignore[union-attr]


async def test_a_stream_comes_while_the_provider_still_writes(gateway: Gateway) -> None:
    gate = Gate()
    with ModelServer(["one two"], gate=gate) as provider:
        async with (
            talking(gateway, provider) as opened,
            openai.AsyncOpenAI(base_url=opened.url, api_key="k") as client,
        ):
            gate.release(2)
            stream = await client.chat.completions.create(**ASKED, stream=True)
            first = [await anext(stream) for _ in range(2)]
            assert provider.requests[0].sent == 2
            gate.open()
            rest = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in (*first, *rest) if chunk.choices)
    assert text == "one two"


@EVERY
async def test_a_rate_limit_is_one_for_the_client(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    fault = {"model": "*", "kind": "rate_limit", "seconds": 7, "message": "slow down"}
    async with talking(gateway, provider, fault) as opened:
        with pytest.raises((openai.RateLimitError, anthropic.RateLimitError), match="slow down") as raised:
            await asyncio.to_thread(client, opened.url)
    assert raised.value.response.headers["retry-after"] == "7"
    assert provider.requests == []
    assert [call.fault for call in opened.calls] == ["rate limit: slow down"]


@EVERY
async def test_an_error_is_one_of_the_server(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    async with talking(gateway, provider, {"model": "*", "kind": "error"}) as opened:
        with pytest.raises((openai.InternalServerError, anthropic.InternalServerError)):
            await asyncio.to_thread(client, opened.url)
    assert provider.requests == []


@EVERY
async def test_no_answer_is_a_lost_connection(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    fault = {"model": "*", "kind": "timeout", "seconds": 0.05}
    async with talking(gateway, provider, fault) as opened:
        with pytest.raises((openai.APIConnectionError, anthropic.APIConnectionError)):
            await asyncio.to_thread(client, opened.url)
    assert provider.requests == []


@EVERY
async def test_an_empty_answer_says_nothing(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    async with talking(gateway, provider, {"model": "*", "kind": "empty"}) as opened:
        said = await asyncio.to_thread(_empty_or_refused, client, opened.url)
    assert said in ("", 0, None)
    assert provider.requests == []


def _empty_or_refused(client: Callable[[str], Any], url: str) -> Any:
    """Some clients take an answer without a vector for a mistake of the server's."""
    try:
        return client(url)
    except ValueError as error:
        return None if "No embedding data received" in str(error) else error


@EVERY
async def test_a_corrupted_answer_cannot_be_read(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    async with talking(gateway, provider, {"model": "*", "kind": "corrupted"}) as opened:
        with pytest.raises(Exception):  # noqa: B017, PT011 - each SDK has its own
            await asyncio.to_thread(client, opened.url)
    assert provider.requests == []
    assert [call.fault for call in opened.calls] == ["corrupted answer"]


@EVERY
async def test_an_answer_that_is_cut_off_does_not_look_whole(
    gateway: Gateway, provider: ModelServer, client: Callable[[str], Any]
) -> None:
    async with talking(gateway, provider, {"model": "*", "kind": "truncated"}) as opened:
        with pytest.raises(Exception):  # noqa: B017, PT011 - each SDK has its own
            await asyncio.to_thread(client, opened.url)
    assert len(provider.requests) == 1
    [call] = opened.calls
    assert (call.fault, call.broken_off) == ("answer cut off", True)


async def test_an_sdk_that_tries_again_gets_an_answer(gateway: Gateway, provider: ModelServer) -> None:
    faults = ({"model": "gpt*", "kind": "error", "call": 1}, {"model": "gpt*", "kind": "timeout", "call": 2})

    def ask(url: str) -> str | None:
        with of_openai(url, max_retries=2) as client:
            return client.chat.completions.create(**ASKED).choices[0].message.content

    async with talking(gateway, provider, *faults) as opened:
        assert await asyncio.to_thread(ask, opened.url) == "hello"
    assert [call.fault.partition(":")[0] for call in opened.calls] == ["error 500", "no answer", ""]
    assert len(provider.requests) == 1


async def test_a_delay_changes_nothing_else(gateway: Gateway, provider: ModelServer) -> None:
    async with talking(gateway, provider, {"model": "*", "kind": "delay", "seconds": 0.05}) as opened:
        assert await asyncio.to_thread(messages, opened.url) == "hello"
    assert [call.fault for call in opened.calls] == ["delayed by 0.05 s"]
