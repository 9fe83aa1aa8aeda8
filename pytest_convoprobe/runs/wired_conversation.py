"""A conversation whose agent calls models itself, by way of the gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import LoopLost
from ..gateway.attribution import TurnInFlight
from ..gateway.conversation import GatewayConversation
from ..gateway.port import Wire, WireFaults
from ..gateway.tape import RecordedTape
from ..llm.agent_replay import AgentModelCalls
from ..llm.recording import Recording
from ..redaction import Redactor
from ..settings.model_upstreams import ModelUpstreams
from ..settings.models import ScenarioSettings
from ..targets.port import TargetConversation, calls_so_far, greet, resume, usage_so_far
from ..transcript import PendingRequest, Reply, ToolCall, Transcript, Usage

if TYPE_CHECKING:
    from ..gateway.server import Gateway


def agent_calls(
    recording: Recording, settings: ScenarioSettings, redactor: Redactor, trial: int
) -> AgentModelCalls | None:
    """The agent's own calls in the recording of a trial; None for an agent that makes none."""
    if settings.models is None:
        return None
    return AgentModelCalls(recording, settings.run.replay, redactor, trial, settings.model_volatile)


def wire_of(
    models: ModelUpstreams | None,
    faults: WireFaults | None = None,
    calls: AgentModelCalls | None = None,
    redactor: Redactor | None = None,
) -> Wire | None:
    """How an agent's own model calls go on; None for one that makes none.

    `redactor` learns what is secret of the address that the agent gets.
    """
    if models is None:
        return None
    tape = RecordedTape(calls) if calls is not None and calls.mode != "off" else None
    hide = None if redactor is None else redactor.learn
    keyless = calls is not None and calls.may_replay
    return Wire(models.addresses, tape, faults, hide=hide, keyless=keyless, prices=models.token_prices)


@asynccontextmanager
async def at_gateway(gateway: Gateway, wire: Wire) -> AsyncIterator[GatewayConversation]:
    """A conversation at the gateway, for the time of a block.

    Raises what went wrong there instead of whatever came of it: that would say nothing about the agent.
    """
    async with gateway.conversation(wire) as opened:
        try:
            yield opened
        except LoopLost:
            raise
        except Exception:
            if opened.problem is not None:
                raise opened.problem from None
            raise
        if opened.problem is not None:
            raise opened.problem
        if wire.tape is not None and not opened.calls:
            wire.tape.none_came()


@asynccontextmanager
async def single_turn(
    models: ModelUpstreams | None, message: str, root: Path
) -> AsyncIterator[GatewayConversation | None]:
    """A conversation of one message, at a gateway of its own; None for an agent without `models`."""
    if models is None:
        yield None
        return
    # Here, because aiohttp takes a tenth of a second that others needn't wait for.
    from ..gateway.server import Gateway

    gateway = Gateway(root)
    try:
        async with (
            at_gateway(gateway, Wire(models.addresses)) as at,
            gateway.turn(at, TurnInFlight(1, message)),
        ):
            yield at
    finally:
        await gateway.aclose()


class WiredConversation:
    """Tells the gateway which turn is in flight. `spoken` is what was said until now, that turn included."""

    def __init__(
        self,
        inner: TargetConversation,
        gateway: Gateway,
        at: GatewayConversation,
        spoken: Callable[[], Transcript],
    ) -> None:
        self._inner = inner
        self._gateway = gateway
        self._at = at
        self._spoken = spoken
        self._sent = ""

    async def send(self, message: str) -> Reply:
        self._sent = message
        return await self._answered(self._inner.send(message))

    async def greet(self) -> Reply:
        return await self._answered(greet(self._inner))

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        return await self._answered(resume(self._inner, answered))

    async def _answered(self, asking: Coroutine[Any, Any, Reply]) -> Reply:
        try:
            async with self._gateway.turn(self._at, self._turn()) as waited:
                reply = await asking
        finally:
            asking.close()  # where the turn never began
        if self._at.problem is not None:
            raise self._at.problem
        return replace(reply, startup=reply.startup + waited) if waited else reply

    def _turn(self) -> TurnInFlight:
        said = self._spoken()
        before = ((one.text, "") if not one.by_agent else ("", one.text) for one in said.history)
        earlier = (*before, *((turn.user, turn.reply.text) for turn in said.turns))
        # In the turn of a greeting, the user has said nothing: the agent may have got a cue.
        return TurnInFlight(said.last_turn, said.pending or self._sent, earlier)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        return calls_so_far(self._inner)

    def usage_so_far(self) -> Usage | None:
        return usage_so_far(self._inner)

    async def aclose(self) -> None:
        await self._inner.aclose()
