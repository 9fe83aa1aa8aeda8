"""A target for tests: gives the answers that a test sets, and remembers what it was asked."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence

from ..transcript import Reply
from .port import ConversationContext

FakeAnswer = str | Reply | BaseException
"""A reply, or what is raised instead of one."""

Answering = Callable[[str, int], FakeAnswer | Awaitable[FakeAnswer]]
"""Called with the message and the number of the turn, from 1."""


class FakeTarget:
    """Answers every conversation alike.

    `answer` is one answer for all messages, a list of answers (the last one again and again), or a
    function. `conversations` are those that were started, in order; `closed` is set by `aclose`.
    """

    def __init__(
        self, answer: FakeAnswer | Sequence[FakeAnswer] | Answering = "Understood.", *, name: str = "fake"
    ) -> None:
        self.name = name
        self.conversations: list[FakeConversation] = []
        self.closed = False
        self._answer = answer

    async def start(self, context: ConversationContext) -> FakeConversation:
        conversation = FakeConversation(context, self._answer)
        self.conversations.append(conversation)
        return conversation

    async def aclose(self) -> None:
        self.closed = True


class FakeConversation:
    """One conversation with a `FakeTarget`; `messages` are the ones that it got."""

    def __init__(
        self, context: ConversationContext, answer: FakeAnswer | Sequence[FakeAnswer] | Answering
    ) -> None:
        self.context = context
        self.messages: list[str] = []
        self.closed = False
        self._answer = answer

    async def send(self, message: str) -> Reply:
        self.messages.append(message)
        answer = self._next(message)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        return Reply(answer, ()) if isinstance(answer, str) else answer

    async def aclose(self) -> None:
        self.closed = True

    def _next(self, message: str) -> FakeAnswer | Awaitable[FakeAnswer]:
        if isinstance(self._answer, (str, Reply, BaseException)):
            return self._answer
        turn = len(self.messages)
        if callable(self._answer):
            return self._answer(message, turn)
        return self._answer[min(turn, len(self._answer)) - 1]
