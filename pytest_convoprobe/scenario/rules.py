"""Rules that tie several fields of a scenario together, as pure functions.

Each yields (path below the field, message), for every place that breaks the rule.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeGuard, runtime_checkable

from ..suggest import is_slip_of
from ..text import has_words, is_blank
from ..tool_patterns import matches
from ..yaml_source import Loc

Complaints = Iterator[tuple[Loc, str]]
UNTIL_DONE = "until_done"
FACTS = (
    "times", "at_least", "at_most", "args", "before", "after", "by_turn", "in_turn", "not_before_turn",
)  # fmt: skip
"""The keys of a tool assertion that say something by themselves."""
_PARTS = {"by_turn", "in_turn"}
"""Those that say which turns the others count in."""

# The models use these rules, so the rules say only what they need of the models.


class SimulatedStretch(Protocol):
    """Turns of a script that the user words itself: a number of them, or `until_done`."""

    @property
    def simulate(self) -> int | str: ...


@runtime_checkable
class ScriptAnswer(Protocol):
    """An item of a script that answers what the agent waits for. It takes no turn."""

    @property
    def answer(self) -> str: ...

    @property
    def reason(self) -> str | None: ...


ScriptItem = str | SimulatedStretch | ScriptAnswer


class OnTurn(Protocol):
    """What belongs to one turn."""

    @property
    def turn(self) -> int: ...


class ToolFacts(Protocol):
    """What is asserted of the calls of a tool; `args` is empty where nothing is said of them."""

    @property
    def times(self) -> int | None: ...

    @property
    def at_least(self) -> int | None: ...

    @property
    def at_most(self) -> int | None: ...

    @property
    def args(self) -> Mapping[str, Any]: ...

    @property
    def every(self) -> bool: ...

    @property
    def by_turn(self) -> int | None: ...

    @property
    def in_turn(self) -> int | None: ...

    @property
    def not_before_turn(self) -> int | None: ...


BOOLEAN_WORDS = frozenset(
    ("true", "false", "yes", "no", "on", "off", "null", "none", "~", "y", "n", "t", "f", "nil", "nan")
)
"""What some language or file format takes for a boolean or for nothing."""
_BOOLEAN_WITH_REMARK = re.compile(r"(true|false)\s*([#,;:.!(]|//|$)", re.IGNORECASE)
"""`false # see below`: a remark that quotes have made part of the text."""
_NOT_A_REASON = BOOLEAN_WORDS | {
    "not", "never", "nope", "yep", "yeah", "ok", "enabled", "disabled", "enable", "disable", "active",
    "inactive", "undefined", "default", "oui", "non", "ja", "nein", "si", "sí", "da", "skip", "skipped",
}  # fmt: skip


def turns_of(item: ScriptItem) -> int:
    """How many turns a script's item takes; `until_done` takes one at least."""
    if isinstance(item, str):
        return 1
    if isinstance(item, ScriptAnswer):
        return 0
    return 1 if item.simulate == UNTIL_DONE else int(item.simulate)


def is_open(item: ScriptItem) -> TypeGuard[SimulatedStretch]:
    """Whether the user decides when this part of a script ends."""
    return not isinstance(item, (str, ScriptAnswer)) and item.simulate == UNTIL_DONE


def script_length(script: Sequence[ScriptItem]) -> int:
    """The turns that a script needs, the initial query included."""
    return 1 + sum(turns_of(item) for item in script)


def script_complaints(script: Sequence[ScriptItem], max_turns: int | None) -> Complaints:
    """A script fits into `max_turns` (None: not known), and ends with `until_done` if it has one."""
    for index, item in enumerate(script[:-1]):
        if is_open(item):
            yield (index + 1,), "nothing can follow `simulate: until_done`: the user ends the talk there"
            return
    needed = script_length(script)
    if max_turns is not None and needed > max_turns:
        yield (
            (),
            f"the script needs {needed} turns (the initial query is the first), but `max_turns` is "
            f"{max_turns}; set `max_turns` to {needed} or more",
        )


def landmark_complaints(
    landmarks: Sequence[OnTurn], max_turns: int | None, script: Sequence[ScriptItem]
) -> Complaints:
    """One landmark a turn, and none on a turn that never comes or that the script fills with a message."""
    literal, last = _literal_turns(script), _last_turn(script)
    seen: set[int] = set()
    for index, turn in enumerate(landmark.turn for landmark in landmarks):
        place = (index, "turn")
        if turn in seen:
            yield place, f"turn {turn} has a landmark already; put both instructions into one"
        elif max_turns is not None and turn > max_turns:
            yield place, f"turn {turn} never comes: `max_turns` is {max_turns}"
        elif turn in literal:
            yield (
                place,
                f"turn {turn} is a literal message of the script, which follows no landmark",
            )
        elif last is not None and turn > last:
            yield place, f"turn {turn} never comes: the script ends with turn {last}"
        seen.add(turn)


def _literal_turns(script: Sequence[ScriptItem]) -> set[int]:
    """The turns that a script fills with literal messages."""
    ends = accumulate((turns_of(item) for item in script), initial=1)
    return {before + 1 for before, item in zip(ends, script, strict=False) if isinstance(item, str)}


def _last_turn(script: Sequence[ScriptItem]) -> int | None:
    """The turn that a script ends with, None if the user decides."""
    if not script or is_open(script[-1]):
        return None
    return script_length(script)


