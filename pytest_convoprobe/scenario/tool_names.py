"""Names of tools in a scenario, and what a target has no tool for. Each may be a pattern."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol

from ..suggest import plain_name, suggest
from ..tool_patterns import is_pattern, matches

_NAMESPACE = re.compile(r"__|[./:]")
_TYPO = 0.75
_LONG_ENOUGH = 3
_WHOLE_TYPO = 0.9
_SAYS_NOTHING = frozenset(("tool", "tools", "function", "fn"))


class ToolAssertions(Protocol):
    """Assertions about the calls of one tool."""

    @property
    def tool(self) -> str: ...

    @property
    def assertions(self) -> Sequence[object]:
        """Conditions for code may name other tools, as `before` and `after`; sentences for the judge
        don't.
        """


class NamesTool(Protocol):
    """One of several calls."""

    @property
    def tool(self) -> str: ...


class ListsCalls(Protocol):
    """A list of calls. An agent that makes none of them may still be right, unless it `needs_calls`."""

    @property
    def calls(self) -> Sequence[NamesTool]: ...

    @property
    def needs_calls(self) -> bool: ...


class NamesTools(Protocol):
    """All that a scenario says of tools."""

    @property
    def required_tools(self) -> Sequence[str]: ...

    @property
    def optional_tools(self) -> Sequence[str]: ...

    @property
    def prohibited_tools(self) -> Sequence[str]: ...

    @property
    def only_listed(self) -> bool: ...

    @property
    def tool_call_criteria(self) -> Sequence[ToolAssertions]: ...

    @property
    def expected_calls(self) -> ListsCalls | None: ...


@dataclass(frozen=True)
class ToolName:
    """One name of a tool in a scenario, and the key that it is in.

    A name that is `needed` is one without which the scenario makes no sense. Others, such as a prohibited
    one, may be meant as a precaution.
    """

    key: str
    name: str
    needed: bool

    def known_in(self, tools: Iterable[str]) -> bool:
        return any(matches(self.name, tool) for tool in tools)


class NamesFaultyTool(Protocol):
    """A fault in calls of a tool. Without a call it is an error, unless it is `optional`.

    `tool` is None where it is about calls of something else.
    """

    @property
    def tool(self) -> str | None: ...

    @property
    def optional(self) -> bool: ...


def names_in(
    usage: NamesTools,
    ends_with: Sequence[str] = (),
    faults: Sequence[NamesFaultyTool] = (),
    approvals: Sequence[str] = (),
) -> Iterator[ToolName]:
    """Every name of a tool that the scenario depends on. A call of those in `ends_with` ends it.

    An optional tool matters only where the others are forbidden. `approvals` are the tools of the rules for
    permissions: with a misspelt one, the next rule would answer.
    """
    yield from (ToolName("synthetic_user.approvals", name, False) for name in approvals)
    yield from (ToolName("synthetic_user.ends_with_tools", name, True) for name in ends_with)
    yield from (ToolName("faults", fault.tool, not fault.optional) for fault in faults if fault.tool)
    lists = (
        ("required_tools", usage.required_tools, True),
        ("optional_tools", usage.optional_tools if usage.only_listed else (), False),
        ("prohibited_tools", usage.prohibited_tools, False),
    )
    for key, names, needed in lists:
        yield from (ToolName(key, name, needed) for name in names)
    expected = usage.expected_calls
    for name in dict.fromkeys(call.tool for call in expected.calls) if expected else ():
        yield ToolName("expected_calls", name, expected is not None and expected.needs_calls)
    for criterion in usage.tool_call_criteria:
        yield ToolName("tool_call_criteria", criterion.tool, not _forbids(criterion))
        for assertion in criterion.assertions:
            for side in ("before", "after"):
                other = getattr(assertion, side, None)
                if other is not None:
                    yield ToolName(f"tool_call_criteria, `{side}`", other, True)


def _forbids(criterion: ToolAssertions) -> bool:
    """Whether the criterion only says that the tool isn't called."""
    zero = [0 in (getattr(one, "times", None), getattr(one, "at_most", None)) for one in criterion.assertions]
    return bool(zero) and all(zero)


@dataclass(frozen=True)
class NameFindings:
    """What is wrong with a scenario's names, and what is only worth a note."""

    problems: tuple[str, ...]
    notes: tuple[str, ...]


