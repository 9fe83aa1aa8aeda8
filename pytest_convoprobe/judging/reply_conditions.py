"""Whether one reply is what a check of replies asks for, and that in words. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..formatting import counted
from ..outside_json import read_json
from ..scenario.languages import in_words
from ..scenario.reply_checks import CountBounds, ReplyCheck, texts_of
from ..text import one_line, shorten
from .arguments import unmet, wanted
from .patterns import is_found
from .said_text import as_seen, code_blocks, comparable, pattern_as_seen, prose
from .spoken_language import spoken_in

_QUOTED = 120
_PART = 60
# Around a part that was found: so much that one sees what it is about.
_AROUND = 40
# Thai, Lao, Burmese, Khmer, Japanese and Chinese. Korean has spaces.
_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Fulfilled(Enum):
    """Whether a reply fulfils a condition. `SAYS_NOTHING`: it has nothing that the condition is about."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"
    SAYS_NOTHING = "says nothing"


@dataclass(frozen=True)
class ReplyFinding:
    """What a reply is: for `NO` what was found, for the last two answers why nobody can tell, and advice."""

    answer: Fulfilled
    found: str = ""
    advice: str = ""


Look = Callable[[ReplyCheck, str], ReplyFinding]


def looked_at(check: ReplyCheck, text: str) -> ReplyFinding:
    """What a reply with this text is for the check as a whole: one condition that it breaks is enough."""
    findings = [look(check, text) for name, (_, look) in _CONDITIONS.items() if _is_given(check, name)]
    for answer in (Fulfilled.NO, Fulfilled.UNCLEAR, Fulfilled.SAYS_NOTHING):
        found = [one for one in findings if one.answer is answer]
        if found:
            return ReplyFinding(answer, " and ".join(one.found for one in found), found[0].advice)
    return ReplyFinding(Fulfilled.YES, quoted(text))


def words_of(check: ReplyCheck) -> str:
    """What a reply has to be: `contains "refund" and is in German`."""
    given = (words(check) for name, (words, _) in _CONDITIONS.items() if _is_given(check, name))
    return " and ".join(given) + (" (ignoring case)" if check.ignore_case else "")


def quoted(text: str, limit: int = _QUOTED) -> str:
    """A text in quote marks, cut."""
    return json.dumps(shorten(one_line(text), limit), ensure_ascii=False)


def _is_given(check: ReplyCheck, name: str) -> bool:
    return getattr(check, name) is not None


def _listed(parts: Iterable[str], word: str) -> str:
    return f" {word} ".join(quoted(part, _PART) for part in parts)


def _contains(check: ReplyCheck, text: str) -> ReplyFinding:
    said = comparable(text, check.ignore_case)
    missing = [part for part in texts_of(check.contains) if comparable(part, check.ignore_case) not in said]
    if not missing:
        return ReplyFinding(Fulfilled.YES)
    return ReplyFinding(Fulfilled.NO, f"no {_listed(missing, 'and no')} in {quoted(text)}")


def _contains_not(check: ReplyCheck, text: str) -> ReplyFinding:
    said = comparable(text, check.ignore_case)
    for part in texts_of(check.not_contains):
        place = said.find(comparable(part, check.ignore_case))
        if place >= 0:
            # As it was written, unless there are letters whose lower case is longer.
            line = comparable(text, False)
            line = line if len(line) == len(said) else said
            around = line[max(0, place - _AROUND) : place + len(part) + _AROUND]
            return ReplyFinding(Fulfilled.NO, f"{quoted(part, _PART)} in {quoted(around)}")
    return ReplyFinding(Fulfilled.YES)


def _has(pattern: str | None, check: ReplyCheck, text: str) -> bool:
    """Whether it is found in what a reader sees, or in what was written: an escape means one character."""
    forms = {(pattern_as_seen(pattern or ""), as_seen(text)), (pattern or "", text)}
    return any(is_found(one, said, "a reply", ignore_case=check.ignore_case) for one, said in forms)


def _matches(check: ReplyCheck, text: str) -> ReplyFinding:
    return _yes_or(_has(check.matches, check, text), quoted(text))


def _matches_not(check: ReplyCheck, text: str) -> ReplyFinding:
    return _yes_or(not _has(check.not_matches, check, text), quoted(text))


def _equals(check: ReplyCheck, text: str) -> ReplyFinding:
    same = comparable(check.equals or "", check.ignore_case) == comparable(text, check.ignore_case)
    return _yes_or(same, quoted(text))


def _yes_or(holds: bool, found: str) -> ReplyFinding:
    return ReplyFinding(Fulfilled.YES if holds else Fulfilled.NO, found)


