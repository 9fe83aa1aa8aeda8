from __future__ import annotations

import asyncio
import gzip
import io
import json
import logging
import socket
from collections.abc import Sequence

import aiohttp
import pytest
from aiohttp import web

from pytest_convoprobe.errors import ReplayMiss, TargetStartError
from pytest_convoprobe.gateway import server
from pytest_convoprobe.gateway.conversation import GatewayConversation
from pytest_convoprobe.gateway.exchange import Answered, Asked
from pytest_convoprobe.gateway.server import Gateway
from tests.support.model_server import Gate, ModelServer

from .talking import chat, post, serving, talking, to, to_url

PATHS = {
    "chat/completions": chat("hello"),
    "v1/chat/completions": chat("hello"),
    "responses": {"model": "gpt-x", "input": "hello"},
    "v1/responses": {"model": "gpt-x", "input": "hello"},
    "v1/messages": chat("hello", max_tokens=10),
    "embeddings": {"model": "emb", "input": "hello"},
}


@pytest.mark.parametrize("path", PATHS)
async def test_each_protocol_reaches_its_provider_and_is_seen(
    gateway: Gateway, provider: ModelServer, path: str
) -> None:
    async with talking(gateway, to(provider)) as conversation:
        status, _, answer = await post(f"{conversation.url}/{path}", PATHS[path])
    assert status == 200
    (request,) = provider.requests
    assert request.path == f"/v1/{path.removeprefix('v1/')}"
    assert request.body == PATHS[path]
    (call,) = conversation.calls
    assert (call.turn, call.asked.method, call.asked.path) == (1, "POST", path)
    assert call.answered is not None
    assert json.loads(call.answered.body) == answer
    assert call.answered.content_type == "application/json"
    assert call.seconds > 0
    assert conversation.problem is None


async def test_other_paths_go_to_openai_with_their_query(gateway: Gateway, provider: ModelServer) -> None:
    async with (
        talking(gateway, to(provider)) as conversation,
        aiohttp.ClientSession() as session,
        session.get(f"{conversation.url}/models?limit=3&key=s3cret") as answer,
    ):
        assert answer.status == 200
    (request,) = provider.requests
    assert (request.method, request.path) == ("GET", "/v1/models?limit=3&key=s3cret")
    assert "s3cret" not in repr([call.asked for call in conversation.calls])


async def test_the_agents_own_headers_reach_the_provider_and_stay_nowhere(
    gateway: Gateway, provider: ModelServer
) -> None:
    headers = {
        "Authorization": "Bearer sk-secret-key",
        "x-api-key": "sk-ant-secret",
        "User-Agent": "theirs/1",
        "Connection": "keep-alive, x-hop",
        "x-hop": "1",
        "Accept-Encoding": "gzip, br",
    }
    async with talking(gateway, to(provider)) as conversation:
        await post(f"{conversation.url}/chat/completions", chat("hello"), headers=headers)
    got = provider.requests[0].headers
    assert got["authorization"] == "Bearer sk-secret-key"
    assert got["x-api-key"] == "sk-ant-secret"
    assert got["user-agent"] == "theirs/1"
    assert got["accept-encoding"] == "identity"
    assert got["host"] == provider.url.removeprefix("http://")
    assert "x-hop" not in got
    assert "secret" not in repr(conversation.calls) + repr(vars(conversation)) + repr(gateway)


async def test_a_stream_passes_through_as_it_comes(gateway: Gateway) -> None:
    gate = Gate()
    with ModelServer(["one two three"], gate=gate) as provider:
        async with talking(gateway, to(provider)) as conversation:
            session = aiohttp.ClientSession()
            asking = session.post(f"{conversation.url}/chat/completions", json=chat("hello", stream=True))
            gate.release()
            async with session, asking as answer:
                first = await answer.content.readany()
                assert first.startswith(b"data: ")
                assert provider.requests[0].sent == 1  # the provider has sent no more than that
                assert conversation.calls[0].answered is None
                gate.open()
                rest = await answer.read()
        (call,) = conversation.calls
        assert call.answered is not None
        assert call.answered.body == first + rest
        assert call.answered.content_type == "text/event-stream"
        assert not call.broken_off


