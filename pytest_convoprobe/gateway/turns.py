"""No two conversations answer equal messages at the same time: their calls could not be told apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from ..text import one_line


def same_message(message: str) -> str:
    """What equal messages have in common: white space makes no difference."""
    return one_line(message).strip()


class MessageLocks:
    """A lock for each message that is being answered; who waits for one gets it in the order of arrival.

    An agent that greets has no message. It is alone with that: its calls could be anybody's.
    """

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}
        self._in_flight = 0
        self._greeting = False
        self._want_to_greet = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def alone(self, message: str) -> AsyncIterator[None]:
        """The time in which no other conversation gets this message."""
        key = same_message(message)
        await (self._turn_comes() if key else self._greeting_comes())
        with self._under_way(greeting=not key):
            lock, users = self._locks.get(key, (asyncio.Lock(), 0))
            self._locks[key] = lock, users + 1
            try:
                async with lock:
                    yield
            finally:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = lock, users - 1

    async def _turn_comes(self) -> None:
        # Who wants to greet comes first: otherwise it might wait for ever.
        while self._greeting or self._want_to_greet:
            await self._changed.wait()

    async def _greeting_comes(self) -> None:
        self._want_to_greet += 1
        try:
            while self._in_flight:
                await self._changed.wait()
        finally:
            self._want_to_greet -= 1
            self._notify()

    @contextmanager
    def _under_way(self, *, greeting: bool) -> Iterator[None]:
        self._in_flight += 1
        self._greeting = greeting
        try:
            yield
        finally:
            self._in_flight -= 1
            self._greeting = False
            self._notify()

    def _notify(self) -> None:
        """Wake all that wait. Nothing is awaited: who is cancelled lets others go on all the same."""
        self._changed.set()
        self._changed = asyncio.Event()
