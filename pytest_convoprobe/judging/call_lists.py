"""The calls of a conversation beside the list of those that a scenario expects. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..scenario.call_lists import ExpectedCall, ExpectedCalls
from ..text import shorten
from ..tool_patterns import matches
from ..transcript import ToolCall
from .arguments import unmet, wanted
from .transcript_view import call_line
from .types import CheckResult

EXPECTED_CALLS = "expected calls"
"""How the names of these checks begin."""

_ONE = 150
_ALL = 600
_EXACT = ("strict", "unordered", "subset")
_ORDERED = ("strict", "in_order")
_WORDS = {
    "strict": "exactly these calls, in this order",
    "in_order": "these calls in this order",
    "unordered": "exactly these calls, in any order",
    "superset": "these calls, in any order",
    "subset": "no calls but these, each at most once",
}

Place = tuple[int, ToolCall]
"""A call with the number of its turn."""


def list_of_calls(expected: ExpectedCalls, uses: Sequence[Place], others: Sequence[Place]) -> CheckResult:
    """The check of a list of calls. `others` are the calls that were no uses of their tools."""
    found = _Comparison(expected, uses, others)
    wanted_calls = shorten("; ".join(map(_call, expected.calls)), _ALL) or "no call"
    name = f"{EXPECTED_CALLS} ({expected.order})"
    problems = [*found.missing_words(), *found.extra_words(), *found.order_words()]
    said = "; ".join(problems) or f"{len(uses)} of {len(uses) + len(others)} calls are these"
    return CheckResult(name, not problems, f"{_WORDS[expected.order]}: {wanted_calls}", said, found.turn)


@dataclass(frozen=True)
class _Comparison:
    expected: ExpectedCalls
    uses: Sequence[Place]
    others: Sequence[Place]

    @cached_property
    def fits(self) -> list[list[int]]:
        """For each expected call, the uses that it may stand for."""
        return [
            [at for at, (_, call) in enumerate(self.uses) if _is(one, call)] for one in self.expected.calls
        ]

    @cached_property
    def pairs(self) -> dict[int, int]:
        """As many expected calls as can have a use of their own, each with it."""
        return matching(self.fits)

    @cached_property
    def missing(self) -> list[int]:
        """Expected calls that were not made."""
        if self.expected.order == "subset":
            return []
        return [at for at in range(len(self.expected.calls)) if at not in self.pairs]

    @cached_property
    def extra(self) -> list[Place]:
        """Calls that nobody expected."""
        if self.expected.order not in _EXACT:
            return []
        known = set(self.pairs.values())
        left = [one for at, one in enumerate(self.uses) if at not in known]
        # An attempt breaks a prohibition; but one at a call that may be made isn't another call.
        failed = [(turn, call) for turn, call in self.others if not self._is_expected(call)]
        return sorted([*left, *failed], key=lambda one: one[0])

    @cached_property
    def is_in_order(self) -> bool:
        """Whether the expected calls come in their order, one after the other."""
        if self.expected.order not in _ORDERED:
            return True
        after = -1
        for places in self.fits:
            after = next((at for at in places if at > after), len(self.uses))
        return after < len(self.uses) or not self.fits

    @property
    def turn(self) -> int | None:
        """The turn of the first call that is wrong, or of the one nearest to a missing one."""
        if self.extra:
            return self.extra[0][0]
        if self.missing:
            nearest = self._nearest(self.expected.calls[self.missing[0]])
            return None if nearest is None else nearest[0]
        return None if self.is_in_order else self._first_out_of_order()[0]

    def missing_words(self) -> Iterator[str]:
        for at in self.missing[:3]:
            one = self.expected.calls[at]
            yield f"call {at + 1} is missing: {shorten(_call(one), _ONE)}{self._nearest_words(one)}"
        if len(self.missing) > 3:
            yield f"{len(self.missing) - 3} more are missing"

    def extra_words(self) -> Iterator[str]:
        for turn, call in self.extra[:3]:
            yield f"not expected: {_shown(call)} in turn {turn}"
        if len(self.extra) > 3:
            yield f"{len(self.extra) - 3} more were not expected"

    def order_words(self) -> Iterator[str]:
        """That the order is another one, where that is all."""
        if not (self.missing or self.extra or self.is_in_order):
            turn, call = self._first_out_of_order()
            made = ", then ".join(f"{_shown(call)} in turn {turn}" for turn, call in self.uses[:6])
            more = " …" if len(self.uses) > 6 else ""
            yield f"another order: {shorten(made, _ALL)}{more}; {call.name} in turn {turn} comes too early"

    def _first_out_of_order(self) -> Place:
        """The first use that is not the next expected call, where all of them were made."""
        after = 0
        for places in self.fits:
            while after < len(self.uses) and after not in places:
                if self.expected.order == "strict" or after in self.pairs.values():
                    return self.uses[after]
                after += 1
            after += 1
        return self.uses[-1]

    def _is_expected(self, call: ToolCall) -> bool:
        return any(_is(one, call) for one in self.expected.calls)

    def _nearest(self, one: ExpectedCall) -> Place | None:
        """The call of the same tool with the fewest mistakes, unless it is another one of the list."""
        known = {id(self.uses[at][1]) for at in self.pairs.values()}
        calls = [place for place in (*self.uses, *self.others) if matches(one.tool, place[1].name)]
        free = [place for place in calls if id(place[1]) not in known]
        return min(free, key=lambda place: len(unmet(one.args, place[1].arguments)), default=None)

    def _nearest_words(self, one: ExpectedCall) -> str:
        nearest = self._nearest(one)
        if nearest is None:
            return ""
        turn, call = nearest
        wrong = list(unmet(one.args, call.arguments))
        wrong += ["it was not carried out"] if not call.executed else ["it failed"] if call.failed else []
        where = f"{_shown(call)} in turn {turn}, where {' and '.join(wrong)}"
        return f" (the nearest is {where})" if wrong else ""


def matching(fits: Sequence[Sequence[int]]) -> dict[int, int]:
    """A largest set of pairs, each of an item and one of the places that it fits, no place twice.

    Items may fit the same places, so that taking the first free one isn't enough. Earlier items and earlier
    places come first.
    """
    taken: dict[int, int] = {}

    def place(item: int, tried: set[int]) -> bool:
        for at in fits[item]:
            if at not in tried:
                tried.add(at)
                # Whoever has the place moves, if there is another one for it.
                if at not in taken or place(taken[at], tried):
                    taken[at] = item
                    return True
        return False

    for item in range(len(fits)):
        place(item, set())
    return dict(sorted((item, at) for at, item in taken.items()))


def _is(one: ExpectedCall, call: ToolCall) -> bool:
    return matches(one.tool, call.name) and not unmet(one.args, call.arguments)


def _call(one: ExpectedCall) -> str:
    return f"{one.tool} with {wanted(one.args)}" if one.args else one.tool


def _shown(call: ToolCall) -> str:
    return shorten(call_line(call), _ONE)
