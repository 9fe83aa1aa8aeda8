from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from pytest_convoprobe.errors import (
    BudgetExceeded,
    LLMRejected,
    SettingsError,
    TargetCrashed,
    TargetStartError,
)
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.litellm_adapter import LiteLLM
from pytest_convoprobe.llm.port import CallContext, LLMReply, Message, Role, ToolRequest
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import ModelTarget
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import ConversationContext, calls_so_far
from pytest_convoprobe.transcript import Reply, Usage
from tests.support.chat_server import ChatServer, Completion

Start = Callable[..., Any]


@pytest.fixture
def start(context: Callable[..., ConversationContext], tmp_path: Path) -> Start:
    """Starts a conversation with a model whose replies are given."""

    async def start(llm: FakeLLM, tools: Any = (), **settings: Any) -> Any:
        target = ModelAgent(ModelTarget(model="fake/model", **settings), rootdir=tmp_path, tools=tools)
        return await target.start(context(llm))

    return start


def asking(*tools: tuple[str, str], text: str = "") -> LLMReply:
    requests = tuple(ToolRequest(f"id{index}", *tool) for index, tool in enumerate(tools))
    return LLMReply(text, requests, Usage(10, 5), finish_reason="tool_calls")


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def test_the_model_is_told_prompt_and_history(start: Start) -> None:
    llm = FakeLLM(["Hi!", "Bye!"])
    talk = await start(llm, system_prompt="You sell shoes.")
    await talk.send("hello")
    await talk.send("bye")
    assert llm.requests[1].messages == (
        Message("system", "You sell shoes."),
        Message("user", "hello"),
        Message("assistant", "Hi!"),
        Message("user", "bye"),
    )


async def test_without_a_prompt_there_is_no_system_message(start: Start) -> None:
    llm = FakeLLM(["Hi!"])
    await (await start(llm)).send("hello")
    assert [message.role for message in llm.requests[0].messages] == ["user"]


async def test_extra_instructions_follow_the_prompt(start: Start) -> None:
    llm = FakeLLM(["Hi!"])
    await (await start(llm, system_prompt="One.", extra_instructions="Two.")).send("hello")
    assert llm.requests[0].messages[0].content == "One.\n\nTwo."


async def test_calls_are_made_for_the_target_of_this_scenario_and_turn(start: Start) -> None:
    llm = FakeLLM(["one", "two"])
    talk = await start(llm)
    await talk.send("a")
    await talk.send("b")
    contexts = [request.context for request in llm.requests]
    assert contexts == [CallContext(Role.TARGET, "shop.yaml::refund", 1, turn) for turn in (1, 2)]


async def test_the_model_is_called_with_its_own_settings(start: Start) -> None:
    llm = FakeLLM(["Hi!"])
    await (await start(llm, api_key=SecretStr("k"), temperature=0.5, timeout=7.0)).send("hello")
    model = llm.requests[0].model
    assert (model.model, model.temperature, model.timeout) == ("fake/model", 0.5, 7.0)
    assert model.api_key is not None
    assert model.api_key.get_secret_value() == "k"


async def test_a_tool_is_called_and_its_result_handed_back(start: Start) -> None:
    llm = FakeLLM([asking(("add", '{"a": 1, "b": 2}')), LLMReply("It is 3.", usage=Usage(20, 4))])
    reply = await (await start(llm, [add])).send("1 + 2?")
    (made,) = reply.tool_calls
    assert (reply.text, reply.usage) == ("It is 3.", Usage(30, 9))
    assert (made.name, made.arguments, made.result, made.error) == ("add", {"a": 1, "b": 2}, 3, None)
    assert llm.requests[0].tools[0].description == "Add two numbers."
    assert llm.requests[1].messages[1:] == (
        Message("assistant", "", (ToolRequest("id0", "add", '{"a": 1, "b": 2}'),)),
        Message("tool", "3", tool_call_id="id0"),
    )


async def test_a_model_that_calls_nothing_says_so(start: Start) -> None:
    reply = await (await start(FakeLLM(["Hi!"]), [add])).send("hello")
    assert reply == Reply("Hi!", (), Usage())