def answers_by_turn(script: Sequence[ScriptItem]) -> dict[int, list[ScriptAnswer]]:
    """The answers of a script by the turn of the message before them, in order; turn 1 is the opening."""
    found: dict[int, list[ScriptAnswer]] = {}
    turn = 1
    for item in script:
        turn += turns_of(item)
        if isinstance(item, ScriptAnswer):
            found.setdefault(turn, []).append(item)
    return found


_ONLY_LISTED = "to forbid all tools but those that are listed, write `only_listed: true`"


def prohibition_complaints(prohibited: Sequence[str], allowed: Mapping[str, Sequence[str]]) -> Complaints:
    """No tool is both prohibited and, as the keys of `allowed` say, required or optional."""
    for index, pattern in enumerate(prohibited):
        for kind, names in allowed.items():
            for tool in names:
                if tool == pattern:
                    yield (index,), f"`{tool}` is both prohibited and {kind}"
                elif matches(pattern, tool):
                    yield (index,), f"`{pattern}` prohibits `{tool}`, which is {kind}; {_ONLY_LISTED}"


def assertion_complaints(assertion: ToolFacts, written: Collection[str] = ()) -> Complaints:
    """At least one fact, and none that rules out another. `written` are the keys that the file has."""
    given = {name for name in FACTS if getattr(assertion, name) not in (None, {})}
    if not given:
        yield (), f"this asserts nothing; give it at least one of {', '.join(FACTS)}"
    elif given - _PARTS == {"at_least"} and assertion.at_least == 0:
        yield ("at_least",), "every number of calls is at least 0: this asserts nothing; write 1 or more"
    elif "args" in written and not assertion.args:
        yield ("args",), "this has no condition, so it asserts nothing; name an argument or leave `args` out"
    if assertion.times is not None and given & {"at_least", "at_most"}:
        yield ("times",), "`times` is the exact number; give it alone, or `at_least` and `at_most`"
    if (assertion.at_least or 0) > (assertion.at_most if assertion.at_most is not None else 10**9):
        yield ("at_least",), "`at_least` is more than `at_most`"
    if 0 in (assertion.times, assertion.at_most) and assertion.args:
        yield ("args",), "a tool that must not be called has no arguments to look at"
    if assertion.every and not assertion.args:
        yield ("every",), "`every` goes with `args`: it says that every call must have them"
    yield from _turns_of_one_assertion(assertion)


def _turns_of_one_assertion(assertion: ToolFacts) -> Complaints:
    by, within, first = assertion.by_turn, assertion.in_turn, assertion.not_before_turn
    if by is not None and within is not None:
        yield ("in_turn",), "give `in_turn` or `by_turn`: a call in one turn is also a call by that turn"
    for key, turn in (("by_turn", by), ("in_turn", within)):
        if turn is not None and first is not None and turn < first:
            yield (key,), f"no call may come before turn {first} (`not_before_turn`), so none counts here"


def turn_complaints(
    turns: Iterable[tuple[Loc, int]], max_turns: int, script: Sequence[ScriptItem], *, greets: bool
) -> Complaints:
    """No check is about a turn that never comes; `turns` are those that checks name, with their places.

    `greets` says that the agent speaks first, which is turn 0.
    """
    last, why = max_turns, f"`max_turns` is {max_turns}"
    ends = _last_turn(script)
    if ends is not None and ends < last:
        last, why = ends, f"the script ends with turn {ends}"
    for place, turn in turns:
        if turn > last:
            yield place, f"turn {turn} never comes: {why}"
        elif turn == 0 and not greets:
            yield (
                place,
                "turn 0 is the greeting of an agent that speaks first (`synthetic_user.first: agent`)",
            )
        elif turn == 1 and not greets and place[-1] == "not_before_turn":
            yield (
                place,
                "only the greeting of an agent that speaks first (`synthetic_user.first: agent`) "
                "comes before turn 1: write 2 or more",
            )


def pattern_complaint(pattern: str) -> str | None:
    """What is wrong with a regular expression, if anything."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # a doubtful set is still a pattern
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        place = getattr(error, "pos", None)
        where = f" at character {place + 1}" if place is not None else ""
        return f"not a regular expression{where}: {getattr(error, 'msg', error)}; got `{pattern[:60]}`"
    return None


def skip_complaint(skip: Any) -> str | None:
    """`skip` is a boolean or a reason."""
    if isinstance(skip, bool):
        return None
    if not isinstance(skip, str):
        return "must be true, false or a reason in words"
    word = skip.strip()
    if not word:
        return "must be true, false or a reason; an empty reason is none"
    if word.lower() in BOOLEAN_WORDS:
        return f'"{word}" in quotes is a text and not a boolean; write `skip: true` or `skip: false`'
    if not _is_reason(word) or _BOOLEAN_WITH_REMARK.match(unicodedata.normalize("NFKC", word)):
        # Whoever writes `skip: n` or `skip: "0"` most likely means that the scenario shall run.
        return f'"{word}" is not a reason in words; write `skip: true`, `skip: false` or why it is skipped'
    return None


def _is_reason(text: str) -> bool:
    """Whether it can be read as a reason, and not as a boolean or number with something around it."""
    seen = "".join(character for character in text if character.isspace() or not is_blank(character))
    words = [word.lower() for word in re.findall(r"\w+", seen)]
    letters = [word for word in words if has_words(word) and not word.isnumeric()]
    if not letters or all(len(word) == 1 and word.isascii() for word in letters):
        return False
    if len(words) > 1:
        return not set(words) <= _NOT_A_REASON
    return words[0] not in _NOT_A_REASON and not is_slip_of(words[0], ("true", "false"))
