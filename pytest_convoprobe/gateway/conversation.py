"""What one conversation has at the gateway: its address, the turn in flight, its calls, its problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..errors import ConvoprobeError
from .attribution import SeenTexts, TurnInFlight
from .exchange import Asked, WireCall
from .port import Wire


class GatewayConversation:
    """One conversation's model calls, from its start to its end. Used on the loop of its host alone.

    `url` is what its agent can be given to call models at. Without that, its calls come to the address of the
    session, and `in_flight` says whose they may be.
    """

    def __init__(self, url: str, wire: Wire) -> None:
        self.url = url
        self.wire = wire
        self.in_flight: TurnInFlight | None = None
        self.seen = SeenTexts()
        self.problem: ConvoprobeError | None = None
        """What keeps this conversation from saying anything about the agent; the first one counts."""
        self.has_own_url = False
        """Whether the agent was given the address, so that nobody has to find out whose its calls are."""
        self._calls: list[WireCall] = []
        self.last_turn = wire.first_turn
        """The turn in flight, or the one before it."""
        self.said: tuple[str, ...] = ()
        """The user's messages until now, that of the turn in flight included."""

    @property
    def calls(self) -> tuple[WireCall, ...]:
        """All calls until now, in the order in which they began; of those under way, without an answer."""
        return tuple(self._calls)

    def calls_of(self, turn: int) -> tuple[WireCall, ...]:
        """Those that began in one turn."""
        return tuple(call for call in self._calls if call.turn == turn)

    def own_url(self) -> str:
        """The address, for an agent that calls models there. May be called from any thread."""
        self.has_own_url = True
        return self.url

    def report(self, problem: ConvoprobeError) -> None:
        """Have the conversation end as an error, whatever the agent makes of it."""
        self.problem = self.problem or problem

    @contextmanager
    def answering(self, turn: TurnInFlight) -> Iterator[None]:
        """The time in which the agent answers a message."""
        if turn.turn != self.last_turn:
            self.seen.new_turn()
        self.in_flight, self.last_turn = turn, turn.turn
        self.said = tuple(filter(None, (*(user for user, _ in turn.earlier), turn.message)))
        try:
            yield
        finally:
            self.in_flight = None

    def begin(self, asked: Asked) -> int:
        """A call of this conversation has come; the number that `update` wants."""
        self._calls.append(WireCall(self.last_turn, asked))
        return len(self._calls) - 1

    def update(self, number: int, **changes: Any) -> WireCall:
        """The call with what is known of it by now."""
        self._calls[number] = replace(self._calls[number], **changes)
        return self._calls[number]

    def end(self) -> None:
        """All calls are over: note which of them the recording lacks."""
        for number, call in enumerate(self._calls):
            if self.wire.tape is not None and not call.unsent and self.wire.tape.lacks(call.asked):
                self.update(number, unrecorded=True)
