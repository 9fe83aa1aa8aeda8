"""Calls whose answer does not depend on a conversation are made once for all trials of a session."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from dataclasses import replace

from ..transcript import Usage
from .port import LLM, LLMReply, LLMRequest


class Sharing:
    """Passes calls on, but answers an equal `shared` call with the reply that it has got before.

    It is below the recordings: the recording of each trial has the call, so that each can be replayed alone.
    The calls that it answers itself cost nothing and have no attempts. Trials that ask at the same time wait
    for the first of them.
    """

    def __init__(self, inner: LLM) -> None:
        self._inner = inner
        self._replies: dict[str, LLMReply] = {}
        # By the loop too: a session may serve tests with loops of their own, and a lock belongs to one.
        self._asking: defaultdict[tuple[asyncio.AbstractEventLoop, str], asyncio.Lock]
        self._asking = defaultdict(asyncio.Lock)

    async def complete(self, request: LLMRequest) -> LLMReply:
        if not request.shared:
            return await self._inner.complete(request)
        key = _key(request)
        async with self._asking[asyncio.get_running_loop(), key]:
            if key in self._replies:
                return replace(self._replies[key], usage=Usage(), cost=0.0, attempts=0)
            reply = await self._inner.complete(request)
            self._replies[key] = reply
            return reply

    async def aclose(self) -> None:
        """Close the wrapped models."""
        await self._inner.aclose()


def _key(request: LLMRequest) -> str:
    """All that the answer depends on. The scenario, the trial and the role do not count."""
    said = [[message.role, message.content] for message in request.messages]
    return json.dumps([request.model.model_dump_json(), said, request.schema, request.max_tokens])