def compare_names(
    usage: NamesTools,
    tools: Sequence[str],
    ends_with: Sequence[str] = (),
    faults: Sequence[NamesFaultyTool] = (),
    approvals: Sequence[str] = (),
) -> NameFindings:
    """The scenario's names beside the tools that the target has.

    A name without a tool is a problem if it is needed, or if it resembles a tool. Otherwise it is a
    precaution that can't fail, which is a note. Whoever allows a tool by its exact name knows that one: it
    isn't what another name was meant to be.
    """
    allowed = {*usage.required_tools, *usage.optional_tools}
    others = [tool for tool in tools if tool not in allowed]
    problems, notes = [], []
    for one in names_in(usage, ends_with, faults, approvals):
        if one.known_in(tools):
            continue
        near = resembling(one.name, tools if one.needed else others)
        what = "no tool of the target matches" if is_pattern(one.name) else "the target has no tool"
        if one.needed or near:
            guess = near or suggest(one.name, tools)
            advice = _advice(guess, tools)
            if near and not one.needed and one.key != "optional_tools":
                # A precaution against `charge_card` beside a tool `change_card`: only the author knows.
                advice += f" If not, allow that one: `optional_tools: [{near}]`"
            problems.append(f"{one.key}: {what} `{one.name}`{advice}")
        elif one.key != "optional_tools":
            notes.append(f"{one.key}: {what} `{one.name}`, so this can't fail")
    return NameFindings(tuple(problems), tuple(notes))


def _advice(guess: str | None, tools: Sequence[str]) -> str:
    if guess:
        return f"; did you mean `{guess}`?"
    listed = ", ".join(f"`{tool}`" for tool in tools[:12])
    return f"; its tools are {listed}{' …' if len(tools) > 12 else ''}" if tools else "; it has no tools"


def resembling(name: str, tools: Iterable[str]) -> str | None:
    """The tool that is meant by a name that is slightly wrong; stricter than `suggest`.

    Spelling, word order and the namespace of a server may differ (`deleteOrder`, `delete_ordr`,
    `mcp__shop__delete_order`). Another verb is another tool: `get_order` doesn't resemble `set_order`.
    """
    return next((tool for tool in tools if same_but_spelling(name, tool) or _is_typo(name, tool)), None)


def same_but_spelling(name: str, tool: str) -> bool:
    """Whether the two differ in case, separators or namespace only; the name may be a pattern."""
    pairs = [(name, tool)]
    if _namespaced(name) != _namespaced(tool):
        pairs.append((_bare(name), _bare(tool)))
    return any(fnmatchcase(_squashed(b), _squashed(a, keep="*?[]")) for a, b in pairs)


def _is_typo(name: str, tool: str) -> bool:
    if is_pattern(name):
        # Only a fixed start or end can be compared: `delte_*` and the first word of `delete_order`.
        parts, words = re.split(r"[*?]|\[.*?\]", name), _words(tool)
        start, end = _words(parts[0]), _words(parts[-1])
        near_start = bool(start) and _near_words(start, words[: len(start)])
        near_end = bool(end) and _near_words(end, words[-len(end) :])
        return (near_start or near_end) and all((near_start or not start, near_end or not end))
    name, tool = (_bare(name), _bare(tool)) if _namespaced(name) != _namespaced(tool) else (name, tool)
    one, other = _telling_words(name), _telling_words(tool)
    return _near_words(one, other) or sorted(one) == sorted(other) or _near_whole(name, tool)


def _near_words(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) == len(other) and all(map(_near_word, one, other))


def _near_word(one: str, other: str) -> bool:
    """The first letter is seldom wrong, and what differs there is another word: `lock`, `unlock`."""
    if one == other:
        return True
    long = min(len(one), len(other)) >= _LONG_ENOUGH
    return long and one[0] == other[0] and _ratio(one, other) >= _TYPO


def _near_whole(one: str, other: str) -> bool:
    first, second = _squashed(one), _squashed(other)
    return first[:1] == second[:1] and _ratio(first, second) >= _WHOLE_TYPO


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", plain_name(name)) if word]


def _telling_words(name: str) -> list[str]:
    """The words without those that some libraries add to every name: `delete_order_tool`."""
    words = _words(name)
    return [word for word in words if word not in _SAYS_NOTHING] or words


def _squashed(name: str, keep: str = "") -> str:
    """The letters and digits alone, in lower case."""
    return "".join(character for character in name.lower() if character.isalnum() or character in keep)


def _namespaced(name: str) -> bool:
    return _NAMESPACE.search(name) is not None


def _bare(name: str) -> str:
    """The name without the server or module before it: `delete_order` of `mcp__shop__delete_order`."""
    return _NAMESPACE.split(name)[-1]
