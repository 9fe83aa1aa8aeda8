"""The language of a text, by the package `lingua`, which is an extra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..errors import MissingPackage
from ..scenario.languages import language_name

if TYPE_CHECKING:
    from lingua import LanguageDetector

_CLEARLY = 2.0
"""How many times as likely as all that speaks for another language a language has to be."""
_AT_ALL = 0.2
"""Of a text such as "OK", each of many languages is about as likely: then none is."""

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
    """Raise `MissingPackage` if languages can't be told here."""
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
    of a process takes some seconds, and reads up to a gigabyte of models into memory. The text has letters.
    """
    require_detector()
    chances = {
        one.language.iso_code_639_1.name.lower(): one.value
        for one in _detector(frozenset(among)).compute_language_confidence_values(text[:_ENOUGH])
    }
    good = sum(chances.get(code, 0.0) for code in wanted)
    bad = max(chance for code, chance in chances.items() if code not in wanted)
    nearest = max(chances, key=lambda one: chances[one])
    if not good and not bad:
        # Letters of a script that none of these languages has.
        return Spoken(False, "")
    if max(good, bad) < max(_AT_ALL, _CLEARLY * min(good, bad)):
        return Spoken(None, language_name(nearest))
    return Spoken(good > bad, language_name(nearest))


@lru_cache(maxsize=16)
def _detector(among: frozenset[str]) -> LanguageDetector:
    from lingua import IsoCode639_1, LanguageDetectorBuilder

    if not among:
        return LanguageDetectorBuilder.from_all_languages().build()
    codes = [getattr(IsoCode639_1, code.upper()) for code in sorted(among)]
    return LanguageDetectorBuilder.from_iso_codes_639_1(*codes).build()
