"""What conversations with agents of frameworks are given, made anew for each: their context, and faults."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..transcript import SaidBefore
from .adapters.sessions import SessionOptions
from .call_style import takes_nothing
from .failures import start_failure
from .hosted import LLMFromElsewhere
from .port import ConversationContext


@dataclass(frozen=True)
class MakesOptions:
    """Makes the options of a session. `context_maker` is the function of `target.context`.

    `lent` says that it is the one of the project's own target: another object may have no use for it.
    """

    conversation: ConversationContext | None = None
    context_maker: Callable[..., Any] | None = None
    lent: bool = False

    @property
    def given_context(self) -> ConversationContext | None:
        """The context of the conversation as code of the project gets it."""
        return None if self.conversation is None else _from_elsewhere(self.conversation)

    @property
    def history(self) -> tuple[SaidBefore, ...]:
        """What was said before the conversation."""
        return () if self.conversation is None else self.conversation.history

    @property
    def only_for_adapters(self) -> str:
        """What other objects can't be given, as the end of a message; empty if there is nothing."""
        if self.context_maker is not None and not self.lent:
            return "`target.context` is for those. Leave it out, and let a factory make the agent"
        if self.conversation is not None and self.conversation.faults is not None:
            return "no faults can be injected into the tools of another one (`faults`)"
        return ""

    async def make(self, own: bool = False) -> SessionOptions:
        """Called on the event loop of the agents, since the function is code of the project.

        `own` says that the agent was made for this conversation.
        """
        if self.conversation is None:
            return SessionOptions("", own=own)
        faults = self.conversation.faults
        context = await self._context(self.conversation)
        return SessionOptions(self.conversation.id, context, faults, own, self.history)

    async def _context(self, conversation: ConversationContext) -> Any:
        if self.context_maker is None:
            return None
        given = () if takes_nothing(self.context_maker) else (_from_elsewhere(conversation),)
        try:
            value = self.context_maker(*given)
            return await value if inspect.isawaitable(value) else value
        except Exception as error:  # noqa: BLE001 - the project's code, whatever it raises
            # Outside of this function, nobody could say that it isn't the framework's.
            raise start_failure("the function of `target.context` failed", error) from None


def _from_elsewhere(conversation: ConversationContext) -> ConversationContext:
    return replace(conversation, llm=LLMFromElsewhere(conversation.llm))
