"""Agents of Strands."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.targets.adapters.sessions import SessionOptions
from pytest_convoprobe.targets.adapters.strands import open_session
from pytest_convoprobe.transcript import CallKind
from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

from ..contract import Contract, said, talking
from ..documented import run_documented
from ..shop import Shop, call, model, only_for

only_for("strands")

from opentelemetry import trace  # noqa: E402 - these packages are only there where Strands is tested
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from strands import Agent, ToolContext, tool  # noqa: E402
from strands.hooks import BeforeToolCallEvent, BeforeToolsEvent  # noqa: E402
from strands.models.openai import OpenAIModel  # noqa: E402
from strands.session.file_session_manager import FileSessionManager  # noqa: E402

_EXPORTER = InMemorySpanExporter()


def made(url: str, name: str, tools: list[Any], **more: Any) -> Agent:
    arguments = {"base_url": url, "api_key": "x", "max_retries": 0}
    return Agent(
        model=OpenAIModel(client_args=arguments, model_id="fake"),
        name=name,
        description=f"The {name}",
        system_prompt=f"You are {name}",
        tools=tools,
        callback_handler=None,
        retry_strategy=None,
        **more,
    )


def approve(event: BeforeToolCallEvent) -> None:
    if event.tool_use["name"] == "refund":
        answer = event.interrupt("approval", reason={"call": "refund"})
        if answer != "y":
            event.cancel_tool = f"not approved: {answer}"


class TestStrands(Contract):
    asks_expert: ClassVar[Mapping[str, str]] = {"tool": "expert", "parameter": "input"}
    lacks: ClassVar[Mapping[str, str]] = {
        "an_agent_that_hands_over": "a delegate answers one message, then the first agent goes on"
    }

    def agent(self, url: str, shop: Shop) -> object:
        return made(url, "helper", [tool(shop.lookup), tool(shop.weather), tool(shop.broken)])

    def nesting(self, url: str, shop: Shop) -> object:
        return made(url, "helper", [made(url, "expert", [tool(shop.lookup)])])

    def approving(self, url: str, shop: Shop, name: str = "helper") -> object:
        return made(url, name, [tool(shop.lookup), tool(shop.refund)], hooks=[approve])

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        if not isinstance(trace.get_tracer_provider(), TracerProvider):
            provider = TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
            trace.set_tracer_provider(provider)
        seen: list[str] = []
        yield seen
        seen += [span.attributes.get("gen_ai.tool.name", "") for span in _EXPORTER.get_finished_spans()]

    async def test_a_delegate_answers_the_user(self, server: ChatServer, shop: Shop) -> None:
        expert = made(server.base_url, "expert", [tool(shop.lookup)])
        agent = made(server.base_url, "helper", [expert.as_tool(name="expert", delegate=True)])
        (reply,) = await said(agent, call("expert", input=call("lookup", order="1")))
        handed, found = reply.tool_calls or ()
        assert (handed.name, handed.kind, handed.agent) == ("expert", CallKind.HANDOFF, "helper")
        assert (found.name, found.agent, found.parent) == ("lookup", "expert", handed.id)
        assert reply.text.startswith("expert")

    async def test_an_approval_inside_another_agent(self, server: ChatServer, shop: Shop) -> None:
        agent = made(server.base_url, "helper", [self.approving(server.base_url, shop, "expert")])
        async with talking(agent) as conversation:
            reply = await conversation.send(call("expert", input=call("refund", order="1")))
            (request,) = reply.pending
            assert (request.tool, reply.tool_calls, shop.done) == ("refund", (), [])
            rest = await conversation.resume((replace(request, answer="approve"),))
            outer, inner = rest.tool_calls
            assert (outer.name, inner.name, inner.parent) == ("expert", "refund", outer.id)
            assert inner.result == "paid back 1"

    async def test_a_question_is_answered_by_the_next_message(self, server: ChatServer, shop: Shop) -> None:
        @tool(context=True)
        def ask(question: str, tool_context: ToolContext) -> str:
            """Ask the user something."""
            return f"the user said {tool_context.interrupt('ask', reason=question)}"

        async with talking(made(server.base_url, "helper", [ask])) as conversation:
            (request,) = (await conversation.send(call("ask", question="Which one?"))).pending
            assert (request.kind, request.text, request.tool) == ("question", "Which one?", "ask")
            (found,) = (await conversation.send("the red one")).tool_calls
            assert found.result == "the user said the red one"

    async def test_the_model_of_an_agent_inside_another_one_is_away(
        self, server: ChatServer, shop: Shop
    ) -> None:
        server._script = iter([None, "429"])
        with pytest.raises(TargetUnavailable, match="the model of the agent `expert` did not answer"):
            await said(self.nesting(server.base_url, shop), call("expert", input="hello"))

    async def test_what_can_not_be_made_again_is_refused(self, server: ChatServer, tmp_path: Path) -> None:
        manager = FileSessionManager(session_id="s", storage_dir=str(tmp_path))
        agent = made(server.base_url, "helper", [], session_manager=manager)
        with pytest.raises(TargetStartError, match="has a session manager, which keeps one conversation"):
            await said(agent, "hello")
        # A function makes another one for each conversation.
        assert (await said(lambda: agent, "hello"))[0].text == "helper | hello"
        with pytest.raises(TargetStartError, match="gave the same one again"):
            await said(lambda: agent, "hello")

    async def test_agents_of_a_function_that_share_an_expert(self, server: ChatServer, shop: Shop) -> None:
        expert = made(server.base_url, "expert", [tool(shop.lookup)])
        message = call("expert", input=call("lookup", order="1"))

        async def one() -> list[str]:
            (reply,) = await said(lambda: made(server.base_url, "helper", [expert]), message)
            return [str(found.result) for found in reply.tool_calls or ()]

        server.latency = 0.05
        first, *others = await asyncio.gather(*(one() for _ in range(4)))
        assert others == [first] * 3
        assert first[1] == "1 is on its way"

    async def test_its_context(self, server: ChatServer, tmp_path: Path) -> None:
        @tool(context=True)
        def who(tool_context: ToolContext) -> str:
            """Say who the user is."""
            return str(tool_context.invocation_state["user"])

        options = SessionOptions("c", context={"user": "ada"})
        session = await open_session(made(server.base_url, "helper", [who]), options)
        assert [one.result for one in (await session.send(call("who"))).tool_calls or ()] == ["ada"]
        with pytest.raises(TargetStartError, match="`invocation_state`"):
            await open_session(made(server.base_url, "helper", []), SessionOptions("c", context="ada"))

    async def test_calls_that_a_hook_cancels_all_at_once(self, server: ChatServer, shop: Shop) -> None:
        def refuse(event: BeforeToolsEvent) -> None:
            event.cancel = "not today"

        agent = made(server.base_url, "helper", [tool(shop.lookup), tool(shop.weather)], hooks=[refuse])
        message = f"{call('lookup', order='1')} and {call('weather', city='Rome')}"
        (reply,) = await said(agent, message)
        assert [(one.executed, one.error) for one in reply.tool_calls or ()] == [(False, "not today")] * 2
        assert shop.done == []


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return model(body) if body.get("tools") else default_answer(body)

    with ChatServer(answer) as server:
        said = run_documented("strands", tmp_path, server.base_url)
    assert "1 passed" in said, said
