from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from pytest_convoprobe.gateway.attribution import TurnInFlight
from pytest_convoprobe.gateway.conversation import GatewayConversation
from pytest_convoprobe.gateway.exchange import Asked
from pytest_convoprobe.gateway.port import Injection
from pytest_convoprobe.gateway.relay import Relay
from pytest_convoprobe.gateway.relay_file import announced, found_relays
from pytest_convoprobe.gateway.server import Gateway
from tests.support.model_server import Gate, ModelServer

from .talking import chat, post, to


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder of the test's own."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
async def relay(tmp_path: Path) -> AsyncIterator[Relay]:
    made = Relay()
    await made.start()
    with announced(made.url, tmp_path):
        yield made
    await made.aclose()


@asynccontextmanager
async def session(root: Path) -> AsyncIterator[Gateway]:
    made = Gateway(root)
    yield made
    await made.aclose()


@asynccontextmanager
async def asked(
    gateway: Gateway, provider: ModelServer, message: str, *earlier: tuple[str, str]
) -> AsyncIterator[GatewayConversation]:
    """A conversation in the middle of a turn, whose agent has no address of its own."""
    turn = TurnInFlight(len(earlier) + 1, message, earlier)
    async with gateway.conversation(to(provider)) as opened, gateway.turn(opened, turn):
        yield opened


async def test_without_a_session_calls_are_refused(relay: Relay) -> None:
    status, headers, answer = await post(f"{relay.url}/chat/completions", chat("hello"))
    assert (status, headers["x-should-retry"]) == (503, "false")
    assert "no session of pytest is there" in answer["error"]["message"]
    status, _, answer = await post(f"{relay.url}/v1/messages", chat("hello"))
    assert (status, answer["type"]) == (503, "error")


