"""Users and targets that do as a test tells them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

from pytest_convoprobe.conversation.port import UserMessage
from pytest_convoprobe.transcript import Reply, Turn


class Scripted:
    """A user that says given messages; an exception among them is raised."""

    def __init__(self, *messages: UserMessage | str | Exception) -> None:
        self._messages = list(messages)
        self.calls = 0

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        self.calls += 1
        message = self._messages.pop(0)
        if isinstance(message, Exception):
            raise message
        return UserMessage(message) if isinstance(message, str) else message


class Chatty:
    """A user that never ends the talk and never repeats itself."""

    def __init__(self) -> None:
        self.calls = 0

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        self.calls += 1
        return UserMessage(f"message {self.calls}")


class Target:
    """A conversation that answers with a function of the message."""

    def __init__(self, answer: Callable[[str], str | Reply] = lambda message: f"re: {message}") -> None:
        self._answer = answer
        self.received: list[str] = []

    async def send(self, message: str) -> Reply:
        self.received.append(message)
        answer = self._answer(message)
        return Reply(answer) if isinstance(answer, str) else answer

    async def aclose(self) -> None:
        pass


class Stuck:
    """Never answers, on either side."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.cancelled = False

    async def send(self, message: str) -> Reply:
        return await self._for_ever()

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        await self._for_ever()
        raise AssertionError

    async def aclose(self) -> None:
        pass

    async def _for_ever(self) -> Reply:
        self.reached.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError


def says(message: str, status: str = "continue") -> str:
    """The text of a simulating model's reply."""
    return json.dumps({"message": message, "status": status})
