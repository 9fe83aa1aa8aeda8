"""Objects with a state of their own as targets. None is ever copied: the object given is the one that talks.

A copy would hide from the test what the agent has done, and a shared object would know in one conversation
what was said in another. So an object takes part in one conversation at a time, and only where somebody has
given it for that.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import weakref
from collections.abc import Callable
from enum import Enum
from types import ModuleType

from ..errors import TargetStartError


class Use(Enum):
    """What a target made of an object is used for."""

    MANY = "many conversations, perhaps at once: a single object can't be their target"
    ONE_BY_ONE = "a test's own conversations: what the object remembers of one is the test's business"
    ONCE = "one of several scenarios: each needs another object"


_SHARE_NOTHING = (
    "Give a class, or a function without parameters that makes one for each conversation. If it remembers "
    "nothing, give a function, such as `def answer(message, history): return agent.reply(message, history)`"
)


def owner_of(agent: object) -> object | None:
    """The object whose state the agent's answers may depend on; None for a class or a plain function."""
    plain = agent
    while isinstance(plain, functools.partial):
        plain = plain.func
    if isinstance(plain, type) or _wraps_function(plain):
        return None
    if inspect.isroutine(plain):
        owner = getattr(plain, "__self__", None)  # of a bound method; for built-in functions, it is a module
        return None if isinstance(owner, (type, ModuleType)) else owner
    return plain


def _wraps_function(agent: object) -> bool:
    """Whether a decorator has made an object of a function."""
    inner = getattr(agent, "__dict__", {}).get("__wrapped__")
    return not inspect.isroutine(agent) and inspect.isfunction(inner)


def claim(owner: object, use: Use, name: str) -> Callable[[], None]:
    """Take an object for a conversation; gives what lets go of it. Raises `TargetStartError`."""
    if use is Use.MANY:
        raise TargetStartError(
            f"`{name}` is one object, but every scenario needs a conversation of its own: what it remembers "
            "of one would be known in the next, and a copy would not be the object that you gave. "
            f"{_SHARE_NOTHING}"
        )
    with _lock:
        if id(owner) in _talking:
            raise TargetStartError(
                f"`{name}` is in another conversation, or was left in one that never ended: an object can "
                f"take part in one at a time. {_SHARE_NOTHING}"
            )
        if use is Use.ONCE:
            _serve(owner, name)
        _talking[id(owner)] = owner
    return functools.partial(_let_go, id(owner))


def _let_go(identity: int) -> None:
    _talking.pop(identity, None)


def _serve(owner: object, name: str) -> None:
    if id(owner) in _served:
        raise TargetStartError(
            f"`{name}` has been in the conversation of an earlier scenario, and may remember it: the fixture "
            f"has to give another object to each. {_SHARE_NOTHING}"
        )
    held: object = owner
    # Kept alive only where there is no other way to know that this identity isn't used again.
    with contextlib.suppress(TypeError):
        held = weakref.ref(owner, functools.partial(_forget, id(owner)))
    _served[id(owner)] = held


def _forget(identity: int, _: object) -> None:
    _served.pop(identity, None)


_lock = threading.Lock()
_talking: dict[int, object] = {}
_served: dict[int, object] = {}
