from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import TargetCrashed, TargetStartError
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.settings.models import PythonTarget
from pytest_convoprobe.targets.adapters.pydanticai import tools_of
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import CallKind, Usage
from tests.frameworks.contract import Contract, said, talking
from tests.frameworks.documented import run_documented
from tests.frameworks.shop import Shop, call, only_for
from tests.support.chat_server import ChatServer, Completion

only_for("pydantic_ai")

from openai import AsyncOpenAI  # noqa: E402 - skipped above without the framework
from opentelemetry.sdk.trace import TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402
from pydantic import BaseModel  # noqa: E402
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests, ModelRetry, RunContext, Tool  # noqa: E402
from pydantic_ai.agent import WrapperAgent  # noqa: E402
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import FunctionModel  # noqa: E402
from pydantic_ai.models.instrumented import InstrumentationSettings  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402


@dataclass
class Deps:
    user: str


def helper(url: str, *tools: Any, name: str = "helper", **more: Any) -> Agent[Any, Any]:
    client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)
    model = OpenAIChatModel("fake", provider=OpenAIProvider(openai_client=client))
    return Agent(model, instructions=f"You are {name}.", name=name, tools=tools, **more)


class TestPydanticAI(Contract):
    takes_history = True
    raises_tool_errors = True
    shows_faults = True
    lacks = {  # noqa: RUF012 - as in the contract
        "an_agent_that_hands_over": "an agent hands over one answer, and not the conversation: see below"
    }

    def agent(self, url: str, shop: Shop) -> object:
        return helper(url, shop.lookup, shop.weather, shop.broken)

    def nesting(self, url: str, shop: Shop) -> object:
        expert = helper(url, shop.lookup, name="expert")

        async def ask_expert(input: str) -> str:
            """Ask the expert."""
            return str((await expert.run(input)).output)

        return helper(url, ask_expert)

    def approving(self, url: str, shop: Shop) -> object:
        refund = Tool(shop.refund, requires_approval=True)
        return helper(url, shop.lookup, refund, output_type=[str, DeferredToolRequests])

    @contextlib.contextmanager
    def own_tracing(self) -> Iterator[list[str]]:
        exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        seen: list[str] = []
        Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
        try:
            yield seen
        finally:
            Agent.instrument_all(False)
            names = (span.attributes.get("gen_ai.tool.name") for span in exporter.get_finished_spans())
            seen += [str(name) for name in names if name]


async def test_what_an_agent_thinks_is_no_part_of_its_words() -> None:
    with ChatServer([Completion("Hello!", reasoning="a greeting")], routine=False) as server:
        (reply,) = await said(helper(server.base_url), "hello")
    assert (reply.text, reply.thoughts) == ("Hello!", "a greeting")


async def test_structured_output_is_the_reply_and_not_a_call(server: ChatServer, shop: Shop) -> None:
    class Order(BaseModel):
        number: str

    agent = helper(server.base_url, shop.lookup, output_type=Order)
    (reply,) = await said(agent, call("final_result", number="7"))
    assert (reply.text, reply.tool_calls) == ('{"number": "7"}', ())


async def test_the_context_is_the_dependencies_of_the_agent(server: ChatServer) -> None:
    from pytest_convoprobe.targets.adapters.pydanticai import open_session
    from pytest_convoprobe.targets.adapters.sessions import SessionOptions

    def who(ctx: RunContext[Deps]) -> str:
        """Say who is there."""
        return ctx.deps.user

    agent = helper(server.base_url, who, deps_type=Deps)
    reply: Any = await (await open_session(agent, SessionOptions("c", Deps("Ada")))).send(call("who"))
    assert [one.result for one in reply.tool_calls] == ["Ada"]


async def test_dependencies_that_are_missing_are_no_fault_of_the_agent(server: ChatServer) -> None:
    with pytest.raises(TargetStartError, match=r"of type Deps, .*`target\.context`"):
        await said(helper(server.base_url, deps_type=Deps), "hello")


async def test_an_agent_that_a_test_gives_gets_the_projects_context(
    server: ChatServer, tmp_path: Path
) -> None:
    (tmp_path / "shop_context.py").write_text(
        "from types import SimpleNamespace as Deps\ndef make(): return Deps(user='Ada')\n"
    )
    project = PythonTarget(object="shop.py:agent", context="shop_context.py:make")
    agent = helper(server.base_url, deps_type=Deps)

    @agent.instructions
    def who(ctx: RunContext[Deps]) -> str:
        return f"You help {ctx.deps.user}."

    conversation = await as_target(agent, rootdir=tmp_path, like=project).start(
        ConversationContext("c", FakeLLM([]))
    )
    await conversation.send("hello")
    await conversation.aclose()
    assert "You help Ada." in server.requests[-1].prompt


@pytest.mark.parametrize("made", [False, True], ids=["itself", "made by a factory"])
async def test_a_wrapper_with_a_run_of_its_own_is_talked_with(server: ChatServer, made: bool) -> None:
    class Louder(WrapperAgent[Any, Any]):
        async def run(self, user_prompt: Any = None, **more: Any) -> Any:
            return await self.wrapped.run(f"{user_prompt}!", **more)

    agent = Louder(helper(server.base_url))
    _, second = await said((lambda: agent) if made else agent, "one", "two")
    assert second.text == "helper | one! | two!"


