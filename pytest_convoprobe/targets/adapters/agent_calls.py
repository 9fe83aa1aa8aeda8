"""The calls that an agent makes for one message, written down as they begin and end."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import TargetCrashed
from ...transcript import CallKind, ToolCall
from ..plain_values import described, plain
from ..reply_parts import as_arguments


@dataclass
class _Entry:
    call: ToolCall
    began: float = field(default_factory=time.monotonic)
    ended: bool = False


class AgentCalls:
    """The calls of a conversation that were not yet part of a reply, in the order in which they began.

    Tools may run in threads of their framework: every method may be called from any thread. The calls of
    all agents of a conversation are here together.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()
        self._used: set[str] = set()
        self._numbers = itertools.count(1)

    def begin(
        self,
        name: str,
        arguments: object,
        *,
        id: str = "",
        agent: str = "",
        parent: str = "",
        group: str = "",
        kind: CallKind = CallKind.TOOL,
    ) -> str:
        """Write down a call that begins; gives its id, which is another one if a call has this id already."""
        call = ToolCall(
            name=name,
            arguments=_arguments(arguments),
            # What is taken before its end says so.
            unreported=("result",),
            agent=agent,
            parent=parent,
            group=group,
            kind=kind,
        )
        with self._lock:
            own = self._free_id(id)
            self._used.add(own)
            self._entries[own] = _Entry(replace(call, id=own))
        return own

    def end(
        self,
        id: str,
        *,
        result: object = None,
        error: str | None = None,
        executed: bool = True,
        arguments: object = None,
    ) -> None:
        """Write down how a call ended; `arguments`, if the tool was given others than it was called with."""
        given = _plain(result)
        changed = None if arguments is None else _arguments(arguments)
        with self._lock:
            entry = self._entries.get(id)
            if entry is None:
                return  # it was called for an earlier message, whose reply has gone
            entry.ended = True
            entry.call = replace(
                entry.call,
                result=given,
                error=error,
                executed=executed,
                latency=time.monotonic() - entry.began,
                unreported=(),
                arguments=entry.call.arguments if changed is None else changed,
            )

    def change(self, id: str, *, kind: CallKind) -> None:
        """Write down what a call turned out to be."""
        with self._lock:
            entry = self._entries.get(id)
            if entry is not None:
                entry.call = replace(entry.call, kind=kind)

    def drop(self, id: str) -> ToolCall | None:
        """Forget a call that didn't happen, and give what was known of it; its id is free again."""
        with self._lock:
            entry = self._entries.pop(id, None)
            self._used.discard(id)
            return None if entry is None else entry.call

    def call(self, id: str) -> ToolCall | None:
        """The call with this id, as it is now."""
        with self._lock:
            entry = self._entries.get(id)
            return None if entry is None else entry.call

    def waits(self, id: str) -> bool:
        """Whether the call has begun and not ended."""
        with self._lock:
            entry = self._entries.get(id)
            return entry is not None and not entry.ended

    def so_far(self) -> tuple[ToolCall, ...]:
        """All calls, also those that have not ended."""
        with self._lock:
            return tuple(entry.call for entry in self._entries.values())

    def take(self) -> tuple[ToolCall, ...]:
        """All calls, which are not kept any longer."""
        with self._lock:
            calls = tuple(entry.call for entry in self._entries.values())
            self._entries.clear()
            return calls

    def take_ended(self) -> tuple[ToolCall, ...]:
        """The calls that have ended, and were not made inside one that goes on; the others stay."""
        with self._lock:
            ended = {id: entry for id, entry in self._entries.items() if self._is_over(entry)}
            for id in ended:
                del self._entries[id]
            return tuple(entry.call for entry in ended.values())

    def _is_over(self, entry: _Entry | None) -> bool:
        # Parents come before the calls inside them: nothing is deleted meanwhile.
        return entry is None or (entry.ended and self._is_over(self._entries.get(entry.call.parent)))

    def _free_id(self, wanted: str) -> str:
        # Some providers number the calls of each answer from 0: two of them must not become one.
        numbered = (f"{wanted or 'call'}-{number}" for number in self._numbers)
        names = itertools.chain([wanted] if wanted else (), numbered)
        return next(name for name in names if name not in self._used)


def _arguments(value: object) -> Mapping[str, Any]:
    try:
        return as_arguments(value)
    except TargetCrashed:
        return {}


def _plain(value: object) -> Any:
    """As plain data at once, since the tool or the agent may change the value later."""
    try:
        return plain(value)
    except TargetCrashed:
        return described(value)  # the agent got it in a form of its framework's
