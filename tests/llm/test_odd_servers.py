"""Servers that answer oddly, byte for byte: each is an error of ours or a reply, and never a warning."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pytest_convoprobe.errors import LLMError, LLMRejected, LLMUnavailable
from pytest_convoprobe.llm.port import LLMReply
from pytest_convoprobe.redaction import Redactor

from .adapters import LANES, Adapter
from .requests import request, settings
from .test_lanes_agree import SAID, body, said

JSON = "Content-Type: application/json"


@pytest.fixture(params=LANES.values(), ids=list(LANES))
async def llm(request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
    adapter = request.param(Redactor(environ={}))
    yield adapter
    await adapter.aclose()


@pytest.fixture
async def direct() -> AsyncIterator[Adapter]:
    adapter = LANES["direct"](Redactor(environ={}))
    yield adapter
    await adapter.aclose()


@asynccontextmanager
async def server(answer: bytes) -> AsyncIterator[str]:
    """A server that sends these bytes to everybody and closes; its address."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"


def http(text: str, *headers: str, status: int = 200) -> bytes:
    content = text.encode()
    lines = (f"HTTP/1.1 {status} X", JSON, f"Content-Length: {len(content)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


async def outcome(llm: Adapter, answer: bytes) -> LLMReply | LLMError:
    async with server(answer) as base:
        try:
            return await llm.complete(request(model=settings(api_base=base, timeout=10)))
        except LLMError as error:
            return error


NO_HTTP = {
    "no status": b"HTTP/1.1 banana\r\n\r\n",
    "no HTTP at all": b'{"choices": []}\r\n\r\n',
    "two lengths": http(body(), "Content-Length: 5"),
    "a header that is too large": http(body(), "X-A: " + "a" * 20_000),
    "more than its length": http(body()).replace(b"\r\n\r\n", b"\r\n\r\n\r\n"),
    "half of its length": http(body())[:-50],
    "nothing": b"",
}


@pytest.mark.parametrize("name", NO_HTTP)
async def test_what_is_not_http_may_pass(llm: Adapter, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        found = await outcome(llm, NO_HTTP[name])
    assert type(found) is LLMUnavailable
    assert "url=" not in found.message


async def test_it_is_said_to_be_no_http(direct: Adapter) -> None:
    found = await outcome(direct, NO_HTTP["no status"])
    assert str(found).startswith(
        "openai/fake is not available: its answer is not in the form of HTTP: Bad status"
    )


@pytest.mark.parametrize("end", [0, 20, 40, 90, -1])
async def test_a_connection_that_ends_early_shows_nothing_of_the_answer(direct: Adapter, end: int) -> None:
    answer = http(body(), "Set-Cookie: CANARY")
    found = await outcome(direct, answer[: len(answer) + end if end < 0 else end])
    assert type(found) is LLMUnavailable
    assert str(found).endswith("is not available: the connection ended before its answer was complete")


@pytest.mark.parametrize(("status", "kind"), [(401, LLMRejected), (429, LLMUnavailable)])
async def test_the_status_counts_where_the_body_cannot_be_unpacked(
    direct: Adapter, status: int, kind: type[LLMError]
) -> None:
    found = await outcome(direct, http("xx", "Content-Encoding: br", "Retry-After: 3", status=status))
    assert (type(found), getattr(found, "status", None)) == (kind, status)
    assert getattr(found, "retry_after", None) == (3 if kind is LLMUnavailable else None)


@pytest.mark.parametrize("chance", [10**400, "often", None, [1]])
async def test_chances_that_are_none_are_no_crash(llm: Adapter, chance: Any) -> None:
    token = {"token": "Yes", "logprob": 0, "top_logprobs": [{"token": "Yes", "logprob": chance}]}
    found = await outcome(llm, http(said(logprobs={"content": [token]})))
    assert isinstance(found, LLMUnavailable)


@pytest.mark.parametrize(
    ("written", "meant"), [("LENGTH", "length"), ("Stop", "stop"), ("CONTENT_FILTER", "content_filter")]
)
async def test_words_for_the_end_are_known_in_capitals(direct: Adapter, written: str, meant: str) -> None:
    found = await outcome(direct, http(said(finish_reason=written)))
    assert isinstance(found, LLMReply)
    assert found.finish_reason == meant


@pytest.mark.parametrize("word", ["error", "abort", "insufficient_system_resource"])
async def test_a_reply_that_the_server_gave_up_is_none(direct: Adapter, word: str) -> None:
    found = await outcome(direct, http(said({**SAID, "content": "It"}, finish_reason=word)))
    assert isinstance(found, LLMUnavailable)
    assert f"gave up in the middle of its reply (finish_reason: {word})" in found.message


async def test_the_address_may_be_that_of_the_route(direct: Adapter) -> None:
    async with server(http(body())) as base:
        model = settings(api_base=f"{base}/chat/completions/")
        assert (await direct.complete(request(model=model))).text == "hi"


@pytest.mark.parametrize("key", ["sk-in-a-file\n", " sk-in-a-file\r\n"])
async def test_white_space_around_a_key_is_not_sent(
    direct: Adapter, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    async with server(http(json.dumps({"error": {"message": "no"}}), status=401)) as base:
        with pytest.raises(LLMRejected, match="refuses the API key"):
            await direct.complete(request(model=settings(api_base=base, api_key=None)))


async def test_what_cannot_be_sent_is_not_tried_again(direct: Adapter) -> None:
    async with server(b"") as base:
        model = settings(api_base=base, extra_headers={"X-Team": "a secret\nof two lines"})
        with pytest.raises(LLMRejected, match=r"cannot be sent: .* see its settings") as found:
            await direct.complete(request(model=model))
    assert "a secret" not in str(found.value)