async def test_a_tool_that_wants_another_try_has_failed_once(server: ChatServer) -> None:
    tries: list[str] = []

    def lookup(order: str) -> str:
        """Look up an order."""
        tries.append(order)
        raise ModelRetry("there are no such numbers")

    (reply,) = await said(helper(server.base_url, lookup), call("lookup", order="1"))
    (found,) = reply.tool_calls or ()
    assert (found.error, found.executed, tries) == ("there are no such numbers", True, ["1"])


async def test_arguments_that_do_not_fit_call_nothing(server: ChatServer, shop: Shop) -> None:
    (reply,) = await said(helper(server.base_url, shop.lookup), call("lookup", order=[1]))
    (found,) = reply.tool_calls or ()
    assert "valid string" in (found.error or "")
    assert (found.executed, shop.done) == (False, [])


async def test_each_run_inside_of_a_tool_is_seen(server: ChatServer, shop: Shop) -> None:
    expert = helper(server.base_url, shop.lookup, name="expert")

    async def ask_twice(ctx: RunContext[None], input: str) -> str:
        """Ask the expert, who shares the usage, twice."""
        for number in ("1", "2"):
            await expert.run(call("lookup", order=number), usage=ctx.usage)
        return input

    (reply,) = await said(helper(server.base_url, ask_twice), call("ask_twice", input="x"))
    outer, *inner = reply.tool_calls or ()
    assert [one.arguments for one in inner] == [{"order": "1"}, {"order": "2"}]
    assert {one.parent for one in inner} == {outer.id}
    # Two requests of the helper, and four of the expert, each counted once.
    assert reply.usage == Usage(60, 30)


async def test_an_output_function_that_runs_another_agent_is_a_hand_over(
    server: ChatServer, shop: Shop
) -> None:
    expert = helper(server.base_url, shop.lookup, name="expert")

    async def hand_over(message: str) -> str:
        """Hand over to the expert."""
        return str((await expert.run(message)).output)

    agent = helper(server.base_url, output_type=[hand_over, str])
    message = call("final_result", message=call("lookup", order="2"))
    (reply,) = await said(agent, message)
    handed, found = reply.tool_calls or ()
    assert (handed.name, handed.kind, handed.agent) == ("hand_over", CallKind.HANDOFF, "helper")
    assert (found.name, found.agent, found.parent) == ("lookup", "expert", handed.id)
    assert reply.text.startswith("expert")


async def test_a_person_may_approve_other_arguments(server: ChatServer, shop: Shop) -> None:
    agent = TestPydanticAI().approving(server.base_url, shop)
    message = f"{call('refund', order='3')} and {call('lookup', order='3')}"
    async with talking(agent) as conversation:
        reply = await conversation.send(message)
        (request,) = reply.pending
        assert [one.name for one in reply.tool_calls] == ["lookup"]
        rest = await conversation.resume((replace(request, answer="approve", arguments={"order": "4"}),))
    assert [(one.name, one.arguments) for one in rest.tool_calls] == [("refund", {"order": "4"})]
    assert shop.done == ["lookup 3", "refund 4"]


async def test_a_question_of_a_tool_is_answered_by_the_user(server: ChatServer) -> None:
    def ask_user(question: str) -> str:
        """Ask the user."""
        raise CallDeferred(kind="question")

    agent = helper(server.base_url, ask_user, output_type=[str, DeferredToolRequests])
    async with talking(agent) as conversation:
        (request,) = (await conversation.send(call("ask_user", question="Which size?"))).pending
        assert (request.kind, request.text) == ("question", "Which size?")
        rest = await conversation.resume((replace(request, answer="XL"),))
    assert [(one.name, one.result) for one in rest.tool_calls] == [("ask_user", "XL")]


async def test_an_approval_that_the_agent_has_no_output_for_is_its_own_fault(
    server: ChatServer, shop: Shop
) -> None:
    agent = helper(server.base_url, Tool(shop.refund, requires_approval=True))
    with pytest.raises(TargetCrashed, match="DeferredToolRequests"):
        await said(agent, call("refund", order="3"))


async def test_the_tools_of_agents_inside_of_tools_are_known_too(shop: Shop) -> None:
    expert = helper("http://127.0.0.1:9/v1", shop.lookup, name="expert")

    async def ask_expert(input: str) -> str:
        """Ask the expert."""
        return str((await expert.run(input)).output)

    async def ask_somebody(ctx: RunContext[Any], input: str) -> str:
        """Ask whoever is among the dependencies."""
        return str((await ctx.deps.run(input)).output)

    def tools(function: Any) -> list[str] | None:
        found = tools_of(helper("http://127.0.0.1:9/v1", function))
        return None if found is None else [one.name for one in found]

    assert tools(ask_expert) == ["ask_expert", "lookup"]
    # An incomplete list would be worse than none.
    assert tools(ask_somebody) is None


async def test_calls_with_the_same_id_are_two() -> None:
    def answer(messages: list[Any], info: Any) -> ModelResponse:
        said = sum(one.kind == "response" for one in messages)
        again = ToolCallPart("lookup", {"order": str(said)}, tool_call_id="call_0")
        return ModelResponse([TextPart("done") if said == 2 else again])

    (reply,) = await said(Agent(FunctionModel(answer), tools=[Shop().lookup]), "hello")
    calls = reply.tool_calls or ()
    assert [one.result for one in calls] == ["0 is on its way", "1 is on its way"]
    assert len({one.id for one in calls}) == 2


def test_what_the_page_shows_works(tmp_path: Path) -> None:
    with ChatServer() as server:
        said = run_documented("pydantic_ai", tmp_path, server.base_url)
    assert "1 passed" in said, said
