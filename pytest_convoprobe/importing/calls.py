"""Expected calls of tools, in the form of scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .literal_text import literal

OTHER_ARGUMENTS = "these arguments have to be so; others may be there as well, which failed before"
"""Why a call with arguments is checked in another way than by a tool that compares all of them."""


def conditions(args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that have to be these values; others may be there as well."""
    return {literal(name): {"equals": value} for name, value in args.items() if name.strip()}


def some_call(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """A criterion on a tool: it is called at least once with these arguments."""
    wanted = conditions(args)
    return {"tool": tool, "assertions": [{"args": wanted} if wanted else {"at_least": 1}]}


def exact_call(tool: str, args: Mapping[str, Any] | None) -> dict[str, Any]:
    """A call in a list of expected ones, with these arguments; any arguments if they are None."""
    wanted = conditions(args or {})
    return {"tool": tool, "args": wanted} if wanted else {"tool": tool}
