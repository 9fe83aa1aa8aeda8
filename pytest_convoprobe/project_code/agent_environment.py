"""Environment variables that the agent's code gets, and what they were before.

The agent's own clients read them when they are made, often at the import of its module. Calls of ours must
not: whoever looks up such a variable for a model of the settings asks `own_variable`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_before: dict[str, str | None] = {}


@contextmanager
def agent_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set these variables for the time of a block; afterwards they are as before.

    One block at a time sets a variable: inside another one that set it already, it stays as it is.
    """
    mine = {name: value for name, value in values.items() if name not in _before}
    _before.update({name: os.environ.get(name) for name in mine})
    os.environ.update(mine)
    try:
        yield
    finally:
        for name, value in mine.items():
            _put_back(name, value)


def _put_back(name: str, ours: str) -> None:
    """The value from before, unless somebody else has set the variable since."""
    before = _before.pop(name)
    if os.environ.get(name) != ours:
        return
    if before is None:
        del os.environ[name]
    else:
        os.environ[name] = before


def own_variable(name: str) -> str | None:
    """The variable as it was before the agent got another value; None if it isn't set."""
    return _before[name] if name in _before else os.environ.get(name)


def own_environment() -> dict[str, str]:
    """All variables as they were before."""
    unset = {name for name, value in _before.items() if value is None}
    known = {name: value for name, value in _before.items() if value is not None}
    return {name: value for name, value in {**os.environ, **known}.items() if name not in unset}