@pytest.mark.parametrize("path", ["chat/completions", "responses", "v1/messages"])
async def test_who_has_read_the_last_event_finds_the_call_complete(
    gateway: Gateway, provider: ModelServer, path: str
) -> None:
    async with talking(gateway, to(provider)) as conversation, aiohttp.ClientSession() as session:
        body = {**PATHS[path], "stream": True}
        async with session.post(f"{conversation.url}/{path}", json=body) as answer:
            got = b""
            while not any(end in got for end in (b"[DONE]", b"message_stop", b"response.completed")):
                got += await answer.content.readany()
            assert conversation.calls[0].answered is not None
    assert not conversation.calls[0].broken_off


async def test_large_bodies_in_both_directions(gateway: Gateway) -> None:
    large = "x" * 3_000_000
    with ModelServer([large, large]) as provider:
        async with talking(gateway, to(provider)) as conversation:
            url = f"{conversation.url}/chat/completions"
            _, _, answer = await post(url, chat(f"hello {large}"))
            assert answer["choices"][0]["message"]["content"] == large
            _, _, text = await post(url, chat("hello", stream=True))
        assert provider.requests[0].body["messages"][0]["content"] == f"hello {large}"
    assert conversation.calls[1].answered is not None
    assert conversation.calls[1].answered.body == text.encode()


async def test_a_request_that_is_too_large_is_refused(gateway: Gateway, provider: ModelServer) -> None:
    async with talking(gateway, to(provider)) as conversation:
        body = io.BytesIO(b" " * (64 * 1024 * 1024 + 1))
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{conversation.url}/chat/completions", data=body) as answer,
        ):
            assert answer.status == 413
            assert "larger than" in (await answer.json())["error"]["message"]
    assert not provider.requests
    assert "larger than" in str(conversation.problem)


async def test_a_client_that_goes_away_ends_the_call_at_the_provider(gateway: Gateway) -> None:
    gate = Gate()
    with ModelServer(["one two three four"], gate=gate) as provider:
        async with talking(gateway, to(provider)) as conversation:
            async with aiohttp.ClientSession() as session:
                gate.release()
                body = chat("hello", stream=True)
                async with session.post(f"{conversation.url}/chat/completions", json=body) as answer:
                    first = await answer.content.readany()
                    answer.close()
            while not conversation.calls[0].broken_off:
                await asyncio.sleep(0.01)
        (call,) = conversation.calls
        assert call.answered is not None
        assert call.answered.body == first
        assert not call.problem


async def test_calls_end_with_their_conversation(gateway: Gateway) -> None:
    with ModelServer(faults=["hang"]) as provider:
        async with talking(gateway, to(provider)) as conversation:
            asking = asyncio.ensure_future(post(f"{conversation.url}/chat/completions", chat("hello")))
            while not conversation.calls:
                await asyncio.sleep(0.01)
        with pytest.raises(aiohttp.ClientError):
            await asking
        assert conversation.calls[0].broken_off
        assert conversation.calls[0].answered is None
        status, headers, answer = await post(f"{conversation.url}/chat/completions", chat("hello"))
    assert (status, headers["x-should-retry"]) == (400, "false")
    assert "over" in answer["error"]["message"]


async def test_errors_of_the_provider_reach_the_agent_as_they_are(gateway: Gateway) -> None:
    with ModelServer(faults=["429:7", "500"]) as provider:
        async with talking(gateway, to(provider)) as conversation:
            status, headers, answer = await post(f"{conversation.url}/chat/completions", chat("hello"))
            assert (status, headers["Retry-After"]) == (429, "7")
            assert "error" in answer
            assert (await post(f"{conversation.url}/chat/completions", chat("hello")))[0] == 500
    limited, broken = conversation.calls
    assert limited.answered is not None
    assert (limited.answered.status, limited.answered.headers["retry-after"]) == (429, "7")
    assert broken.answered is not None
    assert conversation.problem is None  # the agent may have tried again


