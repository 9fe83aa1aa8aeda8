"""How agents get the address at which they are to call models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import SettingsError, TargetStartError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.settings.models import HttpTarget, PythonTarget
from pytest_convoprobe.targets.factory import as_target, build_target
from pytest_convoprobe.targets.http import HttpAgent
from pytest_convoprobe.targets.port import ConversationContext, Target
from tests.support.agent_server import AgentServer

URL = "http://127.0.0.1:1/secret/talk-0"
MODELS = {"openai": "https://api.openai.com/v1"}


class Asked:
    """A conversation's address, and whether somebody asked for it."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> str:
        self.times += 1
        return URL


async def reply(target: Target, asked: Asked | None) -> str:
    context = ConversationContext("c", FakeLLM([]), gives_model_url=asked)
    conversation = await target.start(context)
    try:
        return (await conversation.send("hello")).text
    finally:
        await conversation.aclose()
        await target.aclose()


# Python


class Agent:
    def __init__(self, context: ConversationContext) -> None:
        self._url = context.model_url

    def send(self, message: str) -> str:
        return f"{message} {self._url}"


class KeywordAgent:
    def __init__(self, *, context: ConversationContext, retries: int = 2) -> None:
        self._url = context.model_url

    async def send(self, message: str) -> str:
        return f"{message} {self._url}"


def factory(context: ConversationContext) -> Agent:
    return Agent(context)


async def async_factory(context: ConversationContext) -> Agent:
    return Agent(context)


def factory_with_default(*, context: Any = None, size: int = 3) -> Agent:
    return Agent(context)


MAKERS = [Agent, KeywordAgent, factory, async_factory, factory_with_default]


@pytest.mark.parametrize("maker", MAKERS)
async def test_what_makes_an_agent_may_take_the_context(maker: Any) -> None:
    asked = Asked()
    assert await reply(as_target(maker), asked) == f"hello {URL}"
    assert asked.times == 1


@pytest.mark.parametrize("maker", MAKERS)
async def test_without_models_there_is_no_address(maker: Any) -> None:
    # A client that gets None as its base_url goes to the provider.
    assert await reply(as_target(maker), None) == "hello None"


async def test_the_settings_name_it_too(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "class Agent:\n"
        "    def __init__(self, context):\n"
        "        self.url = context.model_url\n"
        "    def send(self, message):\n"
        "        return self.url\n"
    )
    target = build_target(PythonTarget(object="agent.py:Agent"), rootdir=tmp_path)
    assert await reply(target, Asked()) == URL


def answers(message: str, context: Any = None) -> str:
    return f"{message} {context}"


def answers_contexts(context: str) -> str:
    raise AssertionError("it makes an agent")


async def test_a_function_that_answers_is_none() -> None:
    asked = Asked()
    assert await reply(as_target(answers), asked) == "hello None"
    assert asked.times == 0  # nobody has its address


class Needy:
    def __init__(self, context: Any, database: Any) -> None:
        raise AssertionError("nobody can make it")

    def send(self, message: str) -> str:
        raise AssertionError


async def test_a_class_that_needs_more_is_refused() -> None:
    with pytest.raises(TargetStartError, match="the parameter `context` alone"):
        await reply(as_target(Needy), Asked())


# HTTP


@pytest.fixture
def agent_server() -> Iterator[AgentServer]:
    with AgentServer(lambda request: {"reply": "fine"}) as server:
        yield server


def http(server: AgentServer, **more: Any) -> HttpTarget:
    return HttpTarget.model_validate({"type": "http", "url": server.url, "models": MODELS, **more})


@pytest.mark.parametrize(
    "more",
    [
        {"body": {"message": "{{ message }}", "base_url": "{{ model_url }}"}},
        {"body": {"message": "{{ message }}", "config": [{"base_url": "{{ model_url }}/v1"}]}},
        {"body": '{"message": {{ message | tojson }}, "base_url": {{ model_url | tojson }}}'},
        {"headers": {"X-Model-Url": "{{ model_url }}"}},
        {"url": "?models={{ model_url | urlencode }}"},
    ],
)
async def test_templates_have_the_address(agent_server: AgentServer, more: dict[str, Any]) -> None:
    asked = Asked()
    if "url" in more:
        more = {"url": agent_server.url + more["url"]}
    await reply(HttpAgent(http(agent_server, text="reply", **more)), asked)
    (request,) = agent_server.requests
    seen = json.dumps([request.path, dict(request.headers), request.json])
    assert URL in seen.replace("%3A", ":").replace("%2F", "/")
    assert asked.times == 1


async def test_an_address_that_no_template_has_is_not_asked_for(agent_server: AgentServer) -> None:
    asked = Asked()
    await reply(HttpAgent(http(agent_server, text="reply")), asked)
    assert asked.times == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"models": None}, "set `target.models`"),
        ({"version": "version"}, "give an address of its own"),
    ],
)
def test_templates_that_could_not_work(more: dict[str, Any], words: str) -> None:
    values = {"url": "http://host/", "body": {"u": "{{ model_url }}"}, "models": MODELS, **more}
    with pytest.raises(SettingsError, match=words):
        HttpAgent(HttpTarget.model_validate({"type": "http", **values}))


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(SettingsError, match="did you mean `model_url`"):
        HttpAgent(HttpTarget(url="http://host/", body={"u": "{{ models_url }}"}))
