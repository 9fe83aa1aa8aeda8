from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.transcript import CallKind, Usage
from tests.frameworks.contract import Contract, Faults, said, talking
from tests.frameworks.documented import run_documented
from tests.frameworks.shop import Shop, call, model, only_for
from tests.support.chat_server import ChatServer, Completion

only_for("openai_agents")

from agents import (  # noqa: E402 - skipped above without it
    Agent,
    FunctionTool,
    OpenAIChatCompletionsModel,
    RunContextWrapper,
    Runner,
    function_tool,
    handoff,
    set_tracing_disabled,
)
from agents.tracing import TracingProcessor, set_trace_processors  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402

from pytest_convoprobe.targets.adapters.openai_agents import open_session, tools_of  # noqa: E402
from pytest_convoprobe.targets.adapters.sessions import SessionOptions  # noqa: E402


def helper(url: str, *tools: Any, name: str = "helper", **more: Any) -> Any:
    answers = OpenAIChatCompletionsModel("fake", AsyncOpenAI(base_url=url, api_key="k", max_retries=0))
    return Agent(name, instructions=f"You are {name}.", model=answers, tools=list(tools), **more)


class Tracing(TracingProcessor):
    """A processor as a project may have it: it keeps the names of tools."""

    def __init__(self) -> None:
        self.tools: list[str] = []

    def on_span_end(self, span: Any) -> None:
        if span.span_data.type == "function":
            self.tools.append(span.span_data.name)

    def on_trace_start(self, trace: Any) -> None: ...

    def on_trace_end(self, trace: Any) -> None: ...

    def on_span_start(self, span: Any) -> None: ...

    def shutdown(self) -> None: ...

    def force_flush(self) -> None: ...


class TestOpenAIAgents(Contract):
    takes_history = True
    hand_off = "call transfer_to_expert {}"

    def agent(self, url: str, shop: Shop) -> object:
        return helper(url, *map(function_tool, (shop.lookup, shop.weather, shop.broken)))

    def nesting(self, url: str, shop: Shop) -> object:
        expert = helper(url, function_tool(shop.lookup), name="expert")
        return helper(url, expert.as_tool("ask_expert", "Ask the expert."))

    def handing_over(self, url: str, shop: Shop) -> object:
        return helper(url, handoffs=[helper(url, function_tool(shop.lookup), name="expert")])

    def approving(self, url: str, shop: Shop) -> object:
        return helper(url, function_tool(shop.lookup), function_tool(shop.refund, needs_approval=True))

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        tracing = Tracing()
        set_trace_processors([tracing])
        try:
            yield tracing.tools
        finally:
            set_trace_processors([])


def test_the_page_shows_what_runs(tmp_path: Path) -> None:
    with ChatServer() as server:
        said = run_documented("openai_agents", tmp_path, server.base_url)
    assert "1 passed" in said, said


async def test_a_call_inside_of_a_tool_waits_too(server: ChatServer, shop: Shop) -> None:
    expert = helper(server.base_url, function_tool(shop.refund, needs_approval=True), name="expert")
    agent = helper(server.base_url, expert.as_tool("ask_expert", "Ask the expert."))
    async with talking(agent) as conversation:
        reply = await conversation.send(call("ask_expert", input=call("refund", order="1")))
        (request,) = reply.pending
        assert (request.tool, request.arguments, reply.tool_calls) == ("refund", {"order": "1"}, ())
        rest = await conversation.resume((replace(request, answer="approve"),))
        outer, inner = rest.tool_calls
        assert (outer.name, outer.kind, inner.name) == ("ask_expert", CallKind.SUB_AGENT, "refund")
        assert (inner.parent, inner.result, rest.pending) == (outer.id, "paid back 1", ())
        assert (reply.usage + rest.usage, shop.done) == (Usage(40, 20), ["refund 1"])


async def test_several_calls_wait_at_once(server: ChatServer, shop: Shop) -> None:
    waiting = [function_tool(one, needs_approval=True) for one in (shop.refund, shop.lookup)]
    async with talking(helper(server.base_url, *waiting, function_tool(shop.weather))) as conversation:
        message = f"{call('refund', order='1')} {call('lookup', order='2')} {call('weather', city='Rome')}"
        reply = await conversation.send(message)
        first, second = reply.pending
        assert [one.name for one in reply.tool_calls] == ["weather"]
        rest = await conversation.resume(
            (replace(first, answer="reject", reason="too late"), replace(second, answer="approve"))
        )
        assert [(one.name, one.executed) for one in rest.tool_calls] == [("refund", False), ("lookup", True)]
        assert "too late" in rest.text