@pytest.mark.parametrize("stream", [False, True])
async def test_a_provider_that_hangs_up_in_the_middle(gateway: Gateway, stream: bool) -> None:
    with ModelServer(faults=["cut"]) as provider:
        async with talking(gateway, to(provider)) as conversation:
            url = f"{conversation.url}/chat/completions"
            if stream:
                with pytest.raises(aiohttp.ClientError):
                    await post(url, chat("hello there", stream=True))
            else:
                status, headers, answer = await post(url, chat("hello there"))
                assert status == 502
                assert "x-should-retry" not in headers  # a client may try again
                assert "`target.models.openai` gave no whole answer" in answer["error"]["message"]
    (call,) = conversation.calls
    assert "`target.models.openai` gave no whole answer" in call.problem
    assert conversation.problem is None


@pytest.mark.parametrize("path", ["chat/completions", "v1/messages"])
async def test_a_provider_that_is_not_there(gateway: Gateway, path: str) -> None:
    with ModelServer() as gone:
        wire = to(gone)
    async with talking(gateway, wire) as conversation:
        status, _, answer = await post(f"{conversation.url}/{path}", PATHS[path])
    assert status == 502
    assert answer["error"]["type"] == "api_error"
    assert answer.get("type") == ("error" if path == "v1/messages" else None)
    assert gone.url in conversation.calls[0].problem


async def test_a_redirect_is_not_followed(gateway: Gateway) -> None:
    async def redirecting(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://other.example/v1?key=s3cret"})

    async with serving(redirecting) as url, talking(gateway, to_url(url)) as conversation:
        status, headers, answer = await post(f"{conversation.url}/chat/completions", chat("hello"))
    assert (status, headers["x-should-retry"]) == (400, "false")
    assert "redirect to http://other.example" in answer["error"]["message"]
    assert "s3cret" not in str(answer)
    assert "redirect" in str(conversation.problem)


async def test_an_upstream_that_is_not_set_is_said(gateway: Gateway, provider: ModelServer) -> None:
    async with talking(gateway, to_url(f"{provider.url}/v1")) as conversation:
        status, _, answer = await post(f"{conversation.url}/v1/messages", PATHS["v1/messages"])
    assert status == 400
    assert answer["type"] == "error"
    assert "`target.models.anthropic` isn't set" in answer["error"]["message"]
    assert "`target.models.anthropic` isn't set" in str(conversation.problem)
    assert not provider.requests


async def test_a_proxy_of_the_environment_is_used(
    gateway: Gateway, provider: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append(str(request.url))
        return web.json_response({"by": "proxy"})

    async with serving(proxy) as url:
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        async with talking(gateway, to_url("http://provider.example/v1")) as conversation:
            _, _, answer = await post(f"{conversation.url}/chat/completions", chat("hello"))
        async with talking(gateway, to(provider)) as conversation:
            assert (await post(f"{conversation.url}/chat/completions", chat("hello")))[0] == 200
    assert answer == {"by": "proxy"}
    assert seen == ["http://provider.example/v1/chat/completions"]
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        ("socks5://user:s3cret@127.0.0.1:1", "speaks another protocol than HTTP"),
        ("http://user:s3cret@:nowhere", "is not an address"),
    ],
)
async def test_a_proxy_that_cannot_be_used_is_said(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, proxy: str, words: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    async with talking(gateway, to_url("http://provider.example/v1")) as conversation:
        status, _, answer = await post(f"{conversation.url}/chat/completions", chat("hello"))
    assert status == 502
    assert words in answer["error"]["message"]
    assert "s3cret" not in str(answer)


async def test_a_provider_without_tls_where_it_is_asked_for(gateway: Gateway) -> None:
    async def answering(request: web.Request) -> web.Response:
        raise AssertionError("nothing is sent unencrypted")

    async with (
        serving(answering) as url,
        talking(gateway, to_url(url.replace("http:", "https:"))) as conversation,
    ):
        status, _, answer = await post(f"{conversation.url}/chat/completions", chat("hello"))
    assert status == 502
    assert "gave no whole answer" in answer["error"]["message"]


async def test_a_packed_request_is_read_and_passed_on(gateway: Gateway, provider: ModelServer) -> None:
    body = gzip.compress(json.dumps(chat("hello")).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    async with (
        talking(gateway, to(provider), own=False),
        aiohttp.ClientSession() as session,
        session.post(f"{gateway.url}/chat/completions", data=body, headers=headers) as answer,
    ):
        assert answer.status == 200
    assert provider.requests[0].body == chat("hello")
    assert "content-encoding" not in provider.requests[0].headers


async def test_a_suite_that_forbids_sockets_is_told_what_to_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    class SocketBlockedError(RuntimeError):
        pass

    def guarded(*_: object) -> None:
        raise SocketBlockedError("A test tried to use socket.socket.")

    monkeypatch.setattr(socket, "socket", guarded)
    with pytest.raises(TargetStartError, match="allow-hosts"):
        Gateway()


# Only who knows the address


@pytest.mark.parametrize("path", ["", "wrong/chat/completions", "favicon.ico", "../chat/completions"])
async def test_a_wrong_secret_gets_nothing(gateway: Gateway, path: str) -> None:
    root = gateway.url.rpartition("/")[0]
    async with talking(gateway, to_url("http://127.0.0.1:9")) as conversation:
        status, _, answer = await post(f"{root}/{path}", chat("hello"))
    assert (status, answer) == (404, "")
    assert conversation.calls == ()
    assert conversation.problem is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1234"}, 200),
    ],
)
async def test_pages_in_a_browser_are_refused(
    gateway: Gateway, provider: ModelServer, headers: dict[str, str], status: int
) -> None:
    async with talking(gateway, to(provider)) as conversation:
        url = f"{conversation.url}/chat/completions"
        assert (await post(url, chat("hello"), headers=headers))[0] == status
    assert len(conversation.calls) == (status == 200)


