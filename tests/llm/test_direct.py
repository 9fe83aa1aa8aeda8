"""What the direct lane sends, and where: addresses, keys, headers and parameters."""

from __future__ import annotations

import base64
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pytest_convoprobe.errors import LLMRejected
from pytest_convoprobe.llm.direct import Direct
from pytest_convoprobe.llm.litellm_adapter import LiteLLM
from pytest_convoprobe.llm.port import LLMRequest
from pytest_convoprobe.llm.reasoning_models import refusals_expected
from pytest_convoprobe.project_code.agent_environment import agent_environment
from pytest_convoprobe.redaction import Redactor
from tests.support.chat_server import ChatServer, Fault

from .adapters import LANES, Adapter
from .requests import KEY, request, settings

ACCOUNT = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID")


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ACCOUNT, "OPENAI_PROJECT_ID", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def direct() -> AsyncIterator[Direct]:
    adapter = Direct(Redactor(environ={}))
    yield adapter
    await adapter.aclose()


@pytest.fixture(params=LANES.values(), ids=list(LANES))
async def llm(request: pytest.FixtureRequest) -> AsyncIterator[Adapter]:
    adapter = request.param(Redactor(environ={}))
    yield adapter
    await adapter.aclose()


def to(server: ChatServer, **fields: Any) -> LLMRequest:
    return request(model=settings(api_base=server.base_url, **fields))


