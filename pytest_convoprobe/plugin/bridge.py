"""Between convoprobe's event loop and the one of an async test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ..llm.port import LLM, LLMReply, LLMRequest
    from ..targets.port import ConversationContext, Target, TargetConversation
    from ..transcript import Reply

T = TypeVar("T")

_PAUSE_SECONDS = 0.02


class OnLoop:
    """A target whose coroutines run on the loop of the test that made it.

    What a test sets up (a client session, a database) belongs to the test's loop, and asyncio
    refuses to use it from another one.
    """

    def __init__(self, target: Target, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop

    @property
    def name(self) -> str:
        return self._target.name

    async def start(self, context: ConversationContext) -> TargetConversation:
        # Models are called where all other calls are made: their clients and limits belong to that loop.
        context = replace(context, llm=_LLMOnLoop(context.llm, asyncio.get_running_loop()))
        return _ConversationOnLoop(await _there(self._target.start(context), self._loop), self._loop)

    async def aclose(self) -> None:
        await _there(self._target.aclose(), self._loop)


class _ConversationOnLoop:
    def __init__(self, conversation: TargetConversation, loop: asyncio.AbstractEventLoop) -> None:
        self._conversation = conversation
        self._loop = loop

    async def send(self, message: str) -> Reply:
        return await _there(self._conversation.send(message), self._loop)

    async def aclose(self) -> None:
        await _there(self._conversation.aclose(), self._loop)


class _LLMOnLoop:
    def __init__(self, llm: LLM, loop: asyncio.AbstractEventLoop) -> None:
        self._llm = llm
        self._loop = loop

    async def complete(self, request: LLMRequest) -> LLMReply:
        return await _there(self._llm.complete(request), self._loop)

    async def aclose(self) -> None:
        await _there(self._llm.aclose(), self._loop)


async def _there(coro: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    """Await a coroutine on another thread's loop; a cancellation here reaches it there."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coro, loop))


async def pause() -> None:
    """Wait a moment, under asyncio or trio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import anyio

        await anyio.sleep(_PAUSE_SECONDS)
    else:
        await asyncio.sleep(_PAUSE_SECONDS)