async def test_it_listens_on_loopback_alone_and_every_gateway_has_another_address(gateway: Gateway) -> None:
    other = Gateway()
    assert gateway.url.startswith("http://127.0.0.1:")
    assert gateway.url.rpartition("/")[2] != other.url.rpartition("/")[2]
    assert gateway.url.rpartition("/")[2] not in repr(gateway)
    await other.aclose()


async def test_nothing_of_the_traffic_is_logged(
    provider: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gateway = Gateway()
    await gateway.start()
    async with talking(gateway, to(provider)) as conversation:
        await post(f"{conversation.url}/chat/completions?key=s3cret", chat("hello"))
        async with aiohttp.ClientSession() as session:  # not HTTP at all
            port = gateway.url.split(":")[2].partition("/")[0]
            reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
            writer.write(b"s3cret\r\n\r\n")
            await reader.read()
            writer.close()
            await session.close()
    await gateway.aclose()
    assert "s3cret" not in caplog.text
    assert "aiohttp" not in {record.name.partition(".")[0] for record in caplog.records}


# Recordings and faults


class Deck:
    """A tape of recorded answers, by the path that is asked."""

    def __init__(self, recorded: dict[str, Answered] | None = None, only: bool = False) -> None:
        self._recorded = recorded or {}
        self._only = only
        self.said: list[tuple[int, tuple[str, ...]]] = []
        self.kept: list[tuple[Asked, Answered, int, float]] = []

    def recorded(self, asked: Asked, turn: int, said: Sequence[str]) -> Answered | None:
        self.said.append((turn, tuple(said)))
        if asked.path not in self._recorded and self._only:
            raise ReplayMiss("this call was never recorded")
        return self._recorded.get(asked.path)

    def keep(self, asked: Asked, answered: Answered, turn: int, seconds: float) -> None:
        self.kept.append((asked, answered, turn, seconds))

    def lacks(self, asked: Asked) -> bool:
        return False

    def none_came(self) -> None:
        raise AssertionError("only a conversation of a target asks for it")


async def test_a_recorded_answer_comes_without_the_provider(gateway: Gateway, provider: ModelServer) -> None:
    headers = {"content-type": "text/event-stream"}
    body = b'data: {"a": 1}\r\n\r\ndata: [DONE]\r\n\r\n'
    deck = Deck({"chat/completions": Answered(200, body, headers)}, only=True)
    async with talking(gateway, to(provider, tape=deck)) as conversation:
        status, got, text = await post(f"{conversation.url}/chat/completions", chat("hello", stream=True))
    assert (status, text.encode()) == (200, body)
    assert got["content-type"] == "text/event-stream"
    assert not provider.requests
    assert conversation.calls[0].replayed
    assert deck.kept == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_was_made_is_kept(gateway: Gateway, provider: ModelServer, stream: bool) -> None:
    deck = Deck()
    async with talking(gateway, to(provider, tape=deck), number=3) as conversation:
        await post(f"{conversation.url}/chat/completions", chat("hello", stream=stream))
    ((asked, answered, turn, seconds),) = deck.kept
    (call,) = conversation.calls
    assert deck.said == [(3, ("hello",))]
    assert (asked, answered, turn, seconds) == (call.asked, call.answered, 3, call.seconds)


@pytest.mark.parametrize("path", ["chat/completions", "v1/messages"])
async def test_a_miss_is_refused_and_ends_the_conversation(
    gateway: Gateway, provider: ModelServer, path: str
) -> None:
    async with talking(gateway, to(provider, tape=Deck(only=True))) as conversation:
        status, headers, answer = await post(f"{conversation.url}/{path}", PATHS[path])
    assert (status, headers["x-should-retry"]) == (400, "false")
    assert answer["error"]["message"] == "this call was never recorded"
    assert isinstance(conversation.problem, ReplayMiss)
    assert not provider.requests


async def _left_early(conversation: GatewayConversation) -> None:
    """A client that goes away in the middle of a stream."""
    async with aiohttp.ClientSession() as session:
        body = chat("hello", stream=True)
        async with session.post(f"{conversation.url}/chat/completions", json=body) as answer:
            await answer.content.readany()
            answer.close()
    while not conversation.calls[0].broken_off:
        await asyncio.sleep(0.01)


async def test_what_a_client_leaves_is_kept_whole_before_the_conversation_ends(gateway: Gateway) -> None:
    deck, gate = Deck(), Gate()
    gate.release()

    with ModelServer(["one two three four"], gate=gate) as provider:
        async with talking(gateway, to(provider, tape=deck)) as conversation:
            await _left_early(conversation)
            asyncio.get_running_loop().call_later(0.2, gate.open)
    (call,) = conversation.calls
    ((asked, answered, turn, _),) = deck.kept
    assert (asked, turn) == (call.asked, 1)
    assert call.answered is not None
    assert answered.body.startswith(call.answered.body)
    assert answered.body.endswith(b"data: [DONE]\n\n")
    assert b"four" in answered.body
    assert call.broken_off
    assert b"four" not in call.answered.body


async def test_an_answer_that_never_ends_is_given_up(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_READING_ON", 0.05)
    deck, gate = Deck(), Gate()
    gate.release()
    with ModelServer(["one two three four"], gate=gate) as provider:
        async with talking(gateway, to(provider, tape=deck)) as conversation:
            await _left_early(conversation)
    assert deck.kept == []
    assert conversation.calls[0].broken_off


async def test_what_was_cut_off_is_not_kept(gateway: Gateway) -> None:
    deck = Deck()
    with ModelServer(faults=["cut", "close", "429"]) as provider:
        async with talking(gateway, to(provider, tape=deck)) as conversation:
            url = f"{conversation.url}/chat/completions"
            with pytest.raises(aiohttp.ClientError):
                await post(url, chat("hello there", stream=True))
            await post(url, chat("hello there"))
            await post(url, chat("hello there"))
    assert [answered.status for _, answered, _, _ in deck.kept] == [429]
