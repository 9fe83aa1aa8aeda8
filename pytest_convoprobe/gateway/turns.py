"""No two conversations answer equal messages at the same time: their calls could not be told apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..text import one_line


def same_message(message: str) -> str:
    """What equal messages have in common: white space makes no difference."""
    return one_line(message).strip()


class MessageLocks:
    """A lock for each message that is being answered; who waits for one gets it in the order of arrival."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def alone(self, message: str) -> AsyncIterator[None]:
        """The time in which no other conversation gets this message."""
        key = same_message(message)
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = lock, users - 1
