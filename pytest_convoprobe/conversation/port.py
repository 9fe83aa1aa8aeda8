"""The port to whoever speaks as the user: takes the conversation so far, gives the next message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ..transcript import Origin, PendingRequest, Turn


class Status(str, Enum):
    """What a user means to do after a message: go on, stop satisfied, or stop unsatisfied."""

    CONTINUE = "continue"
    DONE = "done"
    GAVE_UP = "gave_up"


@dataclass(frozen=True)
class UserMessage:
    """What the user says next.

    A message whose `status` is not CONTINUE is the user's last one. It is still sent to the
    target and answered: people end a talk with words. Only an empty one isn't sent.
    """

    text: str
    status: Status = Status.CONTINUE
    origin: Origin = Origin.SIMULATED


@dataclass(frozen=True)
class AgentFirst:
    """The agent speaks first: by itself, or as its reply to the `cue`, which nobody else sees."""

    cue: str = ""


class UserSimulator(Protocol):
    """Speaks as the user of one conversation.

    `turns` has the finished turns, oldest first, with the agent's greeting if it spoke first; none at the
    start. Raises `SimulatorError` when it has nothing to say that a user would, or what the `llm` port
    raises.
    """

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage: ...


class Approver(Protocol):
    """Answers what the agent asks a person while it works on a message.

    It gets the requests for which the agent waits together: in a turn, at its first pause (0), its second…
    Each comes back with its answer, or as it is if nothing answers it. `advice` says what to do about an
    approval that isn't answered.
    """

    @property
    def advice(self) -> str: ...

    def answered(
        self, requests: tuple[PendingRequest, ...], *, turn: int, pause: int
    ) -> tuple[PendingRequest, ...]: ...


class NobodyAnswers:
    """An approver that answers nothing."""

    advice = "Here nobody can give it: have the agent go on without, for example by a setting of its own"

    def answered(
        self, requests: tuple[PendingRequest, ...], *, turn: int, pause: int
    ) -> tuple[PendingRequest, ...]:
        return requests
