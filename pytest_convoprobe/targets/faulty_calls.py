"""Calls of tools that we carry out ourselves, with the faults that are injected into them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from ..faults.spoiling import ToolFailed
from ..llm.port import ToolRequest
from ..transcript import ToolCall
from .port import ToolFaults
from .reply_parts import as_arguments


class _FailedItself(Exception):
    """The tool failed without any fault: there is no result that a fault could change."""


async def with_faults(
    faults: ToolFaults | None, request: ToolRequest, call: Callable[[], Awaitable[ToolCall]]
) -> ToolCall:
    """The call that a model asks for, with the fault that it gets; `call` carries it out.

    An injected error is the call's `error`, for the model to read. Everything else is raised.
    """
    if faults is None:
        return await call()
    made: list[ToolCall] = []

    async def result() -> Any:
        made.append(await call())
        if made[0].failed:
            raise _FailedItself
        return made[0].result

    started = time.perf_counter()
    plain = ToolCall(request.name, as_arguments(request.arguments))
    try:
        given = await faults.around(request.name, result, call_id=request.id)
    except _FailedItself:
        return made[0]
    except ToolFailed as error:
        return replace(plain, error=str(error), latency=time.perf_counter() - started)
    return replace(made[0] if made else plain, result=given, latency=time.perf_counter() - started)
