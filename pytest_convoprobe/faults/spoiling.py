"""What becomes of a tool's result under a fault. Pure functions."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..excerpts import as_text
from .rules import FaultRule

_LOST = "\N{REPLACEMENT CHARACTER}"


class ToolFailed(Exception):
    """What a tool raises under an injected fault.

    Agents and their models read the name and the words, so neither shows that somebody injected it.
    """


class ToolTimedOut(ToolFailed, TimeoutError):
    """The same for a timeout: code that waits for tools catches `TimeoutError`."""


def error_of(rule: FaultRule) -> ToolFailed:
    """The error in which the call ends."""
    return (ToolTimedOut if rule.kind == "timeout" else ToolFailed)(rule.error)


def fixed_result(rule: FaultRule) -> Any:
    """A copy of the result that the rule names: agents may change what they get."""
    return copy.deepcopy(rule.result)


def spoiled(rule: FaultRule, result: Any) -> Any:
    """The result of a call that was carried out, as the agent gets it."""
    if rule.kind == "empty":
        return emptied(result)
    if rule.kind == "truncated":
        return truncated(as_text(result), rule.length)
    return corrupted(as_text(result)) if rule.kind == "corrupted" else result


def emptied(result: Any) -> Any:
    """Nothing, in the form of the result: `""`, `[]`, `{}`, or None."""
    if isinstance(result, str):
        return ""
    if isinstance(result, Mapping):
        return {}
    return [] if isinstance(result, (list, tuple)) else None


def truncated(text: str, length: int | None) -> str:
    """The start of a text: `length` characters, by default half of it."""
    return text[: len(text) // 2 if length is None else length]


def corrupted(text: str) -> str:
    """The text with all digits and every second letter lost. No number survives, and the words hardly do."""
    return "".join(
        _LOST if letter.isdigit() or (letter.isalpha() and place % 2) else letter
        for place, letter in enumerate(text)
    )
