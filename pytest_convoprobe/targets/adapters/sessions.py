"""What an adapter makes of an agent: a session, which is one conversation."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, get_args

from ...errors import TargetStartError
from ...transcript import Reply, SaidBefore
from ..port import ToolFaults


@dataclass(frozen=True)
class SessionOptions:
    """What a session is opened with.

    `conversation_id` is unique within the run. `context` is what the function of `target.context` gave for
    this conversation, None without one. Tools are called through `faults`, if there are any: an adapter
    whose framework has no place for that raises `TargetStartError`. `own` says that the agent was made for
    this conversation alone; otherwise others may talk with the same object meanwhile. `history` is what was
    said before, for adapters that say that they take it (see `Adapter`).
    """

    conversation_id: str
    context: Any = None
    faults: ToolFaults | None = None
    own: bool = False
    history: tuple[SaidBefore, ...] = ()


def require_context(options: SessionOptions, kind: Any) -> None:
    """Raise `TargetStartError` if an agent that works with objects of the class `kind` gets none.

    Its own code would fail for want of it, and the agent isn't to blame.
    """
    needs_none = kind in (None, type(None), object, Any) or isinstance(kind, TypeVar)
    if options.context is None and not needs_none and type(None) not in get_args(kind):
        raise TargetStartError(
            f"the agent works with a context of type {getattr(kind, '__name__', kind)}, and there is none: "
            "name a function that makes one for each conversation in `target.context`"
        )


class AgentSession(Protocol):
    """One conversation with an agent of a framework.

    `send` may be a coroutine function, which runs on the event loop of the session's agents, or a plain one,
    which runs in a thread of the conversation. Sessions may also have `resume` (see `port.Resumes`),
    `calls_so_far` (see `port.KeepsCalls`), `usage_so_far` and `aclose`. The two speak of what was done since
    the last `send` or `resume` began.
    """

    def send(self, message: str) -> Reply | Awaitable[Reply]: ...
