from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from pytest_convoprobe.errors import TargetCrashed, TargetStartError, TargetUnavailable
from pytest_convoprobe.transcript import Usage
from tests.frameworks.contract import Contract, Faults, said, talking
from tests.frameworks.documented import run_documented
from tests.frameworks.shop import Shop, call, only_for
from tests.support.chat_server import ChatServer, Completion

only_for("langgraph")

from langchain.agents import create_agent  # noqa: E402 - skipped above without the framework
from langchain.agents.middleware import HumanInTheLoopMiddleware  # noqa: E402
from langchain.agents.structured_output import ToolStrategy  # noqa: E402
from langchain.tools import ToolRuntime  # noqa: E402
from langchain_core.callbacks import BaseCallbackHandler  # noqa: E402
from langchain_core.messages import AIMessage  # noqa: E402
from langchain_core.runnables import RunnableConfig  # noqa: E402
from langchain_core.tools import BaseTool, tool  # noqa: E402
from langchain_core.tracers.context import register_configure_hook  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: E402
from langgraph.types import Command, interrupt  # noqa: E402

from pytest_convoprobe.targets.adapters.langgraph import open_session  # noqa: E402
from pytest_convoprobe.targets.adapters.sessions import SessionOptions  # noqa: E402


def helper(url: str, *tools: Callable[..., object], name: str = "helper", **more: Any) -> Any:
    model = ChatOpenAI(model="fake", base_url=url, api_key="k", max_retries=0)
    return create_agent(model, list(tools), system_prompt=f"You are {name}.", name=name, **more)


class TestLangGraph(Contract):
    takes_history = True
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


async def test_a_question_in_a_tool_is_answered_by_the_next_message(server: ChatServer, shop: Shop) -> None:
    def order_size(kind: str) -> str:
        """Ask for a size."""
        return f"size {interrupt({'question': f'Which size of {kind}?', 'options': ['S', 'L']})}"

    async with talking(helper(server.base_url, order_size)) as conversation:
        reply = await conversation.send(call("order_size", kind="shirt"))
        (asked,) = reply.pending
        assert (asked.kind, asked.text, asked.choices) == ("question", "Which size of shirt?", ("S", "L"))
        assert (asked.tool, asked.arguments) == ("order_size", {"kind": "shirt"})
        assert reply.tool_calls == ()
        following = await conversation.send("L")
        (found,) = following.tool_calls
        assert (found.result, following.pending) == ("size L", ())


