"""What every framework's adapter does, with the real framework against a model on loopback.

The test module of a framework begins with `only_for(NAME)`, imports the framework, and has one class that is
derived from `Contract` and says how agents are built (the methods that raise `NotImplementedError` here, and
the attributes). `lacks` names the cases that the framework has nothing for, with the reason. To run one::

    .ci/frameworks langgraph                      # in an environment of its own, with the pinned versions
    CONVOPROBE_FRAMEWORK=langgraph pytest -W default tests/frameworks/langgraph   # in an environment at hand
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_convoprobe import Outcome, run_scenario
from pytest_convoprobe.errors import TargetCrashed, TargetStartError, TargetUnavailable
from pytest_convoprobe.faults.plan import FaultPlan
from pytest_convoprobe.faults.rules import FaultRule
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.port import ConversationContext, ToolFaults, description_of
from pytest_convoprobe.transcript import CallKind, Reply, SaidBefore, ToolCall, Transcript, Turn, Usage
from tests.support.chat_server import ChatServer

from .shop import Shop, call

BEFORE = (
    SaidBefore("Where is Zebra-7?"),
    SaidBefore(
        "It left yesterday.",
        by_agent=True,
        tool_calls=(ToolCall("lookup", {"order": "Z"}, "Zebra-7 is in the depot", id="earlier_1"),),
    ),
)
_NUMBERS = itertools.count(1)


@dataclass
class Faults:
    """Lets `lookup` fail, gives `weather` another result, and lets all other tools be."""

    seen: list[tuple[str, str]] = field(default_factory=list)

    def asked(self, calls: Iterable[tuple[str, str]]) -> None:
        """They are numbered as they begin."""

    async def around(self, tool: str, call: Callable[[], Awaitable[Any]], *, call_id: str = "") -> Any:
        return self._other(tool, call_id) or await call()

    def around_sync(self, tool: str, call: Callable[[], Any], *, call_id: str = "") -> Any:
        return self._other(tool, call_id) or call()

    def _other(self, tool: str, call_id: str) -> str | None:
        self.seen.append((tool, call_id))
        if tool == "lookup":
            raise RuntimeError("the lookup is down (injected)")
        return "a storm (injected)" if tool == "weather" else None


@contextlib.asynccontextmanager
async def talking(agent: object, faults: ToolFaults | None = None) -> AsyncIterator[Any]:
    """A conversation with the agent, as a run starts it."""
    target = as_target(agent)
    name = f"c{next(_NUMBERS)}"
    conversation = await target.start(ConversationContext(name, FakeLLM([]), faults=faults))
    try:
        yield conversation
    finally:
        await conversation.aclose()
        await target.aclose()


async def said(agent: object, *messages: str) -> list[Reply]:
    """The replies of one conversation."""
    async with talking(agent) as conversation:
        return [await conversation.send(message) for message in messages]


def names(reply: Reply) -> list[str]:
    return [call.name for call in reply.tool_calls or ()]


class Contract:
    """The cases. An agent is called `helper`, with the instructions "You are helper"; the other is "expert".

    `url` is the model's base URL; clients must not retry (`max_retries=0`). The tools are the shop's methods,
    under their own names.
    """

    hand_off: ClassVar[str] = ""
    """What makes the model of `handing_over` hand over to "expert": `call transfer_to_expert {}`."""
    asks_expert: ClassVar[Mapping[str, str]] = {"tool": "ask_expert", "parameter": "input"}
    """The tool by which the helper of `nesting` asks its expert, and the parameter for the question."""
    raises_tool_errors: ClassVar[bool] = False
    """Whether an exception out of a tool ends the agent's run."""
    shows_faults: ClassVar[bool] = False
    """Whether the model is shown an injected error, also where an exception out of a tool ends the run."""
    takes_history: ClassVar[bool] = False
    """Whether a conversation can begin with what was said before."""
    lacks: ClassVar[Mapping[str, str]] = {}
    """The cases that are skipped, by the names of the tests without `test_`, and why."""

    def agent(self, url: str, shop: Shop) -> object:
        """The helper, with the tools `lookup`, `weather` and `broken`."""
        raise NotImplementedError

    def nesting(self, url: str, shop: Shop) -> object:
        """A helper with a tool (see `asks_expert`) that asks the agent "expert", which has `lookup`."""
        raise NotImplementedError

    def handing_over(self, url: str, shop: Shop) -> object:
        """A helper that can hand over to the agent "expert" (see `hand_off`), which has `lookup`."""
        raise NotImplementedError

    def approving(self, url: str, shop: Shop) -> object:
        """A helper with `lookup` and `refund`, whose calls of `refund` wait for a person."""
        raise NotImplementedError

    def own_tracing(self) -> AbstractContextManager[list[str]]:
        """Registers tracing as a project does; the list gets the names of the tools that it was shown."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _only_what_it_has(self, request: pytest.FixtureRequest) -> None:
        reason = self.lacks.get(request.function.__name__.removeprefix("test_"))
        if reason is not None:
            pytest.skip(reason)

    async def test_what_was_said_before_comes_first_and_once(self, server: ChatServer, shop: Shop) -> None:
        target = as_target(self.agent(server.base_url, shop))
        context = ConversationContext(f"c{next(_NUMBERS)}", FakeLLM([]), history=BEFORE)
        if not self.takes_history:
            refused = r"`history`: .* can't begin with what was said before"
            with pytest.raises(TargetStartError, match=refused):
                await target.start(context)
            return
        conversation = await target.start(context)
        first = await conversation.send(call("lookup", order="A-2"))
        second = await conversation.send("thanks")
        await conversation.aclose()
        await target.aclose()
        # The call from before is no call of this conversation.
        assert (names(first), names(second)) == (["lookup"], [])
        assert shop.done == ["lookup A-2"]
        for request in server.requests:
            # The model repeats what it has heard, so whole texts are counted.
            told = [text.strip() for text in request.contents]
            before = [told.count(text) for text in ("Where is Zebra-7?", "Zebra-7 is in the depot")]
            assert before == [1, 1]
            assert told.index("Where is Zebra-7?") < told.index("It left yesterday.")

    async def test_sixteen_conversations_at_once_do_not_mix(self, server: ChatServer, shop: Shop) -> None:
        server.latency = 0.02
        agent = self.agent(server.base_url, shop)

        async def one(user: int) -> list[Reply]:
            words = [f"user {user}, turn {turn}" for turn in range(3)]
            return await said(agent, *(f"{one}: {call('lookup', order=one)}" for one in words))

        for user, replies in enumerate(await asyncio.gather(*map(one, range(16)))):
            for turn, reply in enumerate(replies):
                # All that the model has heard: this user's messages up to now, and no other's.
                heard = re.findall(r"user (\d+), turn (\d+): call", reply.text)
                assert heard == [(str(user), str(number)) for number in range(turn + 1)]
                order = f"user {user}, turn {turn}"
                (found,) = reply.tool_calls or ()
                assert (found.name, found.arguments) == ("lookup", {"order": order})
                assert (found.result, found.error, found.executed) == (f"{order} is on its way", None, True)
                assert (found.agent, found.kind, found.parent) == ("helper", CallKind.TOOL, "")
                assert reply.usage == Usage(20, 10)

    async def test_a_message_without_a_call(self, server: ChatServer, shop: Shop) -> None:
        (reply,) = await said(self.agent(server.base_url, shop), "hello")
        assert reply == Reply("helper | hello", (), Usage(10, 5))

    async def test_a_check_of_the_projects_own_sees_the_agent(self, server: ChatServer, shop: Shop) -> None:
        agent = self.agent(server.base_url, shop)
        async with talking(agent) as conversation:
            await conversation.send("Hello")
            assert await conversation.with_agent(type) is type(agent)

    async def test_calls_asked_for_together(self, server: ChatServer, shop: Shop) -> None:
        message = f"{call('lookup', order='1')} and {call('weather', city='Rome')}"
        (reply,) = await said(self.agent(server.base_url, shop), message)
        first, second = reply.tool_calls or ()
        assert (first.name, first.result) == ("lookup", "1 is on its way")
        assert (second.name, second.result) == ("weather", "sunny in Rome")
        assert first.group == second.group != ""
        assert "" != first.id != second.id != ""

    async def test_a_tool_that_fails(self, server: ChatServer, shop: Shop) -> None:
        async with talking(self.agent(server.base_url, shop)) as conversation:
            calls = await self._calls_of(conversation, call("broken", order="1"), self.raises_tool_errors)
        (found,) = calls
        assert "the warehouse is closed" in (found.error or "")
        assert (found.name, found.arguments, found.executed) == ("broken", {"order": "1"}, True)

    async def _calls_of(self, conversation: Any, message: str, crashes: bool) -> tuple[ToolCall, ...]:
        """The calls of a message whose tool fails, in the reply or known in spite of the crash."""
        if not crashes:
            reply: Reply = await conversation.send(message)
            return reply.tool_calls or ()
        with pytest.raises(TargetCrashed):
            await conversation.send(message)
        calls: tuple[ToolCall, ...] = conversation.calls_so_far()
        return calls

    async def test_an_agent_inside_another_one(self, server: ChatServer, shop: Shop) -> None:
        tool, parameter = self.asks_expert["tool"], self.asks_expert["parameter"]
        message = call(tool, **{parameter: call("lookup", order="9")})
        (reply,) = await said(self.nesting(server.base_url, shop), message)
        outer, inner = reply.tool_calls or ()
        assert (outer.name, outer.agent, outer.kind) == (tool, "helper", CallKind.SUB_AGENT)
        assert outer.parent == ""
        assert "9 is on its way" in str(outer.result)
        assert (inner.name, inner.agent, inner.kind) == ("lookup", "expert", CallKind.TOOL)
        assert inner.parent == outer.id != ""
        assert inner.result == "9 is on its way"
        assert reply.usage == Usage(40, 20)

    async def test_an_agent_that_hands_over(self, server: ChatServer, shop: Shop) -> None:
        agent = self.handing_over(server.base_url, shop)
        first, second = await said(agent, self.hand_off, call("lookup", order="2"))
        (handed,) = first.tool_calls or ()
        assert (handed.agent, handed.kind, handed.executed) == ("helper", CallKind.HANDOFF, True)
        assert first.text.startswith("expert")
        # The expert goes on: it is the one that has the tool.
        (found,) = second.tool_calls or ()
        assert (found.name, found.agent, found.result) == ("lookup", "expert", "2 is on its way")

    async def test_a_call_that_a_person_approves(self, server: ChatServer, shop: Shop) -> None:
        async with talking(self.approving(server.base_url, shop)) as conversation:
            reply = await conversation.send(call("refund", order="3"))
            (request,) = reply.pending
            assert (request.kind, request.tool, request.arguments) == ("approval", "refund", {"order": "3"})
            # A call that waits is not one of the reply's calls yet.
            assert (names(reply), shop.done) == ([], [])
            rest = await conversation.resume((replace(request, answer="approve"),))
            (found,) = rest.tool_calls or ()
            assert (found.name, found.arguments, found.result) == ("refund", {"order": "3"}, "paid back 3")
            assert (found.executed, rest.pending, shop.done) == (True, (), ["refund 3"])
            assert rest.text.startswith("helper")
            following = await conversation.send("thanks")
            assert ("thanks" in following.text, names(following), following.pending) == (True, [], ())

    async def test_a_call_that_a_person_rejects(self, server: ChatServer, shop: Shop) -> None:
        async with talking(self.approving(server.base_url, shop)) as conversation:
            (request,) = (await conversation.send(call("refund", order="3"))).pending
            rest = await conversation.resume((replace(request, answer="reject", reason="too late"),))
            (found,) = rest.tool_calls or ()
            assert (found.name, found.executed, shop.done) == ("refund", False, [])
            assert rest.text.startswith("helper")

    @pytest.mark.parametrize("fault", ["429", "500", "refused"])
    async def test_a_provider_that_is_away(self, server: ChatServer, shop: Shop, fault: str) -> None:
        # Again and again: some frameworks try a second time, whatever their client was set to.
        server._script = iter(()) if fault == "refused" else itertools.repeat(fault)
        url = f"http://127.0.0.1:{_free_port()}/v1" if fault == "refused" else server.base_url
        with pytest.raises(TargetUnavailable):
            await said(self.agent(url, shop), "hello")

    async def test_what_was_done_before_a_failure_is_kept(self, server: ChatServer, shop: Shop) -> None:
        server._script = iter([None, "500"])
        async with talking(self.agent(server.base_url, shop)) as conversation:
            with pytest.raises(TargetUnavailable):
                await conversation.send(call("lookup", order="4"))
            (found,) = conversation.calls_so_far()
            assert (found.name, found.arguments) == ("lookup", {"order": "4"})
            assert found.result == "4 is on its way"
            assert conversation.usage_so_far() == Usage(10, 5)

    def test_a_second_event_loop_is_no_fault_of_the_agent(self, server: ChatServer, shop: Shop) -> None:
        agent = self.agent(server.base_url, shop)
        assert asyncio.run(said(agent, "hello"))[0].text == "helper | hello"
        try:
            outcome = asyncio.run(said(agent, "hello"))[0].text
        except (TargetUnavailable, TargetStartError) as error:
            outcome = str(error)
        assert outcome == "helper | hello" or "one event loop for the whole session" in outcome

    async def test_own_tracing_still_gets_all(self, server: ChatServer, shop: Shop) -> None:
        agent = self.agent(server.base_url, shop)
        with self.own_tracing() as seen:
            (reply,) = await said(agent, call("lookup", order="5"))
        assert names(reply) == ["lookup"]
        assert "lookup" in seen

    async def test_faults_of_tools(self, server: ChatServer, shop: Shop) -> None:
        faults = Faults()
        crashes = self.raises_tool_errors and not self.shows_faults
        agent = self.agent(server.base_url, shop)
        async with talking(agent, faults) as conversation:
            (other,) = (await conversation.send(call("weather", city="Rome"))).tool_calls
            (failed,) = await self._calls_of(conversation, call("lookup", order="6"), crashes)
        assert (other.result, other.error) == ("a storm (injected)", None)
        assert "the lookup is down (injected)" in (failed.error or "")
        assert shop.done == []
        assert faults.seen == [("weather", other.id), ("lookup", failed.id)]
        # The next conversation has none.
        (reply,) = await said(agent, call("lookup", order="6"))
        assert shop.done == ["lookup 6"]
        assert names(reply) == ["lookup"]

    async def test_the_fault_of_the_second_call_is_that_of_the_second_that_was_asked_for(
        self, server: ChatServer, shop: Shop
    ) -> None:
        rule = FaultRule(tool="weather", kind="result", call=(2,), result="a storm (injected)")
        faults = FaultPlan([rule], "scenario", 1)
        asked = " and ".join(call("weather", city=city) for city in ("Rome", "Oslo", "Bonn"))
        async with talking(self.agent(server.base_url, shop), faults) as conversation:
            reply = await conversation.send(asked)
        calls = [found for _, found in faults.marked(Transcript((Turn(1, asked, reply),))).tool_calls]
        assert [found.fault for found in calls] == ["", "fixed result", ""]
        assert [found.result for found in calls] == ["sunny in Rome", "a storm (injected)", "sunny in Bonn"]

    async def test_what_a_factory_makes_is_the_same(self, server: ChatServer, shop: Shop) -> None:
        (reply,) = await said(lambda: self.agent(server.base_url, shop), call("lookup", order="7"))
        assert (names(reply), reply.usage) == (["lookup"], Usage(20, 10))

    def test_a_whole_scenario(
        self, server: ChatServer, shop: Shop, chat_server: ChatServer, tmp_path: Path
    ) -> None:
        """With a user and a judge, which are another model, and with rules that answer approvals."""
        approves = "a_call_that_a_person_approves" not in self.lacks
        agent = (self.approving if approves else self.agent)(server.base_url, shop)
        second = call("refund", order="8") if approves else call("weather", city="Rome")
        scenario = {
            "name": "A talk",
            "description": "Somebody asks for something.",
            "synthetic_user": {
                "persona": "Somebody",
                "initial_query": call("lookup", order="8"),
                "script": [second],
                **({"approvals": [{"tool": "refund", "answer": "approve"}]} if approves else {}),
            },
            "evaluation": {
                "correctness_criteria": ["The agent answers."],
                "tool_usage": {"required_tools": ["lookup", "refund" if approves else "weather"]},
            },
        }
        models = {"llm.model": "openai/fake", "llm.api_base": chat_server.base_url, "llm.api_key": "k" * 20}
        result = run_scenario(scenario, target=agent, settings=models, rootdir=tmp_path)
        assert result.outcome is Outcome.PASSED, result.reason
        assert shop.done == ["lookup 8", "refund 8" if approves else "weather Rome"]
        assert len(result.transcript.turns) == 2

    @pytest.mark.parametrize("made", [False, True], ids=["itself", "made by a factory"])
    def test_its_tools_are_known(self, server: ChatServer, shop: Shop, made: bool) -> None:
        agent = self.agent(server.base_url, shop)
        target = as_target((lambda: agent) if made else agent)
        asyncio.run(_started(target))
        tools = {tool.name: tool for tool in description_of(target).tools or ()}
        assert {"lookup", "weather", "broken"} <= set(tools)
        assert tools["lookup"].description.startswith("Look up an order")
        assert list(tools["lookup"].parameters["properties"]) == ["order"]


async def _started(target: Any) -> None:
    conversation = await target.start(ConversationContext("c", FakeLLM([])))
    await conversation.aclose()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
