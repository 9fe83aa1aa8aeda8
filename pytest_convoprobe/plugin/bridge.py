"""Between convoprobe's event loop and the one of an async test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..project_code.agent_loops import LoopHome
from ..project_code.host_loop import main_thread_interruptible
from ..targets.hosted import RunsElsewhere, hosted

if TYPE_CHECKING:
    from ..project_code.agent_loops import Home
    from ..targets.port import ConversationContext, Target, TargetConversation

_PAUSE_SECONDS = 0.02


class OnLoop(RunsElsewhere):
    """A target whose coroutines run on the loop of the test that made it.

    What a test sets up (a client session, a database) belongs to the test's loop, and asyncio
    refuses to use it from another one.
    """

    def __init__(self, target: Target, home: Home) -> None:
        self._target = hosted(target)
        self._home = home

    @property
    def name(self) -> str:
        return self._target.name

    async def start(self, context: ConversationContext) -> TargetConversation:
        return await self._target.start(replace(context, home=self._home))

    async def aclose(self) -> None:
        await self._target.aclose()


@contextmanager
def on_running_loop(target: Target) -> Iterator[Target]:
    """The target while the test waits: code of it that blocks the test's loop can be interrupted."""
    with main_thread_interruptible():
        yield OnLoop(target, LoopHome.here())


async def pause() -> None:
    """Wait a moment, under asyncio or trio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        import anyio

        await anyio.sleep(_PAUSE_SECONDS)
    else:
        await asyncio.sleep(_PAUSE_SECONDS)