async def test_texts_are_handed_back_as_they_are_and_values_as_json(start: Start) -> None:
    def text() -> str:
        return "café"

    def value() -> dict[str, str]:
        return {"where": "café"}

    llm = FakeLLM([asking(("text", "{}"), ("value", "")), "done"])
    await (await start(llm, [text, value])).send("hello")
    assert [message.content for message in llm.requests[1].messages[2:]] == ["café", '{"where": "café"}']


async def test_an_error_is_handed_back_and_kept(start: Start) -> None:
    llm = FakeLLM([asking(("add", '{"a": 1}'), ("sub", "{}")), "Sorry."])
    reply = await (await start(llm, [add])).send("1 + ?")
    assert [call.error for call in reply.tool_calls] == [
        "wrong arguments for `add`: b: Field required",
        "there is no tool `sub`; the tools are: `add`",
    ]
    told = [message.content for message in llm.requests[1].messages[2:]]
    assert told == [f"Error: {call.error}" for call in reply.tool_calls]


async def test_parallel_calls_run_at_once_and_keep_their_order(start: Start) -> None:
    second_ran = asyncio.Event()

    async def first() -> str:
        await asyncio.wait_for(second_ran.wait(), 10)
        return "one"

    async def second() -> str:
        second_ran.set()
        return "two"

    llm = FakeLLM([asking(("first", "{}"), ("second", "{}")), "done"])
    reply = await (await start(llm, [first, second])).send("go")
    assert [call.result for call in reply.tool_calls] == ["one", "two"]
    assert [message.tool_call_id for message in llm.requests[1].messages[2:]] == ["id0", "id1"]


async def test_text_beside_tool_calls_is_part_of_the_answer(start: Start) -> None:
    llm = FakeLLM([asking(("add", '{"a": 1, "b": 2}'), text="Let me see."), "It is 3."])
    assert (await (await start(llm, [add])).send("1 + 2?")).text == "Let me see.\n\nIt is 3."


async def test_rounds_are_bounded(start: Start) -> None:
    llm = FakeLLM(lambda request: asking(("add", '{"a": 1, "b": 2}')))
    with pytest.raises(TargetCrashed, match=r"after 2 rounds of tool calls .* it asked for `add` once more"):
        await (await start(llm, [add], max_tool_rounds=2)).send("1 + 2?")
    assert len(llm.requests) == 3


async def test_the_last_round_may_still_be_answered(start: Start) -> None:
    llm = FakeLLM([asking(("add", '{"a": 1, "b": 2}')), "It is 3."])
    reply = await (await start(llm, [add], max_tool_rounds=1)).send("1 + 2?")
    assert reply.text == "It is 3."


@pytest.mark.parametrize("error", [LLMRejected("a bad key"), BudgetExceeded("all is spent")])
async def test_errors_of_the_model_pass_as_they_are(start: Start, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        await (await start(FakeLLM([error]))).send("hello")


async def test_tools_are_found_by_reference(
    context: Callable[..., ConversationContext], tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text("def price(item: str) -> int:\n    return 7\n")
    llm = FakeLLM([asking(("price", '{"item": "hat"}')), "7"])
    target = ModelAgent(ModelTarget(model="fake/model", tools=("shop.py:price",)), rootdir=tmp_path)
    reply = await (await target.start(context(llm))).send("how much?")
    assert [(call.name, call.result) for call in reply.tool_calls or ()] == [("price", 7)]


async def test_tools_work_with_a_real_client(context: Callable[..., ConversationContext]) -> None:
    answers = [Completion(None, (("add", {"a": 1, "b": 2}), ("add", "no json"))), Completion("It is 3.")]
    with ChatServer(answers) as provider:
        settings = ModelTarget(model="openai/fake", api_base=provider.base_url, api_key=SecretStr("unused"))
        llm = LiteLLM()
        talk = await ModelAgent(settings, tools=[add]).start(context(llm))
        reply = await talk.send("1 + 2?")
        await llm.aclose()
    assert (reply.text, reply.usage) == ("It is 3.", Usage(20, 10))
    assert [call.result for call in reply.tool_calls or ()] == [3, None]
    told = [
        message["content"] for message in provider.requests[1].body["messages"] if message["role"] == "tool"
    ]
    assert told[0] == "3"
    assert told[1].startswith("Error: the arguments are not valid JSON")


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("gone.py:price", "there is no file"),
        ("json:__name__", "the tool `json:__name__` is a str, not a function"),
        ("json:JSONDecoder", "is a type, not a function"),
    ],
)
async def test_a_tool_that_cannot_be_had_is_an_error_of_the_start(
    context: Callable[..., ConversationContext], tmp_path: Path, reference: str, words: str
) -> None:
    target = ModelAgent(ModelTarget(model="fake/model", tools=(reference,)), rootdir=tmp_path)
    with pytest.raises(TargetStartError) as caught:
        await target.start(context())
    assert words in str(caught.value)


