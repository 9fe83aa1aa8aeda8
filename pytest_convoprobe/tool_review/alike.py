"""Tools that a model can't tell apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

from ..llm.port import ToolSpec
from .schemas import properties_of

_NEAR = 0.93
_MOST_COMPARED = 2_000
"""Characters of a description. Comparing takes time that grows with their square."""


@dataclass(frozen=True)
class _Seen:
    """What is compared of a tool, made once: of hundreds of tools, there are many thousands of pairs."""

    tool: ToolSpec
    bare: str
    said: list[str]
    words: frozenset[str]
    parameters: frozenset[str]

    @classmethod
    def of(cls, tool: ToolSpec) -> _Seen:
        said = _words(tool.description)
        return cls(tool, _bare(tool.name), said, frozenset(said), frozenset(properties_of(tool.parameters)))


def pairs_alike(tools: Sequence[ToolSpec]) -> Iterator[tuple[ToolSpec, ToolSpec, str]]:
    """Each pair with the reason, in words."""
    for one, other in combinations(map(_Seen.of, tools), 2):
        if why := _why(one, other):
            yield one.tool, other.tool, why


def _why(one: _Seen, other: _Seen) -> str:
    if one.tool.name == other.tool.name:
        return "both have the same name"
    if one.bare == other.bare:
        return "the names differ in case and signs only"
    if not one.said or not other.said:
        return ""
    if one.said == other.said:
        return "both have the same description"
    # Opposites such as "Start the server" and "Stop the server" are near, so one word is a difference.
    # The slow comparison comes last.
    if (
        one.parameters == other.parameters
        and not _swapped(one.words, other.words)
        and _near(one.said, other.said)
    ):
        return "their descriptions say nearly the same, and their parameters are the same"
    return ""


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text[:_MOST_COMPARED].casefold())


def _near(said: list[str], other: list[str]) -> bool:
    matcher = SequenceMatcher(None, said, other, autojunk=False)
    return all(ratio() >= _NEAR for ratio in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio))


_FILLERS = frozenset("a an the of for to in on by with and or given your its this that from".split())


def _swapped(said: frozenset[str], other: frozenset[str]) -> bool:
    """Whether each has a word of content that the other lacks."""
    own, others = said - other - _FILLERS, other - said - _FILLERS
    return bool(own and others)