async def test_a_model_that_is_away_inside_of_a_tool(server: ChatServer, shop: Shop) -> None:
    server._script = iter([None, "500"])
    agent = TestOpenAIAgents().nesting(server.base_url, shop)
    with pytest.raises(TargetUnavailable, match="an agent inside of a tool"):
        await said(agent, call("ask_expert", input="hello"))


async def test_a_hand_over_by_another_name_back_and_forth(server: ChatServer, shop: Shop) -> None:
    expert = helper(server.base_url, function_tool(shop.lookup), name="expert")
    agent = helper(server.base_url, handoffs=[handoff(expert, tool_name_override="escalate")])
    expert.handoffs = [agent]
    first, second, third = await said(agent, "call escalate {}", "hello", "call transfer_to_helper {}")
    assert [(one.name, one.kind) for one in first.tool_calls or ()] == [("escalate", CallKind.HANDOFF)]
    assert second.text.startswith("expert")
    assert [(one.name, one.agent) for one in third.tool_calls or ()] == [("transfer_to_helper", "expert")]


async def test_a_structured_answer_and_no_tracing(server: ChatServer, shop: Shop) -> None:
    class Answer(BaseModel):
        city: str

    server._function = lambda body: (
        '{"city": "Rome"}' if body["messages"][-1]["role"] == "tool" else model(body)
    )
    agent = helper(server.base_url, function_tool(shop.lookup), output_type=Answer)
    set_tracing_disabled(True)
    try:
        (reply,) = await said(agent, call("lookup", order="1"))
    finally:
        set_tracing_disabled(False)
    assert json.loads(reply.text) == {"city": "Rome"}
    assert [one.name for one in reply.tool_calls or ()] == ["lookup"]


async def test_an_agent_that_a_function_runs(server: ChatServer, shop: Shop) -> None:
    expert = helper(server.base_url, function_tool(shop.lookup), name="expert")

    @function_tool
    async def consult(question: str) -> str:
        """Ask somebody."""
        return str((await Runner.run(expert, question)).final_output)

    agent = helper(server.base_url, consult)
    async with talking(agent, Faults()) as conversation:
        reply = await conversation.send(call("consult", question=call("lookup", order="1")))
    outer, inner = reply.tool_calls
    assert (outer.kind, inner.parent, inner.agent) == (CallKind.SUB_AGENT, outer.id, "expert")
    assert "injected" in (inner.error or "")
    assert {tool.name for tool in tools_of(agent) or ()} == {"consult", "lookup"}
    assert "on_invoke_tool" not in vars(FunctionTool)


async def test_its_context(server: ChatServer) -> None:
    @function_tool
    def who(context: RunContextWrapper[dict[str, str]]) -> str:
        """Say who it is."""
        return context.context["name"]

    session = await open_session(helper(server.base_url, who), SessionOptions("c", {"name": "Ann"}))
    (found,) = (await session.send("call who {}")).tool_calls or ()
    assert found.result == "Ann"


async def test_a_context_that_is_missing_is_no_fault_of_the_agent(server: ChatServer) -> None:
    answers = OpenAIChatCompletionsModel("fake", AsyncOpenAI(base_url=server.base_url, api_key="k"))
    with pytest.raises(TargetStartError, match=r"of type dict, .*`target\.context`"):
        await said(Agent[dict]("helper", model=answers), "hello")
    assert (await said(Agent[None]("helper", model=answers), "hello"))[0].text == "? | hello"


async def test_a_call_whose_arguments_do_not_fit_was_not_carried_out(shop: Shop) -> None:
    with ChatServer([Completion(None, (("lookup", {"wrong": 1}),)), "sorry"], routine=False) as server:
        (reply,) = await said(helper(server.base_url, function_tool(shop.lookup)), "hello")
    (found,) = reply.tool_calls or ()
    assert (found.arguments, found.executed, shop.done) == ({"wrong": 1}, False, [])
