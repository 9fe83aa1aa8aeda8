"""What speaks in a turn: the quotes of criteria, the checks that fail there, and the tools that failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...judging.types import CheckResult, CriterionResult
from ...text import shorten
from .anchors import finding_anchor, turn_anchor
from .turns import shown

_NAME = 40
_ICONS = {True: "passed", False: "failed", None: "error"}
_WORDS = {True: "holds", False: "does not hold", None: "not decided"}


@dataclass(frozen=True)
class Mark:
    """A mark at a turn. `icon` and `word` say what it speaks for, `to` is the anchor that it leads to.

    `is_call`: that is a call of a tool, in the turn itself.
    """

    icon: str
    word: str
    label: str
    title: str
    to: str
    is_call: bool = False


def icon_of(holds: bool | None) -> str:
    """The symbol of a finding."""
    return _ICONS[holds]


def word_of(holds: bool | None) -> str:
    """What the symbol says."""
    return _WORDS[holds]


def marks_by_turn(
    trial: str,
    criteria: Sequence[CriterionResult],
    checks: Sequence[CheckResult],
    turns: Sequence[Mapping[str, Any]],
) -> Mapping[int, list[Mark]]:
    """The marks of each turn that has some: by its number. `trial` is the anchor of the trial."""
    found: defaultdict[int, list[Mark]] = defaultdict(list)
    marks = (*_of_criteria(trial, criteria), *_of_checks(trial, checks), *_of_calls(trial, turns))
    for number, mark in marks:
        found[number].append(mark)
    return found


def _of_criteria(trial: str, criteria: Sequence[CriterionResult]) -> Iterator[tuple[int, Mark]]:
    for one in criteria:
        if isinstance(one.turn, int) and one.quote is not None:
            name, to = shown(one.criterion.id), finding_anchor(trial, one.criterion.id)
            title = f"Evidence for: {shown(one.criterion.text)}"
            yield one.turn, Mark(_ICONS[one.holds], _WORDS[one.holds], name, title, to)


def _of_checks(trial: str, checks: Sequence[CheckResult]) -> Iterator[tuple[int, Mark]]:
    for number, check in enumerate(checks, 1):
        if isinstance(check.turn, int) and not check.holds:
            name, to = shown(shorten(check.name, _NAME)), finding_anchor(trial, f"check-{number}")
            title = f"Check: {shown(check.name)}"
            yield check.turn, Mark(_ICONS[False], _WORDS[False], name, title, to)


def _of_calls(trial: str, turns: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mark]]:
    for turn in turns:
        for number, call in enumerate(turn["calls"], 1):
            if call["failed"]:
                name, to = shorten(call["name"], _NAME), call_anchor(trial, turn["n"], number)
                yield turn["n"], Mark("error", "failed", f"{name} failed", f"Tool: {call['name']}", to, True)


def call_anchor(trial: str, turn: int, number: int) -> str:
    """Of a call of a tool: the first of its turn has number 1."""
    return f"{turn_anchor(trial, turn)}-call-{number}"
