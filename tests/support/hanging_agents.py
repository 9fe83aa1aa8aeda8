"""Agents that never come back, each in a way of its own, and hold nobody else up. The message says which."""

from __future__ import annotations

import asyncio
import ctypes
import threading
import time
from collections.abc import Awaitable, Iterator


class HangingAgent:
    """Asynchronous; answers unless it is asked to hang."""

    async def send(self, message: str) -> str:
        if "swallows" in message:
            await swallow_cancellation()
        if "sleeps" in message:
            time.sleep(60)
        if "spins" in message:
            while True:
                pass
        if "keeps" in message:
            keep_the_interpreter()
        if "delays" in message:
            time.sleep(0.6)
        await asyncio.sleep(0.05)
        return f"echo {message}"


async def swallow_cancellation() -> None:
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


class HangingInThread:
    """Synchronous; answers unless it is asked to hang."""

    def send(self, message: str) -> str:
        if "waits" in message:
            threading.Event().wait()
        if "starts" in message:
            threading.Thread(target=threading.Event().wait, name="endless", daemon=False).start()
        return f"echo {message}"


class HangingInEveryWay:
    """Synchronous ways to hang and asynchronous ones."""

    def send(self, message: str) -> Awaitable[str]:
        HangingInThread().send(message)
        return HangingAgent().send(message)


def keep_the_interpreter() -> None:
    """As `re.match("(a+)+$", "a" * 60 + "!")`, but without its use of the processor."""
    ctypes.PyDLL(None).sleep(60)


class HangsInClose(HangingAgent):
    async def aclose(self) -> None:
        await swallow_cancellation()


class HangsInExit(HangingInThread):
    def __enter__(self) -> HangsInExit:
        return self

    def __exit__(self, *error: object) -> None:
        threading.Event().wait()


async def hangs_in_factory() -> HangingAgent:
    time.sleep(60)
    return HangingAgent()


def endless_words(message: str) -> Iterator[str]:
    while True:
        time.sleep(0.01)
        yield "word "
