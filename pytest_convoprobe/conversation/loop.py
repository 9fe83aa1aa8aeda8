"""The loop: the user says something, the target replies, until there is a reason to stop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ..cutting import MOST_TEXT
from ..errors import BudgetExceeded, ConvoprobeError, SimulatorError, TargetCrashed, TurnTimeout
from ..project_code.deadline import Deadline
from ..targets.port import SoFar, TargetConversation
from ..tool_patterns import matches
from ..transcript import (
    GREETING_TURN,
    Origin,
    Reply,
    SaidBefore,
    Termination,
    ToolCall,
    Transcript,
    Turn,
    with_user,
)
from .exchange import Exchange
from .port import AgentFirst, Approver, NobodyAnswers, Status, UserMessage, UserSimulator
from .repetition import goes_in_circles

_ENDED_BY_USER = {Status.DONE: Termination.USER_DONE, Status.GAVE_UP: Termination.USER_GAVE_UP}

_ENDED_BY_ERROR: tuple[tuple[type[ConvoprobeError], Termination], ...] = (
    (BudgetExceeded, Termination.BUDGET),
    (TurnTimeout, Termination.TIMEOUT),
    (SimulatorError, Termination.SIMULATOR_ERROR),
    (TargetCrashed, Termination.TARGET_ERROR),
)


@dataclass(frozen=True)
class Limits:
    """How long a conversation may go on.

    `turn_timeout` bounds, in seconds, the wait for either side in each turn: a slow user
    takes nothing from the target's time. A call of a tool whose name matches one of the patterns in
    `ends_with_tools` ends the conversation. `max_text` is how many characters are kept of a reply in several
    parts.
    """

    max_turns: int
    turn_timeout: float = 120.0
    ends_with_tools: tuple[str, ...] = ()
    max_text: int = MOST_TEXT

    def ended_by(self, reply: Reply) -> bool:
        """Whether the agent has closed the conversation with this reply."""
        return reply.ended or any(map(self._is_last_call, reply.tool_calls or ()))

    def _is_last_call(self, call: ToolCall) -> bool:
        # Who tried to hand the user over and failed is still the one to talk with.
        return not call.failed and any(matches(one, call.name) for one in self.ends_with_tools)


class Conversation:
    """One conversation between a user and a target.

    T turns cost T messages to the target and, apart from repairs, at most T - 1 calls of the
    simulator: the opening is known, and the user ends the talk in the same breath as it says its
    last words. Nobody judges here. `witness` adds to the transcript what others have seen of the agent.
    `on_change` gets the transcript whenever a message is sent and whenever a reply has come.
    With `agent_first`, the agent's greeting comes before all that. `history` was said before it all.
    """

    def __init__(
        self,
        user: UserSimulator,
        target: TargetConversation,
        limits: Limits,
        *,
        approver: Approver | None = None,
        clock: Callable[[], float] = time.monotonic,
        witness: Callable[[Transcript], Transcript] | None = None,
        on_change: Callable[[Transcript], None] | None = None,
        agent_first: AgentFirst | None = None,
        history: tuple[SaidBefore, ...] = (),
    ) -> None:
        self._user = user
        self._exchange = Exchange(target, approver or NobodyAnswers(), limits.max_text)
        self._limits = limits
        self._clock = clock
        self._witness = witness
        self._on_change = on_change
        self._agent_first = agent_first
        self._history = history
        self._turns: list[Turn] = []
        self._pending: str | None = None
        self._so_far = SoFar()
        self._termination: Termination | None = None

    @property
    def transcript(self) -> Transcript:
        """What was said until now; complete once `run` has returned or raised."""
        said = Transcript(
            tuple(self._turns),
            self._termination,
            self._pending,
            pending_calls=self._so_far.calls,
            pending_usage=self._so_far.usage,
            pending_requests=self._so_far.requests,
            history=self._history,
        )
        return said if self._witness is None else self._witness(said)

    async def run(self) -> None:
        """Talk to the end.

        Raises what broke the conversation off: a `ConvoprobeError`, or `asyncio.CancelledError`.
        The transcript is kept, with the termination that belongs to the error.
        """
        try:
            await self._talk()
        except asyncio.CancelledError:
            self._termination = Termination.CANCELLED
            raise
        except ConvoprobeError as error:
            self._termination = _termination_of(error)
            raise
        finally:
            # A defect in a simulator or a target leaves a transcript that says how it ended, too.
            self._termination = self._termination or Termination.INFRASTRUCTURE_ERROR

    async def _talk(self) -> None:
        if self._agent_first is not None:
            await self._be_greeted(self._agent_first)
        while self._termination is None:
            message = await self._next_message()
            # A user that leaves without a word has nothing to send: an empty message is not a goodbye.
            if message.text.strip() or message.status is Status.CONTINUE:
                await self._talk_once(message)
            self._termination = self._reason_to_end(message)

    async def _next_message(self) -> UserMessage:
        async with self._deadline("synthetic user", self._number):
            return await self._user.next_message(tuple(self._turns))

    async def _be_greeted(self, first: AgentFirst) -> None:
        greeting = UserMessage("", origin=Origin.GREETING)
        await self._answered(greeting, GREETING_TURN, lambda: self._exchange.greeting(first.cue))
        self._termination = Termination.AGENT_ENDED if self._agent_has_ended else None

    async def _talk_once(self, message: UserMessage) -> None:
        number = self._number
        await self._answered(message, number, lambda: self._exchange.sent(message.text, number))

    async def _answered(
        self, message: UserMessage, number: int, ask: Callable[[], Coroutine[Any, Any, Reply]]
    ) -> None:
        self._pending = message.text
        self._changed()
        started = self._clock()
        try:
            async with self._deadline("target", number):
                reply = await ask()
        finally:
            self._so_far = self._exchange.so_far
        # What a framework needs to start something is no time that the agent takes to answer.
        latency = max(0.0, self._clock() - started - reply.startup)
        self._turns.append(Turn(number, message.text, reply, message.origin, latency))
        self._pending = None
        self._changed()

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change(self.transcript)

    def _reason_to_end(self, message: UserMessage) -> Termination | None:
        # The user comes first: whether it got what it wanted says more than who closed the door.
        if message.status in _ENDED_BY_USER:
            return _ENDED_BY_USER[message.status]
        if self._agent_has_ended:
            return Termination.AGENT_ENDED
        turns = with_user(self._turns)
        if goes_in_circles(turns):
            return Termination.LOOP
        return Termination.MAX_TURNS if len(turns) >= self._limits.max_turns else None

    @property
    def _agent_has_ended(self) -> bool:
        return self._limits.ended_by(self.transcript.turns[-1].reply)

    @property
    def _number(self) -> int:
        """The number of the turn being prepared."""
        return len(with_user(self._turns)) + 1

    def _deadline(self, waited_for: str, number: int) -> Deadline:
        seconds = self._limits.turn_timeout
        return Deadline(seconds, TurnTimeout(waited_for, turn=number, seconds=seconds))


def _termination_of(error: ConvoprobeError) -> Termination:
    for kind, termination in _ENDED_BY_ERROR:
        if isinstance(error, kind):
            return termination
    return Termination.INFRASTRUCTURE_ERROR
