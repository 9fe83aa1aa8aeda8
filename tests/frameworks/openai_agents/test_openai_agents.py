from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.frameworks.contract import Contract
from tests.frameworks.documented import run_documented
from tests.frameworks.shop import Shop, only_for
from tests.support.chat_server import ChatServer

only_for("openai_agents")

from agents import Agent, OpenAIChatCompletionsModel, function_tool  # noqa: E402 - skipped above without it
from agents.tracing import TracingProcessor, set_trace_processors  # noqa: E402
from openai import AsyncOpenAI  # noqa: E402


def helper(url: str, *tools: Any, name: str = "helper", **more: Any) -> Any:
    model = OpenAIChatCompletionsModel("fake", AsyncOpenAI(base_url=url, api_key="k", max_retries=0))
    return Agent(name, instructions=f"You are {name}.", model=model, tools=list(tools), **more)


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
