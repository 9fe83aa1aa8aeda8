"""Calls recorded at the gateway and replayed by it without a provider: clients see no difference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from pytest_convoprobe.errors import ReplayMiss
from pytest_convoprobe.gateway.attribution import TurnInFlight
from pytest_convoprobe.gateway.conversation import GatewayConversation
from pytest_convoprobe.gateway.exchange import Answered, Asked
from pytest_convoprobe.gateway.port import Wire
from pytest_convoprobe.gateway.server import Gateway
from pytest_convoprobe.gateway.tape import RecordedTape
from pytest_convoprobe.llm.agent_replay import AgentModelCalls
from pytest_convoprobe.llm.recording import Mode, Recording
from pytest_convoprobe.redaction import Redactor
from tests.support.chat_server import Completion
from tests.support.model_server import ModelServer

LOOKUP: dict[str, Any] = {"name": "lookup", "description": "Looks up.", "parameters": {"type": "object"}}
PARALLEL = Completion(None, (("lookup", {"order": "7"}), ("lookup", {"order": "8"})))
NOWHERE = "http://127.0.0.1:9"


async def talk(
    agent: Callable[[str], Any],
    path: Path,
    mode: Mode,
    upstream: str = NOWHERE,
    *,
    message: str = "Where are 7 and 8?",
) -> tuple[Any, GatewayConversation]:
    """One turn of an agent that calls models at an address; what it said, and the conversation."""
    recording = Recording(path)
    calls = AgentModelCalls(recording, mode, Redactor(environ={}))
    gateway = Gateway()
    await gateway.start()
    wire = Wire({"openai": f"{upstream}/v1", "anthropic": upstream}, RecordedTape(calls))
    async with gateway.conversation(wire) as opened:
        opened.own_url()
        async with gateway.turn(opened, TurnInFlight(1, message)):
            said = await asyncio.to_thread(agent, opened.url)
    await gateway.aclose()
    if calls.added:
        recording.save(instead_of=1, keep=calls.replayed)
    return said, opened


def chat(url: str, *, stream: bool = False) -> list[Any]:
    """An agent of chat completions, which calls tools side by side; all that it saw."""
    said: list[Any] = []
    messages: list[Any] = [{"role": "user", "content": "Where are 7 and 8?"}]
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        asked: Any = {"model": "gpt-x", "tools": [{"type": "function", "function": LOOKUP}]}
        while not said or said[-1].tool_calls:
            if stream:
                with client.chat.completions.stream(**asked, messages=messages) as events:
                    answer = events.get_final_completion().choices[0].message
            else:
                answer = client.chat.completions.create(**asked, messages=messages).choices[0].message
            said.append(answer)
            messages.append(answer.model_dump(exclude_none=True, exclude={"parsed"}))
            for call in answer.tool_calls or ():
                messages.append({"role": "tool", "tool_call_id": call.id, "content": "sent"})
    return [one.model_dump() for one in said]


def chat_stream(url: str) -> list[Any]:
    return chat(url, stream=True)


def responses(url: str, *, stream: bool = False) -> list[Any]:
    """An agent of the Responses protocol, which continues the answer before."""
    said: list[Any] = []
    asked: Any = {"model": "gpt-x", "tools": [{"type": "function", **LOOKUP}], "input": "Where are 7 and 8?"}
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        while not said or any(item.type == "function_call" for item in said[-1].output):
            if stream:
                with client.responses.stream(**asked) as events:
                    answer: Any = events.get_final_response()
            else:
                answer = client.responses.create(**asked)
            said.append(answer)
            asked["previous_response_id"] = answer.id
            calls = (item for item in answer.output if item.type == "function_call")
            asked["input"] = [
                {"type": "function_call_output", "call_id": call.call_id, "output": "sent"} for call in calls
            ]
    return [one.model_dump() for one in said]


def responses_stream(url: str) -> list[Any]:
    return responses(url, stream=True)


def messages(url: str, *, stream: bool = False) -> list[Any]:
    """An agent of the Messages protocol."""
    said: list[Any] = []
    tool = {"name": "lookup", "input_schema": {"type": "object"}}
    asked: Any = {"model": "claude-x", "max_tokens": 99, "tools": [tool]}
    asked["messages"] = [{"role": "user", "content": "Where are 7 and 8?"}]
    with anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as client:
        while not said or said[-1].stop_reason == "tool_use":
            if stream:
                with client.messages.stream(**asked) as events:
                    answer: Any = events.get_final_message()
            else:
                answer = client.messages.create(**asked)
            said.append(answer)
            asked["messages"].append(
                {"role": "assistant", "content": [one.model_dump() for one in answer.content]}
            )
            results = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "sent"}
                for block in answer.content
                if block.type == "tool_use"
            ]
            asked["messages"].append({"role": "user", "content": results or "Thanks"})
    return [one.model_dump() for one in said]


def messages_stream(url: str) -> list[Any]:
    return messages(url, stream=True)


def embeddings(url: str) -> Any:
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        return client.embeddings.create(model="emb", input=["a", "b"]).model_dump()


def models(url: str) -> Any:
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        return client.models.list().to_dict()


AGENTS = [chat, chat_stream, responses, responses_stream, messages, messages_stream, embeddings, models]
EVERY = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)


@EVERY
async def test_a_replay_needs_no_provider_and_no_key(tmp_path: Path, agent: Callable[[str], Any]) -> None:
    path = tmp_path / "a.json"
    with ModelServer([PARALLEL]) as provider:
        live, seen = await talk(agent, path, "record", provider.url)
        made = len(provider.requests)
    assert made == (1 if agent in (embeddings, models) else 2)

    for mode in ("only", "auto"):
        replayed, again = await talk(agent, path, mode)  # type: ignore[arg-type]
        assert replayed == live
        assert again.problem is None
        assert [call.replayed for call in again.calls] == [True] * made
        assert [call.answered for call in again.calls] == [call.answered for call in seen.calls]


@EVERY
async def test_two_recordings_of_the_same_have_the_same_keys(
    tmp_path: Path, agent: Callable[[str], Any]
) -> None:
    prints = []
    for name in ("a.json", "b.json"):
        with ModelServer([PARALLEL]) as provider:
            await talk(agent, tmp_path / name, "record", provider.url)
        prints.append([call.request for call in Recording(tmp_path / name).calls])

    assert prints[0] == prints[1]


@EVERY
async def test_a_call_that_is_not_recorded_ends_the_conversation(
    tmp_path: Path, agent: Callable[[str], Any]
) -> None:
    def caught(url: str) -> Any:
        try:
            return agent(url)
        except (openai.APIStatusError, anthropic.APIStatusError) as error:
            return error

    error, opened = await talk(caught, tmp_path / "a.json", "only")

    assert isinstance(error, (openai.BadRequestError, anthropic.BadRequestError))
    assert "this scenario was never recorded" in str(error)
    assert isinstance(opened.problem, ReplayMiss)


async def test_auto_calls_only_what_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with ModelServer([PARALLEL]) as provider:
        live, _ = await talk(chat, path, "record", provider.url)
    data = json.loads(path.read_text())
    del data["calls"][1:]
    data.pop("digest")
    path.write_text(json.dumps(data))

    with ModelServer(["They are there."]) as provider:
        said, opened = await talk(chat, path, "auto", provider.url)
        assert len(provider.requests) == 1
    assert [call.replayed for call in opened.calls] == [True, False]
    assert said[0] == live[0]
    assert said[1]["content"] == "They are there."
    assert (await talk(chat, path, "only"))[0] == said


async def test_equal_calls_at_once_get_each_answer_once(tmp_path: Path) -> None:
    async def ask(client: openai.AsyncOpenAI) -> str:
        messages: Any = [{"role": "user", "content": "Say a number"}]
        answer = await client.chat.completions.create(model="gpt-x", messages=messages)
        return answer.choices[0].message.content or ""

    def agent(url: str) -> list[str]:
        async def together() -> list[str]:
            async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
                return sorted(await asyncio.gather(*(ask(client) for _ in range(20))))

        return asyncio.run(together())

    path = tmp_path / "a.json"
    with ModelServer([f"number {number}" for number in range(20)]) as provider:
        live, _ = await talk(agent, path, "record", provider.url)

    assert (await talk(agent, path, "only"))[0] == live == sorted(f"number {number}" for number in range(20))


async def test_equal_calls_whose_answers_come_in_another_order_are_all_recorded(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.json")
    tape = RecordedTape(AgentModelCalls(recording, "record", Redactor(environ={})))
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Say a number"}]}).encode()
    asked = [Asked("POST", "v1/chat/completions", body) for _ in range(4)]
    for one in asked:
        assert tape.recorded(one, 1, ["Say a number"]) is None
    for place in (3, 0, 2, 1):
        message = {"role": "assistant", "content": f"number {place}"}
        answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
        said = Answered(200, json.dumps(answer).encode(), {"content-type": "application/json"})
        tape.keep(asked[place], said, 1, 0.1)
    assert not any(map(tape.lacks, asked))
    recording.save(instead_of=1)
    replay = RecordedTape(AgentModelCalls(Recording(tmp_path / "a.json"), "only", Redactor(environ={})))
    answers = [replay.recorded(one, 1, ["Say a number"]) for one in asked]
    assert [b"number %d" % place in one.body for place, one in enumerate(answers) if one] == [True] * 4


async def test_a_retry_after_a_failure_that_passes_is_what_is_recorded(tmp_path: Path) -> None:
    def agent(url: str) -> str | None:
        messages: Any = [{"role": "user", "content": "Hello"}]
        with openai.OpenAI(base_url=url, api_key="k", max_retries=2) as client:
            return client.chat.completions.create(model="g", messages=messages).choices[0].message.content

    path = tmp_path / "a.json"
    with ModelServer(["Hi"], faults=["429:0", "500", None]) as provider:
        assert (await talk(agent, path, "record", provider.url))[0] == "Hi"
        assert len(provider.requests) == 3

    said, opened = await talk(agent, path, "only")
    assert said == "Hi"
    assert len(opened.calls) == 1


async def test_an_answer_that_broke_off_is_not_recorded(tmp_path: Path) -> None:
    def agent(url: str) -> str | None:
        messages: Any = [{"role": "user", "content": "Hello"}]
        with openai.OpenAI(base_url=url, api_key="k", max_retries=1) as client:
            return client.chat.completions.create(model="g", messages=messages).choices[0].message.content

    path = tmp_path / "a.json"
    with ModelServer(["Hi", "Hi again"], faults=["cut", None]) as provider:
        said, _ = await talk(agent, path, "record", provider.url)

    assert (await talk(agent, path, "only"))[0] == said
    assert len(Recording(path).calls) == 1


async def test_the_agents_key_is_stored_nowhere(tmp_path: Path) -> None:
    def agent(url: str) -> None:
        messages: Any = [{"role": "user", "content": "Hello"}]
        headers = {"x-tenant": "t-0815-secret"}
        with openai.OpenAI(base_url=url, api_key="kk-4711-secret", default_headers=headers) as client:
            client.chat.completions.create(model="g", messages=messages, extra_query={"key": "q-99-secret"})

    path = tmp_path / "a.json"
    with ModelServer(["Hi"]) as provider:
        await talk(agent, path, "record", provider.url)

    assert "secret" not in path.read_text()
