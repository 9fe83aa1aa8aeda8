"""Tools that a model can't tell apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import combinations

from ..llm.port import ToolSpec
from .schemas import properties_of

_NEAR = 0.93
_MOST_COMPARED = 2_000
"""Characters of a description. Comparing takes time that grows with their square."""


def pairs_alike(tools: Sequence[ToolSpec]) -> Iterator[tuple[ToolSpec, ToolSpec, str]]:
    """Each pair with the reason, in words."""
    for one, other in combinations(tools, 2):
        if why := _why(one, other):
            yield one, other, why


def _why(one: ToolSpec, other: ToolSpec) -> str:
    if one.name == other.name:
        return "both have the same name"
    if _bare(one.name) == _bare(other.name):
        return "the names differ in case and signs only"
    said, other_said = _words(one.description), _words(other.description)
    if not said or not other_said:
        return ""
    if said == other_said:
        return "both have the same description"
    # Opposites such as "Start the server" and "Stop the server" are near, so one word is a difference.
    if _parameters(one) == _parameters(other) and _near(said, other_said) and not _swapped(said, other_said):
        return "their descriptions say nearly the same, and their parameters are the same"
    return ""


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text[:_MOST_COMPARED].casefold())


def _parameters(tool: ToolSpec) -> set[str]:
    return set(properties_of(tool.parameters))


def _near(said: list[str], other: list[str]) -> bool:
    matcher = SequenceMatcher(None, said, other, autojunk=False)
    return matcher.real_quick_ratio() >= _NEAR and matcher.ratio() >= _NEAR


_FILLERS = frozenset("a an the of for to in on by with and or given your its this that from".split())


def _swapped(said: list[str], other: list[str]) -> bool:
    """Whether each has a word of content that the other lacks."""
    own, others = set(said) - set(other) - _FILLERS, set(other) - set(said) - _FILLERS
    return bool(own and others)