async def test_a_question_of_a_node_gets_data(server: ChatServer) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        answer = interrupt("May I?")
        return {"messages": [AIMessage(f"allowed: {answer['ok']}")]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile()
    async with talking(graph) as conversation:
        (asked,) = (await conversation.send("hello")).pending
        rest = await conversation.resume((replace(asked, answer='{"ok": true}'),))
        assert (rest.text, rest.tool_calls, rest.usage) == ("allowed: True", (), Usage())


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_each_of_several_calls_has_its_answer(server: ChatServer, shop: Shop, mode: Any) -> None:
    waits = HumanInTheLoopMiddleware(interrupt_on={"refund": True, "lookup": True}, interrupt_mode=mode)
    agent = helper(server.base_url, shop.lookup, shop.refund, shop.weather, middleware=[waits])
    message = f"{call('refund', order='1')} {call('lookup', order='2')} {call('weather', city='Rome')}"
    async with talking(agent) as conversation:
        first, second = sorted((await conversation.send(message)).pending, key=lambda one: one.tool)
        assert (first.tool, second.tool) == ("lookup", "refund")
        changed = replace(first, answer="approve", arguments={"order": "5"})
        rest = await conversation.resume((replace(second, answer="reject", reason="too late"), changed))
    calls = {one.name: one for one in rest.tool_calls}
    # In the mode `per_call`, the weather was asked for at once.
    assert {name: one.executed for name, one in calls.items() if name != "weather"} == {
        "refund": False,
        "lookup": True,
    }
    assert (calls["lookup"].arguments, calls["lookup"].result) == ({"order": "5"}, "5 is on its way")
    assert "too late" in (calls["refund"].error or "")
    assert sorted(shop.done) == ["lookup 5", "weather Rome"]


async def test_calls_that_nobody_carries_out(server: ChatServer, shop: Shop) -> None:
    server._function = lambda body: (
        Completion(None, (("lookup", {"order": "1"}), ("nothing", {}), ("lookup", "{torn")))
        if body["messages"][-1]["role"] == "user"
        else "done"
    )
    (reply,) = await said(helper(server.base_url, shop.lookup), "hello")
    assert [(one.name, one.executed) for one in reply.tool_calls or ()][:2] == [
        ("lookup", True),
        ("nothing", False),
    ]


async def test_answers_that_are_no_words(server: ChatServer, shop: Shop) -> None:
    class Answer(BaseModel):
        city: str

    server._function = lambda body: Completion(None, (("Answer", {"city": "Rome"}),))
    agent = helper(server.base_url, shop.lookup, response_format=ToolStrategy(Answer))
    (reply,) = await said(agent, "hello")
    assert (reply.text, reply.tool_calls) == ('{"city": "Rome"}', ())


async def test_a_tool_may_have_the_last_word(server: ChatServer, shop: Shop) -> None:
    agent = helper(server.base_url, tool(return_direct=True)(shop.lookup))
    (reply,) = await said(agent, call("lookup", order="1"))
    assert (reply.text, reply.usage) == ("1 is on its way", Usage(10, 5))


async def test_a_checkpointer_for_synchronous_code(server: ChatServer, shop: Shop) -> None:
    class OnlySynchronous(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise NotImplementedError

    agent = helper(server.base_url, shop.lookup, checkpointer=OnlySynchronous())
    _, second = await said(agent, "one", call("lookup", order="1"))
    assert second.text == 'helper | one | call lookup {"order": "1"} -> 1 is on its way'
    assert [one.name for one in second.tool_calls or ()] == ["lookup"]


async def test_a_state_without_messages_is_no_conversation() -> None:
    class State(TypedDict):
        question: str

    graph = StateGraph(State).add_node("one", lambda state: state).add_edge(START, "one").compile()
    with pytest.raises(TargetStartError, match="state has no `messages`"):
        await said(graph, "hello")


async def test_a_model_that_is_away_inside_of_a_tool(server: ChatServer, shop: Shop) -> None:
    nested: Any = TestLangGraph().nesting(server.base_url, shop)
    nested.nodes["tools"].bound._handle_tool_errors = True  # what many agents do: the model reads the error
    server._script = iter([None, "500"])
    with pytest.raises(TargetUnavailable):
        await said(nested, call("ask_expert", input="hello"))


async def test_context_and_faults_reach_the_agents_inside(server: ChatServer, shop: Shop) -> None:
    nested = TestLangGraph().nesting(server.base_url, shop)
    async with talking(nested, Faults()) as conversation:
        with pytest.raises(TargetCrashed, match="injected"):
            await conversation.send(call("ask_expert", input=call("lookup", order="1")))
        assert [(one.name, one.error is None) for one in conversation.calls_so_far()] == [
            ("ask_expert", False),
            ("lookup", False),
        ]
    assert (shop.done, BaseTool.run.__module__) == ([], "langchain_core.tools.base")
    assert not hasattr(BaseTool.run, "__wrapped__")


@pytest.mark.parametrize("older", [False, True])
async def test_its_context(server: ChatServer, older: bool) -> None:
    @tool
    def who(runtime: ToolRuntime, config: RunnableConfig) -> str:
        """Say who it is."""
        return str(config["configurable"]["name"] if older else runtime.context["name"])

    context: Any = {"configurable": {"name": "Ann"}} if older else {"name": "Ann"}
    agent = helper(server.base_url, who, context_schema=dict)
    session = await open_session(agent, SessionOptions("c", context))
    (found,) = (await session.send("call who {}")).tool_calls or ()
    assert (found.result, found.arguments) == ("Ann", {})


async def test_a_graph_that_was_compiled_to_stop_before_its_tools(server: ChatServer, shop: Shop) -> None:
    agent = helper(server.base_url, shop.lookup, shop.refund, interrupt_before=["tools"])
    async with talking(agent) as conversation:
        message = f"{call('lookup', order='1')} {call('refund', order='2')}"
        reply = await conversation.send(message)
        first, second = reply.pending
        assert ((first.tool, second.tool), reply.tool_calls) == (("lookup", "refund"), ())
        rest = await conversation.resume(
            (replace(first, answer="approve"), replace(second, answer="reject", reason="too late"))
        )
        assert {one.name: one.executed for one in rest.tool_calls} == {"lookup": True, "refund": False}
        assert ("too late" in rest.text, rest.pending, shop.done) == (True, (), ["lookup 1"])


@pytest.mark.parametrize("as_mapping", [False, True])
@pytest.mark.parametrize("shown", [False, True])
async def test_a_graph_without_a_reducer_gets_all_that_was_said(as_mapping: bool, shown: bool) -> None:
    class State(TypedDict):
        messages: list[Any]
        answer: str

    class Output(TypedDict):
        answer: str

    def node(state: State) -> dict[str, Any]:
        words = f"heard {len(state['messages'])}"
        said = {"role": "assistant", "content": words} if as_mapping else AIMessage(words)
        return {"messages": [*state["messages"], said], "answer": words}

    graph = StateGraph(State, output_schema=State if shown else Output)
    compiled = graph.add_node("one", node).add_edge(START, "one").compile()
    for _ in range(2):  # the second conversation knows nothing of the first one
        words = [reply.text for reply in await said(compiled, "a", "b", "c")]
        assert words == ["heard 1", "heard 3", "heard 5"] or not shown
        assert all(f"heard {number}" in text for number, text in zip((1, 3, 5), words, strict=True))


class _Needy(BaseModel):
    messages: list[Any]
    user: str


class _Question(TypedDict):
    question: str


@pytest.mark.parametrize(
    ("state", "given", "words"),
    [
        (_Needy, _Needy, "input needs more than `messages`"),
        (MessagesState, _Question, "input has no `messages`"),
    ],
)
async def test_a_graph_that_needs_more_than_words(state: Any, given: Any, words: str) -> None:
    graph = StateGraph(state, input_schema=given).add_node("one", lambda state: {}).add_edge(START, "one")
    with pytest.raises(TargetStartError, match=words):
        await said(graph.compile(), "hello")
