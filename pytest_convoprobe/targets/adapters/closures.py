"""What a function of the project makes use of: agents and tools that a framework can't list for it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator


def values_used_by(function: object, own: tuple[str, ...]) -> Iterator[object]:
    """The values of the names in a function, those of its module and those around it.

    Nothing for what isn't written in Python, and for functions of modules that begin with one of `own`: a
    framework's own functions use nothing of the project's that isn't found elsewhere.
    """
    while hasattr(function, "func"):  # a partial
        function = function.func
    function = inspect.unwrap(function) if callable(function) else None
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function) or function.__module__.startswith(own):
        return
    names = inspect.getclosurevars(function)
    yield from (*names.nonlocals.values(), *names.globals.values())
