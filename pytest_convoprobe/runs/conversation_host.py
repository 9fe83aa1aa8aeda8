"""Where the conversations of one process with its targets happen: opened, limited in time, closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from ..conversation.loop import Conversation, Limits
from ..conversation.port import AgentFirst, Approver, UserSimulator
from ..cutting import MOST_TEXT
from ..errors import ScenarioTimeout
from ..faults.plan import FaultPlan
from ..gateway.conversation import GatewayConversation
from ..gateway.evidence import WireEvidence
from ..gateway.port import Wire
from ..gateway.spending import WireSpending
from ..llm.metered import Metered
from ..llm.port import LLM
from ..project_code.agent_loops import AgentLoops
from ..project_code.callers_thread import CallersThread
from ..project_code.calls import in_own_thread, stoppable
from ..project_code.clock import current_clock
from ..project_code.deadline import Deadline
from ..targets.hosted import hosted
from ..targets.port import (
    ConversationContext,
    SoFar,
    Target,
    TargetConversation,
    greet,
    resume,
    so_far,
)
from ..transcript import GREETING_TURN, PendingRequest, Reply, SaidBefore, ToolCall, Transcript, Usage
from .wired_conversation import WiredConversation, at_gateway

if TYPE_CHECKING:
    from ..gateway.server import Gateway

T = TypeVar("T")


class ConversationHost:
    """Opens the conversations of a process; their agents share the event loops that it has for them.

    `root` is that of the project: relays of `convoprobe gateway` there pass on the calls of services.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._agents = AgentLoops()

    @cached_property
    def gateway(self) -> Gateway:
        """The gateway for the model calls of agents. Its address is known before it serves."""
        # Here, because aiohttp takes a tenth of a second that other targets needn't wait for.
        from ..gateway.server import Gateway

        return Gateway(self._root)

    @asynccontextmanager
    async def conversation(
        self,
        target: Target,
        user: UserSimulator,
        limits: Limits,
        llm: LLM,
        scenario: str,
        trial: int,
        *,
        now: datetime | None = None,
        waiting: CallersThread | None = None,
        max_text: int = MOST_TEXT,
        faults: FaultPlan | None = None,
        approver: Approver | None = None,
        metadata: Mapping[str, Any] | None = None,
        wire: Wire | None = None,
        on_change: Callable[[Transcript], None] | None = None,
        agent_first: AgentFirst | None = None,
        history: tuple[SaidBefore, ...] = (),
        on_start: Callable[[TargetConversation], None] = lambda _: None,
    ) -> AsyncIterator[Conversation]:
        """A conversation between the two, ready to run; its end at the target is closed after the block.

        With `wire`, the agent's own model calls come by the gateway. `on_start` gets
        the target's side as the target gave it. Raises, also after the block, what
        went wrong there: then the conversation says nothing about the agent.
        """
        if wire is not None and agent_first is not None:
            wire = replace(wire, first_turn=GREETING_TURN)
        async with at_gateway(self.gateway, _entered(wire, llm)) if wire else nullcontext() as at:
            # Of no scenario or trial: some targets get the id, and an agent must not know that it is tested.
            context = ConversationContext(
                *(uuid4().hex, llm, scenario, trial, self._agents, now, waiting, max_text, faults),
                metadata=metadata or {},
                gives_model_url=at.own_url if at else None,
                history=history,
            )
            talking = await hosted(target).start(context)
            try:
                on_start(talking)
                if at is not None:
                    talking = WiredConversation(talking, self.gateway, at, lambda: conversation.transcript)
                counted = _Counted(talking, llm) if isinstance(llm, Metered) else talking
                witness = _witness(at, max_text) if at is not None else None
                conversation = Conversation(
                    *(user, counted, limits),
                    approver=approver,
                    witness=witness,
                    on_change=on_change,
                    clock=current_clock().now,
                    agent_first=agent_first,
                    history=history,
                )
                yield conversation
            finally:
                if faults is not None:
                    faults.end()
                await talking.aclose()

    @property
    def agents(self) -> AgentLoops:
        """Where asynchronous code of the project runs."""
        return self._agents

    async def aclose(self) -> None:
        """Let go of the gateway, and of the agents' event loops."""
        if "gateway" in self.__dict__:
            await self.gateway.aclose()
        await in_own_thread(self._agents.close)


def _entered(wire: Wire, llm: LLM) -> Wire:
    """The same, with what the calls cost entered in the ledger of the conversation."""
    return replace(wire, ledger=WireSpending(llm, wire.prices)) if isinstance(llm, Metered) else wire


def _witness(at: GatewayConversation, max_text: int) -> Callable[[Transcript], Transcript]:
    return WireEvidence(lambda: at.calls, max_text, at.wire.prices).completed


class _Counted:
    """A conversation whose agent's own tokens count as soon as it reports them."""

    def __init__(self, inner: TargetConversation, metered: Metered) -> None:
        self._inner = inner
        self._metered = metered
        self._done = SoFar()

    async def send(self, message: str) -> Reply:
        return await self._counted(self._inner.send(message))

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        return await self._counted(resume(self._inner, answered))

    async def greet(self) -> Reply:
        return await self._counted(greet(self._inner))

    async def _counted(self, asking: Coroutine[Any, Any, Reply]) -> Reply:
        # A conversation speaks of its last message; one that isn't sent has done nothing.
        self._done = SoFar()
        try:
            self._metered.before_agent()
        except BaseException:
            asking.close()
            raise
        try:
            reply = await asking
        except BaseException as error:
            self._done = so_far(error, self._inner)
            self._take(self._done.usage)
            raise
        self._take(reply.usage)
        return reply

    def _take(self, usage: Usage | None) -> None:
        if usage is not None:
            self._metered.take_agents_own(usage)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        return self._done.calls

    def usage_so_far(self) -> Usage | None:
        return self._done.usage

    async def aclose(self) -> None:
        await self._inner.aclose()


async def within_scenario_timeout(limit: float, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What the work returns. Raises `ScenarioTimeout` if that takes longer than `limit` seconds."""
    async with Deadline(limit, ScenarioTimeout(limit)):
        return await stoppable(work())
    # mypy asks for it: a context manager may swallow what is raised in its block, but this one never does.
    raise AssertionError("a deadline swallows nothing")
