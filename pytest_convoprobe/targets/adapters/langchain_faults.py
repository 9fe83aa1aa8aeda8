"""Faults in LangChain's tools, wherever a graph calls them.

Its own hook for that, the middleware `wrap_tool_call`, has to be given when an agent is built, and doesn't
reach tools that nodes call by themselves. So every call of a tool passes through here while a conversation
with faults is open, and conversations without faults are left alone.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.tools import BaseTool

from ..port import ToolFaults

Function = Callable[..., Any]


@dataclass(frozen=True)
class InjectedFaults:
    """The faults of one message. `own_id` gives the id that a call of LangChain's is reported with."""

    faults: ToolFaults
    own_id: Callable[[str], str]


# A context variable, since the same tool works for many conversations at once. LangChain passes the context
# on into the threads of synchronous tools.
_FAULTS: ContextVar[InjectedFaults | None] = ContextVar("convoprobe_langchain_faults", default=None)
_lock = threading.Lock()
_plain: dict[str, Any] = {}
_open = 0


def enter() -> None:
    """A conversation with faults begins."""
    global _open
    with _lock:
        _open += 1
        if _open == 1:
            _plain.update(run=BaseTool.run, arun=BaseTool.arun)
            BaseTool.run = _through_faults(BaseTool.run, "_run", _sync)
            BaseTool.arun = _through_faults(BaseTool.arun, "_arun", _async)


def leave() -> None:
    """It ends: after the last one, LangChain is as it was."""
    global _open
    with _lock:
        _open -= 1
        if _open == 0:
            BaseTool.run, BaseTool.arun = _plain["run"], _plain["arun"]


@contextlib.contextmanager
def injected(faults: ToolFaults | None, own_id: Callable[[str], str]) -> Iterator[None]:
    """What runs within this block has these faults, and so do the agents inside of its tools."""
    token = _FAULTS.set(None if faults is None else InjectedFaults(faults, own_id))
    try:
        yield
    finally:
        _FAULTS.reset(token)


def _through_faults(plain: Any, inner: str, wrap: Callable[..., Any]) -> Any:
    """`BaseTool.run`, or `arun`, that calls the function below the tool's own callbacks through faults."""

    @functools.wraps(plain)
    def run(tool: Any, *args: Any, **more: Any) -> Any:
        injected = _FAULTS.get()
        if injected is None:
            return plain(tool, *args, **more)
        # Not the tool itself: others may use it meanwhile.
        twin = copy.copy(tool)
        call_id = functools.partial(injected.own_id, more.get("tool_call_id") or "")
        function = wrap(getattr(tool, inner), tool, injected.faults, call_id)
        object.__setattr__(twin, inner, function)
        return plain(twin, *args, **more)

    return run


def _sync(function: Function, tool: Any, faults: ToolFaults, call_id: Callable[[], str]) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **more: Any) -> Any:
        given = faults.around_sync(tool.name, lambda: function(*args, **more), call_id=call_id())
        return _in_form(tool, given)

    return call


def _async(function: Function, tool: Any, faults: ToolFaults, call_id: Callable[[], str]) -> Function:
    @functools.wraps(function)
    async def call(*args: Any, **more: Any) -> Any:
        given = await faults.around(tool.name, lambda: function(*args, **more), call_id=call_id())
        return _in_form(tool, given)

    return call


def _in_form(tool: Any, given: object) -> object:
    """What a fault gives is the text for the model; some tools have to give an artefact beside it."""
    pair = tool.response_format == "content_and_artifact"
    return (given, None) if pair and not isinstance(given, tuple) else given
