"""What every target does, whatever it is made of.

Each of them answers `<turn>:<message>`, where it counts the turns itself, says nothing to "hush", and
what it stands on is away at "away".
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from pytest_convoprobe.errors import LLMError, LLMUnavailable, TargetUnavailable
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.litellm_adapter import LiteLLM
from pytest_convoprobe.llm.port import LLM, LLMRequest
from pytest_convoprobe.settings.models import HttpTarget, ModelTarget
from pytest_convoprobe.targets.factory import as_target, build_target
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.targets.port import ConversationContext, Target
from pytest_convoprobe.transcript import Reply
from tests.support.agent_server import AgentServer, Answer, Request
from tests.support.chat_server import ChatServer, Completion, Fault

AWAY = (TargetUnavailable, LLMError)


def answer(message: str, turn: int) -> str:
    if message == "away":
        raise ConnectionRefusedError("nobody listens")
    return "" if message == "hush" else f"{turn}:{message}"


def by_history(message: str, history: list[dict[str, str]]) -> str:
    return answer(message, len(history) // 2 + 1)


async def by_history_async(message: str, history: list[dict[str, str]]) -> str:
    await asyncio.sleep(0)
    return answer(message, len(history) // 2 + 1)


class Counting:
    def __init__(self) -> None:
        self.turns = 0

    def __call__(self, message: str) -> str:
        self.turns += 1
        return answer(message, self.turns)


class CountingAsync:
    def __init__(self) -> None:
        self.turns = 0

    async def send(self, message: str) -> Reply:
        self.turns += 1
        return Reply(answer(message, self.turns))


def make_counting() -> Callable[[str], str]:
    return Counting()


def by_messages(request: LLMRequest) -> str | Exception:
    messages = [message for message in request.messages if message.role == "user"]
    try:
        return answer(messages[-1].content, len(messages))
    except ConnectionError as error:
        return LLMUnavailable(str(error))


def by_body(body: dict[str, Any]) -> Completion | Fault:
    messages = [message["content"] for message in body["messages"] if message["role"] == "user"]
    try:
        return Completion(answer(messages[-1], len(messages)))
    except ConnectionError:
        return Fault("503", status=503, body="try later")


class Service:
    """Counts the turns of each conversation by the cookie that it sets at the first one."""

    def __init__(self) -> None:
        self.turns: Counter[str] = Counter()

    def __call__(self, request: Request) -> Any:
        message = request.json["message"]
        cookie = request.headers.get("cookie") or f"talk={request.json['conversation_id']}"
        self.turns[cookie] += 1
        try:
            text = answer(message, self.turns[cookie])
        except ConnectionError:
            return Answer("try later", status=503, content_type="text/plain")
        headers = () if "cookie" in request.headers else (("set-cookie", cookie),)
        return Answer(json.dumps({"text": text}), headers=headers)


MAKERS: dict[str, Callable[[], Target]] = {
    "fake": lambda: FakeTarget(_fake_answer),
    "function": lambda: as_target(by_history),
    "async function": lambda: as_target(by_history_async),
    "class": lambda: as_target(Counting),
    "async class": lambda: as_target(CountingAsync),
    "factory": lambda: as_target(make_counting),
    "reference": lambda: as_target(f"{__file__}:Counting"),
    "model": lambda: build_target(ModelTarget(model="fake/model"), rootdir=Path.cwd()),
}


def _fake_answer(message: str, turn: int) -> str | Exception:
    try:
        return answer(message, turn)
    except ConnectionError as error:
        return TargetUnavailable(str(error))


@dataclass(frozen=True)
class Kind:
    """A target, and the way to models that its conversations get."""

    target: Target
    llm: LLM


@contextmanager
def _kind(name: str) -> Iterator[Kind]:
    if name == "http":
        with AgentServer(Service()) as server:
            yield Kind(build_target(HttpTarget(url=f"{server.url}/chat"), rootdir=Path.cwd()), FakeLLM([]))
    elif name == "model over HTTP":
        with ChatServer(by_body) as provider:
            settings = ModelTarget(
                model="openai/fake", api_base=provider.base_url, api_key=SecretStr("unused"), max_attempts=1
            )
            yield Kind(build_target(settings, rootdir=Path.cwd()), LiteLLM())
    else:
        yield Kind(MAKERS[name](), FakeLLM(by_messages))


@pytest.fixture(params=[*MAKERS, "http", "model over HTTP"])
async def kind(request: pytest.FixtureRequest) -> AsyncIterator[Kind]:
    with _kind(request.param) as kind:
        yield kind
        await kind.target.aclose()
        await kind.llm.aclose()


@pytest.fixture
def target(kind: Kind) -> Target:
    return kind.target


@pytest.fixture
def start(kind: Kind, context: Callable[..., ConversationContext]) -> Callable[[], Any]:
    return lambda: kind.target.start(context(kind.llm))


@pytest.fixture
def talk(start: Callable[[], Any]) -> Callable[..., Any]:
    """Starts a conversation, says these messages and gives the texts of the replies."""

    async def talk(*messages: str) -> list[str]:
        conversation = await start()
        try:
            return [(await conversation.send(message)).text for message in messages]
        finally:
            await conversation.aclose()

    return talk


async def test_has_a_name(target: Target) -> None:
    assert target.name


async def test_answers_in_order(talk: Callable[..., Any]) -> None:
    assert await talk("hello", "and then?", "bye") == ["1:hello", "2:and then?", "3:bye"]


async def test_a_new_conversation_knows_nothing_of_the_last(talk: Callable[..., Any]) -> None:
    await talk("one", "two")
    assert await talk("again") == ["1:again"]


async def test_conversations_at_the_same_time_stay_apart(talk: Callable[..., Any]) -> None:
    talks = await asyncio.gather(*(talk(f"a{number}", f"b{number}") for number in range(20)))
    assert talks == [[f"1:a{number}", f"2:b{number}"] for number in range(20)]


async def test_turns_of_two_conversations_may_alternate(start: Callable[[], Any]) -> None:
    first, second = await start(), await start()
    said = [(await conversation.send("x")).text for conversation in (first, second, first, second)]
    await first.aclose()
    await second.aclose()
    assert said == ["1:x", "1:x", "2:x", "2:x"]


async def test_an_empty_answer_is_an_answer(talk: Callable[..., Any]) -> None:
    assert await talk("hush", "hello") == ["", "2:hello"]


async def test_what_is_away_is_not_blamed_on_the_agent(talk: Callable[..., Any]) -> None:
    with pytest.raises(AWAY):
        await talk("away")


async def test_a_failed_conversation_leaves_others_alone(talk: Callable[..., Any]) -> None:
    await asyncio.gather(talk("away"), return_exceptions=True)
    assert await talk("hello") == ["1:hello"]


@pytest.mark.parametrize(
    "text", ["naïve 🌍 日本", "a\nb\t\x00\x1b[31m", '{"a": "b\'"} {{ message }} {% x %}']
)
async def test_text_passes_unchanged(talk: Callable[..., Any], text: str) -> None:
    assert await talk(text) == [f"1:{text}"]


async def test_long_messages_pass_unchanged(talk: Callable[..., Any]) -> None:
    text = "0123456789" * 10_000
    assert await talk(text) == [f"1:{text}"]


async def test_closing_twice_is_fine(target: Target, start: Callable[[], Any]) -> None:
    conversation = await start()
    await conversation.send("hello")
    await conversation.aclose()
    await conversation.aclose()
    await target.aclose()
    await target.aclose()


async def test_a_conversation_may_be_closed_without_a_message(start: Callable[[], Any]) -> None:
    conversation = await start()
    await conversation.aclose()
