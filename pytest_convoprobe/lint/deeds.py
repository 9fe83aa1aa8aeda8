"""What agents do, as English verbs: two of them in one criterion are two criteria."""

from __future__ import annotations

import re
from collections.abc import Callable

_DEEDS = (
    "ask say tell confirm explain give cancel apologise apologize inform provide mention send suggest "
    "recommend refuse decline reject greet verify describe warn remind repeat summarise summarize escalate "
    "create delete "
    "respond invent reveal direct correct acknowledge deny notify identify clarify specify propose make take "
    "add remove help guide find submit generate calculate compare complete resolve arrange initiate ensure "
    "activate deactivate collect save advise invite admit congratulate check book"
).split()
_ALSO_NOUNS = (
    "offer name call refund state show list quote transfer update use answer reply look promise claim point "
    "link schedule request thank process issue change place record charge search order return report reset "
    "log"
).split()
"""Of these, only one with an object counts: "offers and updates" aren't deeds."""


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x")) else "s")


def _either(form: Callable[[str], str]) -> str:
    """One of the deeds; of those that are nouns too, only with an object."""
    return f"(?:{'|'.join(map(form, _DEEDS))}|(?:{'|'.join(map(form, _ALSO_NOUNS))})(?={_OBJECT}))"


_OBJECT = (
    r"\s+(?:the|a|an|that|it|them|him|her|his|their|its|this|these|all|every|any|one|no|how|why|what|which|when"
    r"|where|whether|if|\d\w*)\b"
)
_FINITE, _BARE = _either(_third_person), _either(str)
_LINK = r"(?:,?\s+and(?:\s+(?:then|also|finally))?|,?\s+as\s+well\s+as|;|,\s*then)\s+"
_COMPOUND = re.compile(
    rf"\b(?P<one>{_FINITE}|is|stays|remains)\b.*?{_LINK}(?P<other>{_FINITE})(?!\w)", re.IGNORECASE
)
_COMPOUND_BARE = re.compile(
    rf"\b(?:should|must|shall|will|not|never|n't)\s+(?P<one>{_BARE})\b.*?{_LINK}(?P<other>{_BARE})\b"
    r"(?!\s+(?:of|from)\b)",
    re.IGNORECASE,
)
_TWO_FACTS = re.compile(
    rf"\b(?P<one>{_FINITE}|{_BARE})\b[^.;]*?\bthat\b[^.;]+?,?\s(?:and|as\s+well\s+as)\s+(?P<other>that)\b",
    re.IGNORECASE,
)
_TWO_SENTENCES = re.compile(
    rf"\b(?P<one>{_FINITE})\b[^.;]*[.;]\s+(?:then\s+)?(?:(?:the\s+\w+|it|then)\s+)+(?:\w+\s+)?(?P<other>{_FINITE})\b",
    re.IGNORECASE,
)
_COMPOUNDS = (_COMPOUND, _COMPOUND_BARE, _TWO_FACTS, _TWO_SENTENCES)


def two_deeds(text: str) -> tuple[str, str] | None:
    """The first two verbs of which each is something to be judged, if there are two."""
    found = next(filter(None, (form.search(text) for form in _COMPOUNDS)), None)
    return (found["one"].lower(), found["other"].lower()) if found else None