async def test_the_key_and_the_address_come_from_the_environment(
    llm: Adapter, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", chat_server.base_url)
    await llm.complete(request(model=settings(api_key=None)))
    assert chat_server.requests[0].headers["authorization"] == "Bearer sk-of-the-environment"


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
async def test_our_models_never_go_through_the_gateway_of_the_agent(
    llm: Adapter, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, chat_server.base_url)
    with ChatServer() as gateway:
        agents = dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), gateway.base_url)
        with agent_environment(agents):
            await llm.complete(request(model=settings()))
    assert (len(chat_server.requests), len(gateway.requests)) == (1, 0)


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"])
async def test_nor_do_those_of_anthropic(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    adapter = LiteLLM(Redactor(environ={}))
    with ChatServer() as ours, ChatServer() as gateway:
        monkeypatch.setenv(variable, ours.base_url.removesuffix("/v1"))
        agents = dict.fromkeys(("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"), gateway.base_url)
        with agent_environment(agents), pytest.raises(LLMRejected, match="no such path: /v1/messages"):
            await adapter.complete(request(model=settings(model="anthropic/claude-sonnet-4-5")))
    await adapter.aclose()


async def test_headers_of_an_account(
    direct: Direct, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    await direct.complete(to(chat_server))
    await direct.complete(to(chat_server, model="hosted_vllm/fake"))
    first, second = (sent.headers for sent in chat_server.requests)
    assert (first["openai-organization"], first["openai-project"]) == ("org-1", "proj-1")
    assert not any(name.startswith("openai-") for name in second)


async def test_own_headers_replace_ours(llm: Adapter, chat_server: ChatServer) -> None:
    await llm.complete(to(chat_server, extra_headers={"Authorization": "Token mine"}))
    assert chat_server.requests[0].headers["authorization"] == "Token mine"


async def test_a_user_and_a_password_in_the_address(direct: Direct) -> None:
    with ChatServer() as server:
        address = server.base_url.replace("://", "://me:pass%20word@")
        await direct.complete(request(model=settings(api_base=address)))
    expected = base64.b64encode(b"me:pass word").decode()
    assert server.requests[0].headers["authorization"] == f"Basic {expected}"


async def test_servers_that_want_no_key_get_none(direct: Direct, chat_server: ChatServer) -> None:
    await direct.complete(to(chat_server, model="hosted_vllm/meta/fake", api_key=None))
    [sent] = chat_server.requests
    assert "authorization" not in sent.headers
    assert sent.body["model"] == "meta/fake"


async def test_a_key_that_was_set_in_code(llm: Adapter, chat_server: ChatServer) -> None:
    import litellm

    litellm.api_key = "sk-in-code"
    try:
        await llm.complete(to(chat_server, api_key=None))
    finally:
        litellm.api_key = None
    assert chat_server.requests[0].headers["authorization"] == "Bearer sk-in-code"


async def test_an_echoed_key_of_the_environment_is_masked(
    llm: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    masked = type(llm)(Redactor())  # knows the secrets of the environment
    with ChatServer(faults=["401"]) as server, pytest.raises(LLMRejected) as caught:
        await masked.complete(to(server, api_key=None))
    await masked.aclose()
    assert KEY not in str(caught.value)


async def test_the_body_is_what_the_protocol_says(direct: Direct, chat_server: ChatServer) -> None:
    extra = {"seed": 7, "extra_body": {"guided_regex": "a+"}}
    await direct.complete(to(chat_server, temperature=0.0, extra_params=extra))
    assert chat_server.bodies[0] == {
        "model": "fake",
        "messages": [{"role": "user", "content": "hello"}],
        "temperature": 0.0,
        "seed": 7,
        "guided_regex": "a+",
    }


async def test_a_redirect_on_the_same_host_is_followed(llm: Adapter) -> None:
    def answer(_: dict[str, Any]) -> str | Fault:
        moved = Fault("moved", status=307, headers={"Location": "/v2/chat/completions?a=1"})
        return moved if len(server.requests) == 1 else "here"

    with ChatServer(answer) as server:
        assert (await llm.complete(to(server))).text == "here"
    assert [sent.path for sent in server.requests][1] == "/v2/chat/completions?a=1"
    assert server.requests[1].headers["authorization"] == f"Bearer {KEY}"


async def test_redirects_in_a_circle_end(direct: Direct) -> None:
    moved = Fault("moved", status=308, headers={"Location": "/v1/chat/completions"})
    with ChatServer(lambda _: moved) as server, pytest.raises(LLMRejected, match="more than 5 times"):
        await direct.complete(to(server))
    assert len(server.requests) == 5


async def test_forbidden_sockets_are_said_so(
    llm: Adapter, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SocketBlockedError(RuntimeError):
        pass

    class Guarded(socket.socket):
        def __new__(cls, *_: object, **__: object) -> Guarded:
            raise SocketBlockedError("A test tried to use socket.socket.")

    monkeypatch.setattr(socket, "socket", Guarded)
    with pytest.raises(LLMRejected, match="pytest-socket's `--allow-hosts`"):
        await llm.complete(to(chat_server))


@pytest.mark.parametrize(
    ("fields", "left_out"),
    [
        ({"model": "openai/gpt-4o"}, {"reasoning_effort"}),
        ({"model": "openai/fake"}, set()),
        ({"model": "openai/gpt-5-chat-latest"}, set()),
        ({"model": "hosted_vllm/o1-of-somebody"}, set()),
        ({"model": "openai/gpt-5"}, {"max_tokens", "temperature", "logprobs", "top_logprobs", "top_p"}),
        ({"model": "openai/o3"}, {"max_tokens", "temperature", "logprobs", "top_logprobs", "top_p"}),
        ({"model": "openai/gpt-5.1", "reasoning": "none"}, {"max_tokens"}),
    ],
    ids=lambda value: value.get("model") if isinstance(value, dict) else "",
)
def test_what_models_refuse_while_they_reason(fields: dict[str, Any], left_out: set[str]) -> None:
    assert refusals_expected(settings(**fields)) == left_out


@pytest.mark.parametrize("model", ["openai/gpt-5", "openai/o3", "openai/gpt-5.1", "openai/gpt-4o"])
@pytest.mark.parametrize("reasoning", [None, "low", "none"])
async def test_models_that_reason_get_the_same_parameters_in_both_lanes(
    model: str, reasoning: str | None
) -> None:
    sent = []
    for lane in LANES.values():
        adapter = lane()
        with ChatServer() as server:
            asked = to(server, model=model, temperature=0.0, max_tokens=50, reasoning=reasoning)
            await adapter.complete(asked)
        await adapter.aclose()
        sent.append({name: value for name, value in server.bodies[0].items() if name != "stream"})
    assert sent[0] == sent[1]