async def test_calls_reach_the_session_of_the_project(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    headers = {"Authorization": "Bearer sk-theirs"}
    async with session(tmp_path) as gateway, asked(gateway, provider, "hello") as conversation:
        url = f"{relay.url}/v1/chat/completions?a=1"
        status, _, answer = await post(url, chat("hello"), headers=headers)
        assert (status, answer["choices"][0]["message"]["content"]) == (200, "hello")
    (request,) = provider.requests
    assert request.path == "/v1/chat/completions?a=1"
    assert request.headers["authorization"] == "Bearer sk-theirs"
    assert not [name for name in request.headers if "convoprobe" in name]
    assert len(conversation.calls) == 1


async def test_sessions_of_other_projects_get_nothing(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    async with session(tmp_path / "other") as gateway, asked(gateway, provider, "hello"):
        assert (await post(f"{relay.url}/chat/completions", chat("hello")))[0] == 503


async def test_a_session_that_has_ended_is_forgotten(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    async with session(tmp_path) as first, asked(first, provider, "hello"):
        pass
    while (await post(f"{relay.url}/chat/completions", chat("hello")))[0] != 503:
        await asyncio.sleep(0.01)
    async with session(tmp_path) as second, asked(second, provider, "hello") as conversation:
        assert (await post(f"{relay.url}/chat/completions", chat("hello")))[0] == 200
    assert len(conversation.calls) == 1


async def test_a_relay_that_comes_later_is_found_by_the_next_conversation(
    tmp_path: Path, provider: ModelServer
) -> None:
    async with session(tmp_path) as gateway:
        async with asked(gateway, provider, "hello"):
            pass
        relay = Relay()
        await relay.start()
        with announced(relay.url, tmp_path):
            async with asked(gateway, provider, "hello") as conversation:
                assert (await post(f"{relay.url}/chat/completions", chat("hello")))[0] == 200
        await relay.aclose()
        async with asked(gateway, provider, "hello"):  # and its end disturbs nobody
            pass
    assert len(conversation.calls) == 1


async def test_of_several_sessions_the_one_whose_conversation_it_is(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    """As with workers of xdist: trials of one scenario, at different turns, in different processes."""
    async with AsyncExitStack() as stack:
        one, two, three = [await stack.enter_async_context(session(tmp_path)) for _ in range(3)]
        first = await stack.enter_async_context(asked(one, provider, "I want a refund"))
        earlier = ("I want a refund", "Of which order?")
        second = await stack.enter_async_context(asked(two, provider, "of order 7", earlier))
        third = await stack.enter_async_context(asked(three, provider, "another"))
        opening = {"role": "user", "content": "I want a refund"}
        reply = {"role": "assistant", "content": "Of which order?"}
        more = {"role": "user", "content": "of order 7"}
        url = f"{relay.url}/chat/completions"
        for messages in ([opening], [opening, reply, more], [{"role": "user", "content": "another"}]):
            assert (await post(url, {"model": "m", "messages": messages}))[0] == 200
        found = [
            [len(json.loads(call.asked.body)["messages"]) for call in talk.calls] for talk in (first, second)
        ]
        assert found == [[1], [3]]
        assert len(third.calls) == 1


async def test_equal_messages_of_several_sessions_are_answered_one_after_another(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    under_way: list[int] = []

    async def trial(number: int) -> list[str]:
        async with session(tmp_path) as gateway, gateway.conversation(to(provider)) as conversation:
            async with gateway.turn(conversation, TurnInFlight(1, "hello")):
                under_way.append(number)
                await post(f"{relay.url}/chat/completions", chat("hello", user=f"{number}"))
                assert under_way[-1] == number
            return [json.loads(call.asked.body)["user"] for call in conversation.calls]

    found = await asyncio.wait_for(asyncio.gather(*map(trial, range(4))), 30)
    assert found == [[f"{number}"] for number in range(4)]


async def test_a_call_of_nobody_is_refused_in_all_sessions(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    async with (
        session(tmp_path) as one,
        session(tmp_path) as two,
        asked(one, provider, "hello") as first,
        asked(two, provider, "there") as second,
    ):
        status, headers, answer = await post(f"{relay.url}/chat/completions", chat("summary"))
        assert (status, headers["x-should-retry"]) == (400, "false")
        assert "belongs to no conversation" in answer["error"]["message"]
        for conversation in (first, second):
            assert "belongs to no conversation" in str(conversation.problem)
            conversation.problem = None
    assert not provider.requests


async def test_a_stream_passes_as_it_comes(relay: Relay, tmp_path: Path) -> None:
    gate = Gate()
    with ModelServer(["one two three"], gate=gate) as provider:
        async with session(tmp_path) as gateway, asked(gateway, provider, "hello") as conversation:
            async with aiohttp.ClientSession() as client:
                gate.release()
                body = chat("hello", stream=True)
                async with client.post(f"{relay.url}/chat/completions", json=body) as answer:
                    first = await answer.content.readany()
                    assert provider.requests[0].sent == 1
                    gate.open()
                    rest = await answer.read()
            (call,) = conversation.calls
            assert call.answered is not None
            assert call.answered.body == first + rest


class _Closing:
    def strike(self, asked: Asked) -> Injection | None:
        return Injection("a timeout", closes=True)


async def test_a_connection_that_the_session_closes_is_closed(
    relay: Relay, tmp_path: Path, provider: ModelServer
) -> None:
    async with session(tmp_path) as gateway:
        wire = to(provider, faults=_Closing())
        async with gateway.conversation(wire) as opened, gateway.turn(opened, TurnInFlight(1, "hello")):
            with pytest.raises(aiohttp.ClientError):
                await post(f"{relay.url}/chat/completions", chat("hello"))


@pytest.mark.parametrize("path", ["_sessions", "_turns", "chat/completions"])
async def test_only_who_knows_the_address_is_answered(relay: Relay, path: str) -> None:
    root = relay.url.rpartition("/")[0]
    assert (await post(f"{root}/guessed/{path}", {"url": "http://127.0.0.1:1"}))[0] == 404
    headers = {"Origin": "http://evil.example"}
    assert (await post(f"{relay.url}/{path}", {}, headers=headers))[0] == 403


# `127.0.0.1:1` is a user's name and password in the second: the host is what follows.
_ELSEWHERE = [
    "http://evil.example/",
    "http://127.0.0.1:1@evil.example/x",
    "http://127.0.0.1:1.evil.example/x",
]


@pytest.mark.parametrize("url", _ELSEWHERE)
async def test_a_session_has_to_be_on_loopback(relay: Relay, url: str) -> None:
    asking = post(f"{relay.url}/_sessions", {"url": url})
    assert (await asyncio.wait_for(asking, 30))[0] == 400


async def test_pytest_inside_the_gateway_is_an_error(
    relay: Relay, tmp_path: Path, provider: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", relay.url)
    async with session(tmp_path) as gateway, asked(gateway, provider, "hello") as conversation:
        assert "was itself started by `convoprobe gateway`" in str(conversation.problem)


# The file


def test_the_file_is_the_users_alone_and_goes_with_the_relay(tmp_path: Path, runtime: Path) -> None:
    with announced("http://127.0.0.1:1/s3cret", tmp_path):
        (file,) = (runtime / "convoprobe").iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700
        assert found_relays(tmp_path) == ["http://127.0.0.1:1/s3cret"]
        assert found_relays(tmp_path / "other") == []
    assert not file.exists()
    assert found_relays(tmp_path) == []


def test_a_session_finds_the_relays_of_the_projects_below_it(tmp_path: Path, runtime: Path) -> None:
    with announced("http://127.0.0.1:1/s3cret", tmp_path / "shop"):
        assert found_relays(tmp_path) == ["http://127.0.0.1:1/s3cret"]
        assert found_relays(tmp_path / "sho") == []
        assert found_relays(tmp_path / "shop" / "scenarios") == []


_OTHERS = ["", "[]", "{}", '{"pid": 1}', '{"url": "http://127.0.0.1:1", "root": 7}', "\x00"]


@pytest.mark.parametrize(
    "content", [*_OTHERS, *(f'{{"root": "ROOT", "url": "{url}"}}' for url in _ELSEWHERE)]
)
def test_whatever_else_is_there_is_left_alone(tmp_path: Path, runtime: Path, content: str) -> None:
    folder = runtime / "convoprobe"
    folder.mkdir(mode=0o700)
    for name in (f"{os.getpid()}.json", "other.json"):
        (folder / name).write_text(content.replace("ROOT", str(tmp_path)))
    assert found_relays(tmp_path) == []
    assert len(list(folder.iterdir())) == 2


def test_the_file_of_a_process_that_is_gone_is_removed(tmp_path: Path, runtime: Path) -> None:
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    with announced("http://127.0.0.1:1/x", tmp_path):
        (file,) = (runtime / "convoprobe").iterdir()
        file.rename(file.with_name(f"{gone}.json"))
        assert found_relays(tmp_path) == []
        assert not list((runtime / "convoprobe").iterdir())


def test_a_folder_that_others_can_write_is_not_trusted(tmp_path: Path, runtime: Path) -> None:
    folder = runtime / "convoprobe"
    folder.mkdir()
    folder.chmod(0o777)
    with (
        pytest.raises(PermissionError, match="others may write there"),
        announced("http://127.0.0.1:1/x", tmp_path),
    ):
        pass
    assert found_relays(tmp_path) == []
