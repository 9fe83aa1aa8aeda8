"""Agents of smolagents."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.targets.adapters.sessions import SessionOptions
from pytest_convoprobe.targets.adapters.smolagents import open_session
from tests.support.chat_server import ChatServer, Completion
from tests.support.default_answers import default_answer

from ..contract import Contract, said, talking
from ..documented import run_documented
from ..shop import Shop, call, model, only_for, text_of

only_for("smolagents")

from openinference.instrumentation.smolagents import SmolagentsInstrumentor  # noqa: E402
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from smolagents import CodeAgent, LogLevel, OpenAIModel, ToolCallingAgent, tool  # noqa: E402

_ROLES = {"New task:": "user", "Observation:": "tool", "Error:": "tool"}


def smol_model(body: dict[str, Any]) -> Completion:
    """The shop's model for smolagents' messages, where results are a user's, and answers are calls."""
    messages = [part for message in body["messages"] for part in _parts(message)]
    answer = model({**body, "messages": messages})
    if answer.tool_calls:
        return answer
    if not body.get("tools"):
        code = f"final_answer({answer.text!r})"
        return Completion(f"Thought: I know.\n<code>\n{code}\n</code>")
    return Completion(None, (("final_answer", {"answer": answer.text}),))


def _parts(message: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    if message["role"] != "user":
        yield {"role": message["role"], "content": text_of(message)}
        return
    for part in re.split(r"\n(?=New task:|Observation:|Error:)", text_of(message)):
        label, _, text = part.partition("\n")
        yield {"role": _ROLES.get(label, "user"), "content": text if label in _ROLES else part}


def tools_of(shop: Shop, *names: str) -> list[Any]:
    """smolagents reads the source of functions, so methods can't be its tools."""

    @tool
    def lookup(order: str) -> str:
        """Look up an order.

        Args:
            order: The number of the order.
        """
        return shop.lookup(order)

    @tool
    def weather(city: str) -> str:
        """Say how the weather is.

        Args:
            city: The city.
        """
        return shop.weather(city)

    @tool
    def broken(order: str) -> str:
        """Ask the warehouse, which fails.

        Args:
            order: The number of the order.
        """
        return shop.broken(order)

    tools = {"lookup": lookup, "weather": weather, "broken": broken}
    return [tools[name] for name in names]


def made(url: str, name: str, tools: list[Any], kind: Any = ToolCallingAgent, **more: Any) -> Any:
    model = OpenAIModel("fake", api_base=url, api_key="x", client_kwargs={"max_retries": 0}, retry=False)
    about = {"name": name, "description": f"The {name}", "verbosity_level": LogLevel.OFF}
    agent = kind(tools=tools, model=model, max_steps=3, **about, **more)
    agent.prompt_templates = {**agent.prompt_templates, "system_prompt": f"You are {name}"}
    return agent


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(smol_model, routine=False) as server:
        yield server


class TestSmolagents(Contract):
    asks_expert: ClassVar[Mapping[str, str]] = {"tool": "expert", "parameter": "task"}
    lacks: ClassVar[Mapping[str, str]] = {
        "an_agent_that_hands_over": "a managed agent works for the one that manages it",
        "a_call_that_a_person_approves": "smolagents has no approvals",
        "a_call_that_a_person_rejects": "smolagents has no approvals",
    }

    def agent(self, url: str, shop: Shop) -> object:
        return made(url, "helper", tools_of(shop, "lookup", "weather", "broken"))

    def nesting(self, url: str, shop: Shop) -> object:
        expert = made(url, "expert", tools_of(shop, "lookup"))
        return made(url, "helper", [], managed_agents=[expert])

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        SmolagentsInstrumentor().instrument(tracer_provider=provider, skip_dep_check=True)
        seen: list[str] = []
        try:
            yield seen
        finally:
            SmolagentsInstrumentor().uninstrument()
        seen += [str(span.attributes.get("tool.name")) for span in exporter.get_finished_spans()]

    async def test_an_agent_that_writes_code(self, server: ChatServer, shop: Shop) -> None:
        def answer(body: dict[str, Any]) -> Completion:
            messages = [part for message in body["messages"] for part in _parts(message)]
            if messages[-1]["role"] == "user":
                return Completion(
                    "Thought: two.\n<code>\nprint(lookup('1'))\nprint(weather(city='Rome'))\n</code>"
                )
            return smol_model(body)

        server._function = answer
        agent = made(server.base_url, "helper", tools_of(shop, "lookup", "weather"), CodeAgent)
        first, second = await said(agent, "hello", "again")
        for reply in (first, second):
            one, two = reply.tool_calls or ()
            assert (one.name, one.arguments, one.result) == ("lookup", {"order": "1"}, "1 is on its way")
            assert (two.name, two.arguments, two.result) == ("weather", {"city": "Rome"}, "sunny in Rome")
        assert first.text.startswith("helper | hello ->")
        assert second.text.startswith("helper | hello | again ->")
        assert "Thought: two." in first.thoughts

    async def test_a_tool_that_does_not_exist(self, server: ChatServer, shop: Shop) -> None:
        server._script = iter([Completion(None, (("nothing", {"a": 1}),))])
        (reply,) = await said(self.agent(server.base_url, shop), "hello")
        (found,) = reply.tool_calls or ()
        assert (found.name, found.arguments, found.executed) == ("nothing", {"a": 1}, False)
        assert "Unknown tool nothing" in (found.error or "")

    async def test_the_model_of_a_managed_agent_is_away(self, server: ChatServer, shop: Shop) -> None:
        server._script = iter([None, "429"])
        with pytest.raises(TargetUnavailable, match="the model of a managed agent did not answer"):
            await said(self.nesting(server.base_url, shop), call("expert", task="hello"))

    async def test_agents_of_a_function_that_share_an_expert(self, server: ChatServer, shop: Shop) -> None:
        expert = made(server.base_url, "expert", tools_of(shop, "lookup"))
        message = call("expert", task=call("lookup", order="1"))

        async def one() -> list[str]:
            make = lambda: made(server.base_url, "helper", [], managed_agents=[expert])  # noqa: E731
            (reply,) = await said(make, message)
            return [found.name for found in reply.tool_calls or ()]

        assert await asyncio.gather(*(one() for _ in range(4))) == [["expert", "lookup"]] * 4

    async def test_what_was_done_before_a_tool_that_hangs_is_kept(self, server: ChatServer) -> None:
        started, ends = threading.Event(), threading.Event()

        @tool
        def slow(order: str) -> str:
            """Wait for an order.

            Args:
                order: The number of the order.
            """
            started.set()
            ends.wait(60)
            return order

        agent = ToolCallingAgent([slow], OpenAIModel("fake", api_base=server.base_url, api_key="k"))
        async with talking(agent) as conversation:
            sending = asyncio.create_task(conversation.send(call("slow", order="1")))
            await asyncio.to_thread(started.wait, 60)
            sending.cancel()
            await asyncio.wait([sending])
            (found,) = conversation.calls_so_far()
            assert (found.name, found.arguments, found.result) == ("slow", {"order": "1"}, None)
            ends.set()

    async def test_its_context(self, server: ChatServer, shop: Shop) -> None:
        options = SessionOptions("c", context={"user": "ada"})
        session = await open_session(self.agent(server.base_url, shop), options)
        assert "'user': 'ada'" in session.send("hello").text
        with pytest.raises(TargetStartError, match="`additional_args`"):
            await open_session(self.agent(server.base_url, shop), SessionOptions("c", context="ada"))


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return smol_model(body) if body.get("tools") else default_answer(body)

    with ChatServer(answer) as server:
        said = run_documented("smolagents", tmp_path, server.base_url)
    assert "1 passed" in said, said
