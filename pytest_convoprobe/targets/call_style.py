"""How the user's code wants to be called: with the message, or with message and history; from where."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import Parameter
from typing import Any

from .frameworks import complaint, framework_of, own_answering, refused_function

METHODS = ("send", "respond", "reply", "chat", "run")
"""What an object's method for a message may be called, if the object itself can't be called."""

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_PLACES = (*_POSITIONAL, Parameter.VAR_POSITIONAL)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)

History = list[dict[str, Any]]


@dataclass(frozen=True)
class Calling:
    """A callable that answers messages, and what it takes beside the message.

    `history` says how the earlier turns are given: not at all, as the second argument or by
    name. `on_loop`: it is an async function; everything else runs in a thread.
    """

    function: Callable[..., Any]
    history: str
    on_loop: bool

    def __call__(self, message: str, history: History) -> Any:
        if self.history == "named":
            return self.function(message, history=history)
        return self.function(message, history) if self.history == "second" else self.function(message)


@dataclass(frozen=True)
class Later:
    """What a call in a thread gave and only an event loop can finish: an awaitable, say."""

    value: Any


def calling(function: Callable[..., Any]) -> Calling:
    """Raises `ValueError` if it can't be called with a message (and history)."""
    return Calling(function, _history_of(function), is_async(function))


def takes_nothing(function: object) -> bool:
    """Whether it has no parameter that a message could go to: then it is a factory."""
    signature = _signature(function)
    if signature is None:
        return False
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    return all(kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD) for kind in kinds)


def takes_context(function: object) -> bool:
    """Whether it makes an agent of the conversation's context: `context` is all that it has to be given."""
    signature = _signature(function)
    parameter = signature.parameters.get("context") if signature is not None else None
    if signature is None or parameter is None or parameter.kind not in _BY_NAME:
        return False
    others = [one for one in signature.parameters.values() if one is not parameter]
    if isinstance(function, type):
        return not any(map(_is_required, others))
    # With a place for a message, it is a function that answers.
    return not any(one.kind in _PLACES or _is_required(one) for one in others)


def needs_nothing(function: Callable[..., Any]) -> bool:
    """Whether it can be called without an argument."""
    signature = _signature(function)
    return signature is None or not any(map(_is_required, signature.parameters.values()))


def is_async(function: object) -> bool:
    """Whether calling it has to be done on the loop: an async function or generator, or an object as one."""
    plain = function
    while isinstance(plain, partial):
        plain = plain.func
    return any(_is_async_code(candidate) for candidate in (plain, getattr(plain, "__call__", None)))  # noqa: B004


def answering(agent: object) -> Callable[..., Any] | None:
    """What takes the messages of this object: itself, or the first of its `METHODS`.

    Raises `ValueError` for an object of a known framework, unless the project has written such a method.
    """
    framework = framework_of(agent)
    if framework is not None:
        own = own_answering(agent, ("__call__", *METHODS))
        if own is None:
            raise ValueError(complaint(framework))
        return own
    methods = (getattr(agent, name, None) for name in METHODS)
    found = agent if callable(agent) else next((method for method in methods if callable(method)), None)
    # Such a method may be what an object of the project's hands on.
    if (framework := refused_function(found)) is not None:
        raise ValueError(complaint(framework))
    return found


def is_answered_on_loop(kind: type) -> bool:
    """Whether the instances of this class answer in async code: then they are made on the loop too."""
    names = ("__call__", *METHODS)
    return is_async(next((found for name in names if (found := _method_of(kind, name))), None))


def _method_of(kind: type, name: str) -> object:
    """A method of the instances; `kind.__call__` would be that of the metaclass."""
    return next((base.__dict__[name] for base in kind.__mro__ if name in base.__dict__), None)


def _is_async_code(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _signature(function: object) -> inspect.Signature | None:
    """None for what has none that can be read, such as some functions that are written in C."""
    try:
        return inspect.signature(function) if callable(function) else None
    except (ValueError, TypeError):
        return None


def _history_of(function: Callable[..., Any]) -> str:
    signature = _signature(function)
    if signature is None:
        return "none"
    parameters = signature.parameters
    required = [parameter for parameter in parameters.values() if _is_required(parameter)]
    named = parameters.get("history")
    if named is not None and named.kind is not Parameter.POSITIONAL_ONLY:
        return _checked("named", signature, [parameter for parameter in required if parameter is not named])
    if len(required) == 2:
        return _checked("second", signature, required[:1], required[1:])
    return _checked("none", signature, required)


def _checked(
    history: str,
    signature: inspect.Signature,
    message: list[Parameter],
    second: list[Parameter] | None = None,
) -> str:
    """`history`, if the required parameters are one for the message (and that one for the history)."""
    needed = [*message, *(second or ())]
    fits = len(message) <= 1 and all(parameter.kind in _POSITIONAL for parameter in needed)
    places = [parameter for parameter in signature.parameters.values() if parameter.kind in _PLACES]
    has_place = bool(places) and places[0].name != "history"
    if not fits or not has_place:
        raise ValueError(
            f"it takes {signature}, but is called with the message, or with message and history: "
            "give it one parameter, or two of which the second is `history`"
        )
    return history


def _is_required(parameter: Parameter) -> bool:
    variable = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and not variable
