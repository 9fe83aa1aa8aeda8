from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tests.frameworks.contract import Contract
from tests.frameworks.documented import run_documented
from tests.frameworks.shop import Shop, only_for
from tests.support.chat_server import ChatServer

only_for("langgraph")

from langchain.agents import create_agent  # noqa: E402 - skipped above without the framework
from langchain.agents.middleware import HumanInTheLoopMiddleware  # noqa: E402
from langchain_core.callbacks import BaseCallbackHandler  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from langchain_core.tracers.context import register_configure_hook  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: E402
from langgraph.types import Command  # noqa: E402


def helper(url: str, *tools: Callable[..., object], name: str = "helper", **more: Any) -> Any:
    model = ChatOpenAI(model="fake", base_url=url, api_key="k", max_retries=0)
    return create_agent(model, list(tools), system_prompt=f"You are {name}.", name=name, **more)


class TestLangGraph(Contract):
    hand_off = "call transfer_to_expert {}"
    raises_tool_errors = True

    def agent(self, url: str, shop: Shop) -> object:
        return helper(url, shop.lookup, shop.weather, shop.broken)

    def nesting(self, url: str, shop: Shop) -> object:
        expert = helper(url, shop.lookup, name="expert")

        async def ask_expert(input: str) -> str:
            """Ask the expert."""
            state = await expert.ainvoke({"messages": [("user", input)]})
            return str(state["messages"][-1].content)

        return helper(url, ask_expert)

    def handing_over(self, url: str, shop: Shop) -> object:
        expert = helper(url, shop.lookup, name="expert")

        @tool
        def transfer_to_expert() -> Command[str]:
            """Hand over to the expert."""
            return Command(goto="expert", graph=Command.PARENT, update={"active": "expert"})

        class State(MessagesState):
            active: str

        graph = StateGraph(State)
        graph.add_node("helper", helper(url, transfer_to_expert))
        graph.add_node("expert", expert)
        nodes = ["helper", "expert"]
        graph.add_conditional_edges(START, lambda state: state.get("active") or "helper", nodes)
        graph.add_edge("expert", END)
        return graph.compile()

    def approving(self, url: str, shop: Shop) -> object:
        waits = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
        return helper(url, shop.lookup, shop.refund, middleware=[waits])

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        seen: list[str] = []

        class Tracer(BaseCallbackHandler):
            def on_tool_start(self, serialized: Any, input_str: str, **more: Any) -> None:
                seen.append(serialized["name"])

        variable: ContextVar[Any] = ContextVar("own_tracing", default=None)
        register_configure_hook(variable, inheritable=True)
        variable.set(Tracer())
        try:
            yield seen
        finally:
            variable.set(None)


def test_the_page_shows_what_runs(tmp_path: Path) -> None:
    with ChatServer() as server:
        said = run_documented("langgraph", tmp_path, server.base_url)
    assert "1 passed" in said, said
