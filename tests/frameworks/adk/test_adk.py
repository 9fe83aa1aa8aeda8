from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.targets.adapters.sessions import SessionOptions
from pytest_convoprobe.transcript import CallKind
from tests.frameworks.contract import Contract, names, said, talking
from tests.frameworks.documented import run_documented
from tests.frameworks.shop import Shop, call, only_for
from tests.support.chat_server import ChatServer, Completion

only_for("adk")

from google.adk.agents import LlmAgent, SequentialAgent  # noqa: E402 - skipped above without the framework
from google.adk.apps.app import App  # noqa: E402
from google.adk.models.base_llm import BaseLlm  # noqa: E402
from google.adk.models.lite_llm import LiteLlm  # noqa: E402
from google.adk.models.llm_response import LlmResponse  # noqa: E402
from google.adk.plugins.base_plugin import BasePlugin  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.adk.tools import AgentTool, FunctionTool, LongRunningFunctionTool, ToolContext  # noqa: E402
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams  # noqa: E402
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset  # noqa: E402
from google.genai import types  # noqa: E402
from mcp import StdioServerParameters  # noqa: E402
from opentelemetry import trace  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

MCP_SERVER = Path(__file__).parents[2] / "support" / "mcp_shop.py"

# A process has one provider, and ADK keeps the tracer that it gets from it.
EXPORTER = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(EXPORTER))
trace.set_tracer_provider(PROVIDER)


def helper(url: str, *tools: Any, name: str = "helper", **more: Any) -> LlmAgent:
    model = LiteLlm(model="openai/fake", api_base=url, api_key="k", num_retries=0, max_retries=0)
    return LlmAgent(name=name, model=model, instruction=f"You are {name}.", tools=list(tools), **more)


class TestADK(Contract):
    hand_off = call("transfer_to_agent", agent_name="expert")
    asks_expert = {"tool": "expert", "parameter": "request"}  # noqa: RUF012 - as in the contract
    raises_tool_errors = True
    shows_faults = True

    def agent(self, url: str, shop: Shop) -> object:
        return helper(url, shop.lookup, shop.weather, shop.broken)

    def nesting(self, url: str, shop: Shop) -> object:
        return helper(url, AgentTool(helper(url, shop.lookup, name="expert")))

    def handing_over(self, url: str, shop: Shop) -> object:
        return helper(url, sub_agents=[helper(url, shop.lookup, name="expert")])

    def approving(self, url: str, shop: Shop) -> object:
        return helper(url, shop.lookup, FunctionTool(shop.refund, require_confirmation=True))

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        EXPORTER.clear()
        seen: list[str] = []
        yield seen
        spans = EXPORTER.get_finished_spans()
        seen += [str(span.attributes.get("gen_ai.tool.name")) for span in spans]


async def test_what_an_agent_thinks_is_no_part_of_its_words() -> None:
    with ChatServer([Completion("Hello!", reasoning="a greeting")], routine=False) as server:
        (reply,) = await said(helper(server.base_url), "hello")
    assert (reply.text, reply.thoughts) == ("Hello!", "a greeting")


@pytest.mark.parametrize("make", [lambda agent: App(name="shop", root_agent=agent), InMemoryRunner])
async def test_an_app_and_a_runner_are_talked_with_too(server: ChatServer, shop: Shop, make: Any) -> None:
    agent = make(helper(server.base_url, shop.lookup))
    first, second = await said(agent, call("lookup", order="1"), "thanks")
    assert (names(first), second.text) == (["lookup"], f"helper | {call('lookup', order='1')} | thanks")
    # A second conversation begins anew, also where the runner keeps its sessions.
    assert (await said(agent, "hello"))[0].text == "helper | hello"


async def test_the_plug_ins_of_an_app_go_on(server: ChatServer, shop: Shop) -> None:
    seen: list[str] = []

    class Own(BasePlugin):
        async def before_tool_callback(self, *, tool: Any, **more: Any) -> None:
            seen.append(tool.name)

    agent = helper(server.base_url, shop.lookup)
    app = App(name="shop", root_agent=agent, plugins=[Own("own")])
    await said(app, call("lookup", order="1"))
    assert seen == ["lookup"]
    assert [plugin.name for plugin in app.plugins] == ["own"]


async def test_the_context_is_a_user_and_a_state(server: ChatServer) -> None:
    from pytest_convoprobe.targets.adapters.adk import open_session

    def who(tool_context: ToolContext) -> str:
        """Say who is there."""
        return f"{tool_context.user_id}, {tool_context.state['level']}"

    context = {"user_id": "ada", "state": {"level": "gold"}}
    session = await open_session(helper(server.base_url, who), SessionOptions("c", context))
    reply: Any = await session.send(call("who"))
    assert [one.result for one in reply.tool_calls] == ["ada, gold"]
    with pytest.raises(TargetStartError, match="user_id, state, run_config"):
        await open_session(helper(server.base_url), SessionOptions("c", {"user": "ada"}))


