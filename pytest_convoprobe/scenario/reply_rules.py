"""What checks of replies may say, as pure functions. Each yields the place and what is wrong there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..suggest import plain_name
from ..yaml_source import Loc
from .condition_words import ELSEWHERE

PRESENCE = ("contains", "matches", "equals", "json")
"""The checks that one reply can show. Without a `turn` they are about any."""
ABSENCE = ("not_contains", "not_matches", "language", "length")
"""The checks that each reply can break. Without a `turn` they are about all."""
TEXT_CHECKS = ("contains", "not_contains", "matches", "not_matches", "equals")
"""The checks in which upper and lower case may count."""
CHECKS = (*TEXT_CHECKS, "json", "language", "length")

_FORBIDS = {"not_contains", "not_matches"}
_IGNORE_CASE = "with `ignore_case: true`"
_REPLIES = {
    "icontains": f"`contains` {_IGNORE_CASE}",
    "iequals": f"`equals` {_IGNORE_CASE}",
    "not_icontains": f"`not_contains` {_IGNORE_CASE}",
    "case_insensitive": "`ignore_case`",
    "case_sensitive": "`ignore_case`",
    "contains_any": "`matches`, such as `matches: refund|replacement`",
    "starts_with": "`matches`, such as `matches: ^Hello`",
    "startswith": "`matches`, such as `matches: ^Hello`",
    "ends_with": "`matches`, such as `matches: goodbye$`",
    "endswith": "`matches`, such as `matches: goodbye$`",
    "is_json": "`json: true`",
    "contains_json": "`json`",
    "lang": "`language`",
    "turns": "`turn`",
    "in_turn": "`turn`",
    "characters": "`length: {characters: …}`",
    "words": "`length: {words: …}`",
    "max_length": "`length: {characters: {at_most: …}}`",
    "min_length": "`length: {characters: {at_least: …}}`",
}


def foreign_keys(keys: Mapping[str, object]) -> Iterator[tuple[Loc, str]]:
    """Keys that other systems have for these checks, each with what to write."""
    for key in keys:
        plain = plain_name(str(key))
        meant = ELSEWHERE.get(plain, "")
        advice = _REPLIES.get(plain) or (f"`{meant}`" if meant in CHECKS else "")
        if advice and key not in CHECKS:
            yield (key,), f"unknown check of replies; write {advice}"


def reply_complaints(given: Mapping[str, object]) -> Iterator[tuple[Loc, str]]:
    """A check says something, it is clear of which replies, and some replies can break it.

    `given` are the values that the file has, by their keys.
    """
    checks = [key for key in CHECKS if key in given]
    turn = given.get("turn")
    if not checks:
        yield (), f"this checks nothing; give it at least one of {', '.join(CHECKS)}"
    if turn is None and {*checks} & {*PRESENCE} and {*checks} & {*ABSENCE}:
        yield (
            (),
            "say which replies this is about, with `turn`: `any` (one fulfils all of it), `all`, `last` "
            "or a number; or make two checks of it",
        )
    if turn == "any" and checks and {*checks} <= _FORBIDS:
        yield ("turn",), "one reply without it is enough for `any`; for no reply at all, write `all`"
    if given.get("ignore_case") and not {*checks} & {*TEXT_CHECKS}:
        yield ("ignore_case",), f"this goes with {', '.join(TEXT_CHECKS)}"
    yield from _empty(given)


def _empty(given: Mapping[str, object]) -> Iterator[tuple[Loc, str]]:
    for key in ("contains", "not_contains", "turn", "json"):
        if given.get(key, True) in ((), {}):
            yield (key,), "this is empty, so it says nothing; name something or leave the key out"
    for key in ("matches", "not_matches"):
        if given.get(key) == "":
            yield (key,), "every reply has an empty part; say what to look for"


def bounds_complaints(least: int | None, most: int | None) -> Iterator[tuple[Loc, str]]:
    """Bounds that some length can break, and some can keep."""
    if most is None and not least:
        yield (), "every reply is that long; give it `at_most`, or an `at_least` of 1 or more"
    if most is not None and (least or 0) > most:
        yield ("at_least",), "`at_least` is more than `at_most`"