def _json(check: ReplyCheck, text: str) -> ReplyFinding:
    try:
        data = _data_of(text)
    except ValueError as error:
        return ReplyFinding(Fulfilled.NO, f"{error}: {quoted(text)}")
    wrong = () if isinstance(check.in_json, bool) else unmet(check.in_json or {}, data)
    return _yes_or(not wrong, " and ".join(wrong))


def _data_of(text: str) -> Any:
    """The mapping or list that a reply is, or that the only block of JSON in it is."""
    whole = list(_read([text]))
    found = whole or list(_read(code_blocks(text)))
    if len(found) == 1:
        return found[0]
    raise ValueError(f"{len(found)} blocks of JSON" if found else "no mapping or list in JSON")


def _read(texts: Iterable[str]) -> Iterator[Any]:
    for text in texts:
        try:
            data = read_json(text)
        except ValueError:
            continue
        # A reply of a number or a word is JSON too, and says nothing of a form.
        if isinstance(data, (dict, list)):
            yield data


def _language(check: ReplyCheck, text: str) -> ReplyFinding:
    wanted_language = check.language
    assert wanted_language is not None  # noqa: S101 - the check has it, or nobody asks
    said = prose(text)
    if not any(map(str.isalpha, said)):
        return ReplyFinding(
            Fulfilled.SAYS_NOTHING, f"has no words that are in a language: {quoted(text)}", _ANOTHER_TURN
        )
    spoken = spoken_in(said, wanted_language.one_of, wanted_language.among)
    if spoken.as_wanted is None:
        advice = _ANOTHER_TURN if wanted_language.among else _AMONG
        reason = f"is too short, or too near to another language (most likely {spoken.nearest})"
        return ReplyFinding(Fulfilled.UNCLEAR, f"{reason}: {quoted(text)}", advice)
    return _yes_or(spoken.as_wanted, f"{spoken.nearest or 'another script'}: {quoted(text)}")


_ANOTHER_TURN = "Name turns with longer replies (`turn`)"
_AMONG = (
    "Name the languages that come into question (`language: {one_of: [de], among: [de, en]}`), or turns with "
    "longer replies (`turn`)"
)


def _length(check: ReplyCheck, text: str) -> ReplyFinding:
    limits = check.length
    assert limits is not None  # noqa: S101 - the check has it, or nobody asks
    said = as_seen(text).strip()
    if limits.words is not None and _WITHOUT_SPACES.search(said):
        advice = "Give its length in `characters`"
        return ReplyFinding(Fulfilled.UNCLEAR, f"has no spaces between words: {quoted(text)}", advice)
    counts = ((limits.characters, len(said), "character"), (limits.words, len(said.split()), "word"))
    wrong = [
        counted(number, unit) for bounds, number, unit in counts if bounds and not _within(bounds, number)
    ]
    return _yes_or(not wrong, " and ".join(wrong))


def _within(bounds: CountBounds, number: int) -> bool:
    return (bounds.at_least or 0) <= number and (bounds.at_most is None or number <= bounds.at_most)


def _length_in_words(check: ReplyCheck) -> str:
    limits = check.length
    assert limits is not None  # noqa: S101 - the check has it, or nobody asks
    parts = [
        f"{words} {counted(number, unit)}"
        for bounds, unit in ((limits.characters, "character"), (limits.words, "word"))
        for words, number in (_bounds(bounds) if bounds else ())
    ]
    return f"has {' and '.join(parts)}"


def _bounds(bounds: CountBounds) -> Sequence[tuple[str, int]]:
    both = (("at least", bounds.at_least), ("at most", bounds.at_most))
    return [(words, number) for words, number in both if number is not None]


def _json_in_words(check: ReplyCheck) -> str:
    return "is JSON" if isinstance(check.in_json, bool) else f"is JSON with {wanted(check.in_json or {})}"


_CONDITIONS: dict[str, tuple[Callable[[ReplyCheck], str], Look]] = {
    "contains": (lambda check: f"contains {_listed(texts_of(check.contains), 'and')}", _contains),
    "not_contains": (
        lambda check: f"doesn't contain {_listed(texts_of(check.not_contains), 'or')}",
        _contains_not,
    ),
    "matches": (lambda check: f"matches /{check.matches}/", _matches),
    "not_matches": (lambda check: f"doesn't match /{check.not_matches}/", _matches_not),
    "equals": (lambda check: f"is {quoted(check.equals or '', _PART)}", _equals),
    "in_json": (_json_in_words, _json),
    "language": (
        lambda check: f"is in {in_words(check.language.one_of if check.language else ())}",
        _language,
    ),
    "length": (_length_in_words, _length),
}
"""The words for each condition, and who looks at a reply, by the name of the field."""