def test_what_is_no_reference_is_an_error_of_the_settings(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"target.tools\[1\]: `price` names no object"):
        ModelAgent(ModelTarget(model="m", tools=("a:b", "price")), rootdir=tmp_path)


async def test_no_model_is_an_error_when_a_call_is_made(context: Callable[..., ConversationContext]) -> None:
    target = ModelAgent(ModelTarget())
    talk = await target.start(context(LiteLLM()))
    with pytest.raises(SettingsError, match="no model is set for the target"):
        await talk.send("hello")


async def test_a_recording_needs_no_model() -> None:
    llm = FakeLLM(["recorded"])
    talk = await ModelAgent(ModelTarget()).start(ConversationContext("c", llm))
    assert (await talk.send("hello")).text == "recorded"


async def test_variables_that_are_missing_are_told_to_whoever_calls(start: Start) -> None:
    llm = FakeLLM(["Hi!"])
    await (await start(llm, unresolved={"api_key": "`${KEY}` is not set"})).send("hello")
    model = llm.requests[0].model
    assert (type(model), dict(model.unresolved)) == (ModelSettings, {"api_key": "`${KEY}` is not set"})


async def test_what_the_model_thinks_is_not_said(start: Start) -> None:
    llm = FakeLLM([LLMReply("<think>a lie?</think>It is 7.", thoughts="They ask for a number.")])
    assert await (await start(llm)).send("which?") == Reply(
        "It is 7.", (), usage=Usage(), thoughts="a lie?\n\nThey ask for a number."
    )


async def test_thoughts_of_each_round_end_with_it(start: Start) -> None:
    llm = FakeLLM([asking(("add", '{"a": 1, "b": 2}'), text="<think>unfinished"), "It is 3."])
    reply = await (await start(llm, [add])).send("1 + 2?")
    assert (reply.text, reply.thoughts) == ("It is 3.", "unfinished")


# What was done before the conversation broke off


async def test_calls_of_an_endless_loop_are_known(start: Start) -> None:
    llm = FakeLLM([asking(("add", '{"a": 1, "b": 2}'))] * 3)
    conversation = await start(llm, [add], max_tool_rounds=2)
    with pytest.raises(TargetCrashed):
        await conversation.send("go")
    assert [(call.name, call.result) for call in calls_so_far(conversation)] == [("add", 3), ("add", 3)]


async def test_a_call_that_does_not_return_is_known(start: Start) -> None:
    async def wait(a: int) -> int:
        await asyncio.Event().wait()
        return a

    llm = FakeLLM([asking(("add", '{"a": 1, "b": 2}')), asking(("wait", '{"a": 1}'))])
    conversation = await start(llm, [add, wait])
    sending = asyncio.ensure_future(conversation.send("go"))
    while len(calls_so_far(conversation)) < 2:
        await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait([sending])
    first, second = calls_so_far(conversation)
    assert (first.name, first.error, second.name, second.arguments) == ("add", None, "wait", {"a": 1})
    assert second.error == "it had not returned when the conversation broke off"


async def test_the_prompt_knows_when_the_conversation_begins(
    context: Callable[..., ConversationContext], tmp_path: Path
) -> None:
    begun = datetime(2026, 11, 28, 14, 30, tzinfo=timezone.utc)
    prompt = "{{ today }} ({{ now }}) {% raw %}{{ today }}{% endraw %}"
    target = ModelAgent(ModelTarget(model="fake/model", system_prompt=prompt), rootdir=tmp_path)
    llm = FakeLLM(["Hi!"])
    await (await target.start(replace(context(llm), now=begun))).send("hello")
    assert llm.requests[0].messages[0].content == "2026-11-28 (2026-11-28T14:30:00+00:00) {{ today }}"


def test_a_prompt_that_nobody_fills_in_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"target.system_prompt: `{{ date }}` would reach the model"):
        ModelAgent(ModelTarget(model="fake/model", system_prompt="On {{ date }}"))
