"""Agents that a function of the project makes, one for each conversation."""

from __future__ import annotations

import threading
import weakref

from ...errors import TargetStartError

_lock = threading.Lock()
_served: dict[int, weakref.ref[object]] = {}


def require_new(agent: object) -> None:
    """Raise `TargetStartError` for an agent that remembers an earlier conversation."""
    with _lock:
        known = _served.get(id(agent))
        if known is not None and known() is agent:
            raise TargetStartError(
                "the function that makes the agents gave the same one again, which remembers an earlier "
                "conversation: make a new one with each call, or name the agent itself as the target"
            )
        _served[id(agent)] = weakref.ref(agent, _forget)


def _forget(gone: weakref.ref[object]) -> None:
    # No lock: it may be called in any thread at any time, also in one that has the lock.
    for key in [key for key, one in list(_served.items()) if one is gone]:
        _served.pop(key, None)
