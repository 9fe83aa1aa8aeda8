"""The port to what is tested: a target starts conversations, a conversation takes messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..llm.port import LLM, ToolSpec
from ..project_code.agent_loops import Home
from ..transcript import Reply


@dataclass(frozen=True)
class ConversationContext:
    """What a target is told about the conversation that begins.

    `id` is unique within the run. `llm` is the way to models for targets that are models
    themselves: it is metered, recorded and bounded for this conversation. `scenario` and
    `trial` go into the `CallContext` of such calls. `home` is where asynchronous code of the project runs, by
    default on the loop of whoever starts the conversation.
    """

    id: str
    llm: LLM
    scenario: str = ""
    trial: int = 1
    home: Home | None = None


@dataclass(frozen=True)
class Description:
    """What a target can tell of itself; None is for what it doesn't know or tell."""

    system_prompt: str | None = None
    tools: tuple[ToolSpec, ...] | None = None


class TargetConversation(Protocol):
    """One conversation with the target; messages come one at a time, in order."""

    async def send(self, message: str) -> Reply: ...

    async def aclose(self) -> None: ...


class Target(Protocol):
    """What is tested. Shared by many conversations at once, on one event loop.

    `start` gives a conversation that knows nothing of any other. It raises
    `TargetStartError`; `send` raises `TargetCrashed` or `TargetUnavailable` (or what the
    `llm` port raises); anything else that escapes is a defect of the implementation.
    """

    @property
    def name(self) -> str: ...

    async def start(self, context: ConversationContext) -> TargetConversation: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Describes(Protocol):
    """A target that can tell what it is made of. A plain `Target` need not.

    Stored runs tell by it whether the system prompt or the tools have changed. It is asked
    after a conversation, and must not wait for anything.
    """

    def describe(self) -> Description: ...


def description_of(target: Target) -> Description:
    """What the target tells of itself; an object of the project's may have another `describe`."""
    told = target.describe() if isinstance(target, Describes) else None
    return told if isinstance(told, Description) else Description()