async def test_a_sub_agent_for_one_question_is_inside_of_its_call(server: ChatServer, shop: Shop) -> None:
    expert = helper(server.base_url, shop.lookup, name="expert", mode="single_turn")
    message = call("expert", request=call("lookup", order="9"))
    (reply,) = await said(helper(server.base_url, sub_agents=[expert]), message)
    outer, inner = reply.tool_calls or ()
    assert (outer.name, outer.kind, outer.agent) == ("expert", CallKind.SUB_AGENT, "helper")
    assert (inner.name, inner.parent, inner.agent) == ("lookup", outer.id, "expert")
    # What the expert said is the result of the call, and no words for the user.
    assert reply.text.startswith("helper")
    assert "expert |" in str(outer.result)


async def test_all_agents_of_a_workflow_speak(server: ChatServer, shop: Shop) -> None:
    steps = [helper(server.base_url, name="one"), helper(server.base_url, shop.lookup, name="two")]
    (reply,) = await said(SequentialAgent(name="steps", sub_agents=steps), call("lookup", order="1"))
    first, second = reply.text.split("\n\n")
    assert (first.split(" |")[0], second.split(" |")[0]) == ("one", "two")
    assert [(one.name, one.agent) for one in reply.tool_calls or ()] == [("lookup", "two")]


async def test_a_long_running_tool_waits_for_an_answer(server: ChatServer) -> None:
    def ask_manager(question: str) -> None:
        """Ask the manager, who answers some day."""

    agent = helper(server.base_url, LongRunningFunctionTool(ask_manager))
    async with talking(agent) as conversation:
        reply = await conversation.send(call("ask_manager", question="How much?"))
        (request,) = reply.pending
        assert (request.kind, request.tool, request.text) == ("question", "ask_manager", "How much?")
        assert reply.tool_calls == ()
        rest = await conversation.resume((replace(request, answer="half of it"),))
        assert [(one.name, one.result) for one in rest.tool_calls] == [("ask_manager", "half of it")]
        assert (rest.pending, rest.text.startswith("helper")) == ((), True)


async def test_a_tool_that_is_not_there_was_not_called() -> None:
    answers = [Completion(None, (("ghost", {}),)), "sorry"]
    with ChatServer(answers, routine=False) as server:
        (reply,) = await said(helper(server.base_url, Shop().lookup), "hello")
    (found,) = reply.tool_calls or ()
    assert (found.name, found.executed) == ("ghost", False)
    assert "no tool with that name" in (found.error or "")


async def test_servers_of_a_toolset_end_with_the_last_conversation(server: ChatServer) -> None:
    stdio = StdioServerParameters(command=sys.executable, args=[str(MCP_SERVER)])
    connection = StdioConnectionParams(server_params=stdio, timeout=60)
    agent = helper(server.base_url, McpToolset(connection_params=connection))

    async def counted(conversation: Any) -> None:
        (found,) = (await conversation.send(call("count_orders"))).tool_calls
        assert (found.name, found.result["isError"]) == ("count_orders", False)

    async with talking(agent) as first:
        async with talking(agent) as second:
            await counted(first)
            await counted(second)
        await counted(first)
        assert len(servers_running()) >= 1
    assert servers_running() == []
    async with talking(agent) as third:
        await counted(third)
    assert servers_running() == []


def servers_running() -> list[psutil.Process]:
    children = psutil.Process().children(recursive=True)
    return [one for one in children if str(MCP_SERVER) in one.cmdline()]


async def test_calls_with_the_same_id_are_two() -> None:
    class Numbering(BaseLlm):
        async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
            said = sum(one.role == "model" for one in request.contents)
            asked = types.FunctionCall(id="call_0", name="lookup", args={"order": str(said)})
            part = types.Part(text="done") if said == 2 else types.Part(function_call=asked)
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    agent = LlmAgent(name="helper", model=Numbering(model="m"), tools=[Shop().lookup])
    (reply,) = await said(agent, "hello")
    calls = reply.tool_calls or ()
    assert [one.result for one in calls] == ["0 is on its way", "1 is on its way"]
    assert len({one.id for one in calls}) == 2


async def test_an_error_in_place_of_an_answer_is_told_apart() -> None:
    class Failing(BaseLlm):
        async def generate_content_async(self, request: Any, stream: bool = False) -> Any:
            yield LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="later")

    with pytest.raises(TargetUnavailable, match="RESOURCE_EXHAUSTED: later"):
        await said(LlmAgent(name="helper", model=Failing(model="m")), "hello")


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    with ChatServer() as server:
        said = run_documented("adk", tmp_path, server.base_url)
    assert "1 passed" in said, said
