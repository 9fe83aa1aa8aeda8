"""The language of a text, by the package `lingua`, which is an extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import MissingPackage
from ..scenario.languages import LANGUAGES, language_name

if TYPE_CHECKING:
    from lingua import LanguageDetector, LanguageDetectorBuilder

_CLEARLY = 2.0
"""How many times as likely as all that speaks for another language a language has to be."""
_AT_ALL = 0.3
"""Of a text such as "OK", each of many languages is about as likely: then none is."""
_CANDIDATES = 10
_ENOUGH = 20_000
"""How many characters of a text are looked at."""


@dataclass(frozen=True)
class Spoken:
    """Whether a text is in one of the languages that were asked for; None if that isn't clear.

    `nearest` is the name of the most likely language, empty if there is none.
    """

    as_wanted: bool | None
    nearest: str


def require_detector() -> None:
    """Raise `MissingPackage` if languages can't be recognised here."""
    if not _is_installed():
        raise MissingPackage(
            "`language` in evaluation.replies needs the package `lingua-language-detector`: install it with "
            "`pip install 'pytest-convoprobe[language]'`"
        )


def _is_installed() -> bool:
    try:
        return find_spec("lingua") is not None
    except (ImportError, ValueError):
        return False  # somebody keeps it from being imported


def spoken_in(text: str, wanted: Sequence[str], among: Sequence[str] = ()) -> Spoken:
    """Whether the text is in one of these languages, and not in another one of those `among` which it is.

    Languages are codes of ISO 639-1; without `among`, all that are known come into question. The first call
    of a process reads models of languages, which takes a second or two. The text has letters.
    """
    require_detector()
    text = text[:_ENOUGH]
    possible = {*among} or _likely(text)
    if not possible:
        return Spoken(None, "")
    chances = _chances(text, (*sorted(possible | {*wanted}),), rough=False)
    good = sum(chances[code] for code in wanted)
    bad = max(chance for code, chance in chances.items() if code not in wanted)
    nearest = language_name(max(chances, key=lambda code: chances[code]))
    if not good and not bad:
        # Letters of a script that none of these languages has.
        return Spoken(False, "")
    if max(good, bad) < max(_AT_ALL, _CLEARLY * min(good, bad)):
        return Spoken(None, nearest)
    return Spoken(good > bad, nearest)


def _likely(text: str) -> set[str]:
    """The languages that a first look finds likely: their models are read, and not those of all.

    Empty for a text that is too short to look at.
    """
    chances = _chances(text, (*LANGUAGES,), rough=True)
    first = sorted(chances, key=lambda code: (-chances[code], code))[:_CANDIDATES]
    return {*first} if chances[first[0]] else set()


def _chances(text: str, codes: tuple[str, ...], *, rough: bool) -> dict[str, float]:
    found = _detector(codes, rough).compute_language_confidence_values(text)
    return {one.language.iso_code_639_1.name.lower(): one.value for one in found}


@lru_cache(maxsize=64)
def _detector(codes: tuple[str, ...], rough: bool) -> LanguageDetector:
    for code in codes:
        _read_model(code, rough)
    return _builder(codes, rough).build()


@cache
def _read_model(code: str, rough: bool) -> None:
    """Read the model of one language, which all detectors share.

    One by one: no other thread runs meanwhile, and all at once would stop the conversations for seconds.
    """
    other = "en" if code != "en" else "de"  # a detector needs two
    _builder((code, other), rough).with_preloaded_language_models().build()


def _builder(codes: Sequence[str], rough: bool) -> LanguageDetectorBuilder:
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    builder = LanguageDetectorBuilder.from_iso_codes_639_1(
        *(getattr(IsoCode639_1, one.upper()) for one in codes)
    )
    return builder.with_low_accuracy_mode() if rough else builder
