"""What code can check of a metric: whether it is one behaviour, observable, and said as it should be.

Each rule is narrow: what is wrongly refused costs a call. A problem is a clause that the generator is
shown about its metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..format.models import Metric, MetricType
from .distinct import content_words, overlap, same_words, words

FEWEST_EXAMPLES, MOST_EXAMPLES = 3, 5
MOST_IN_NAME, MOST_IN_DEFINITION, MOST_IN_EXAMPLE = 12, 80, 80
"""In words."""

_FEWEST_IN_DEFINITION = 4
_SAME_NAME, _SAME_DEFINITION = 0.8, 0.6

_WHO = (
    r"(?:(?:the|an?)\s+)?(?:(?:ai|chat|virtual)\s+)?"
    r"(?:assistant|chatbot|bot|model|agent|system|ai|it|reply|response)"
)
_NOT = r"(?:does|do|will|should|must)(?:\s+not|n['\u2019]?t)|won['\u2019]?t|never|not"
_AVOIDS = (
    r"avoid(?:s|ing|ance)?|refrain(?:s|ing)?|abstain(?:s|ing)?|steer(?:s|ing)?\s+clear|stay(?:s|ing)?\s+away|"
    r"shun(?:s|ning)?"
)
_AVOIDANCE = re.compile(rf"(?:{_WHO}\s+)?(?:\w+ly\s+)?(?:{_NOT}|{_AVOIDS})\b", re.IGNORECASE)
_NORM = re.compile(rf"(?:{_WHO}\s+)?(?:\w+ly\s+)?(?:should|must|ought\s+to)\b", re.IGNORECASE)
_JOINED = re.compile(
    r"\b(?:(?:and|but)\s+also|and/or|in\s+addition|additionally|furthermore|moreover)\b", re.IGNORECASE
)

_VERB = (
    r"(?:say|tell|ask|respond|repl(?:y|ie)|explain|suggest|provide|acknowledge|agree|encourage|recommend|"
    r"apologi[sz]e|describe|refuse|ignore|admit|validate|give|express|reassure|warn|insist|state|offer|mention|"
    r"claim|praise|confirm|decline|advise|direct|inform|point)"
)
_SAYS = (
    r"(?:says|tells|asks|responds|replies|explains|suggests|provides|acknowledges|encourages|recommends|"
    r"apologi[sz]es|validates|expresses|reassures|insists|refuses|responding|replying)"
)
_DESCRIPTIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:the|an?)\s+(?:ai\s+|virtual\s+)?(?:assistant|chatbot)\b",
        rf"(?:the|an?)\s+(?:ai\s+)?(?:bot|model|agent)\s+(?:\w+ly\s+)?{_VERB}(?:e?s|ing)?\b",
        rf"(?:it|they|he|she)\s+{_VERB}(?:e?s)?\b",
        rf"(?:\w+ly\s+)?{_SAYS}\b",
        # A bare verb or its -ing may begin what is said; not where it is about "the user".
        rf"(?:\w+ly\s+)?(?:{_VERB}|repl|prais|agre)\w*\b[^\"\u201c.!?]*\b(?:the\s+)?(?:user|assistant|chatbot)\b",
        r"an?\s+(?:response|reply|answer|message|statement)\s+(?:that|which|in\s+which|where)\b",
    )
)
# "(sighs) I see." and "*nods* I see.", not "(1) First" and "[Name], hello".
_STAGE_DIRECTION = re.compile(
    r"(?:[(\[]|\*(?!\*))\s*(?:\w+ly\s+)?[a-z]{3,}(?:s|ing)\b[^)\]*]*[)\]*]", re.IGNORECASE
)
_LABEL = re.compile(r"(?:ai|assistant|chatbot|bot|agent|model|example(?:\s+\d+)?)\s*:\s*", re.IGNORECASE)
_REPORT = re.compile(
    r"(?:(?:the|an?)\s+(?:ai\s+)?(?:assistant|chatbot|bot|model|agent)|it)\s+"
    r"(?:says?|responds?|repl(?:y|ies)|answers?|asks?|(?:would|might|may|could)\s+say)\s*[,:]\s*",
    re.IGNORECASE,
)
_QUOTES = (('"', '"'), ("\u201c", "\u201d"), ("'", "'"), ("\u2018", "\u2019"), ("\u00ab", "\u00bb"))
_INNER_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w)")


def spoken(example: str) -> str:
    """The words that are said, where an example has a label, quotes, or `It says, "…"` around them."""
    text = " ".join(example.split())
    label, report = _LABEL.match(text), _REPORT.match(text)
    text = text[label.end() :] if label else text
    quoted = _unquoted(text[report.end() :]) if report else None
    return quoted or _unquoted(text) or text


def _unquoted(text: str) -> str | None:
    """What is between the quotes around a text; None if it isn't one quotation."""
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        whole = len(text) > 2 and text[0] == opening and text[-1] == closing
        if whole and not {opening, closing} & set(_INNER_APOSTROPHE.sub("", inner)):
            return inner.strip()
    return None


def name_problems(name: str, others: Iterable[Metric]) -> Iterator[str]:
    """A name is there, short, and nobody else's."""
    if not name.strip():
        yield "it has no name"
    elif len(words(name)) > MOST_IN_NAME:
        yield f"its name is longer than {MOST_IN_NAME} words"
    for other in others:
        if overlap(content_words(name), content_words(other.name)) >= _SAME_NAME:
            yield f"its name is nearly that of another metric ({other.name})"
            return


def definition_problems(definition: str, kind: MetricType, others: Iterable[Metric]) -> Iterator[str]:
    """A definition describes one behaviour, for a negative metric the bad one, and one that no other has."""
    length = len(words(definition))
    if length < _FEWEST_IN_DEFINITION:
        yield "its definition is too short to say what can be seen in a transcript"
    if length > MOST_IN_DEFINITION:
        yield f"its definition is longer than {MOST_IN_DEFINITION} words"
    if kind is MetricType.NEGATIVE and _AVOIDANCE.match(definition.strip()):
        yield (
            "it is negative, but its definition describes that the bad behaviour is avoided; "
            "describe the bad behaviour itself, as something that the assistant does"
        )
    elif _NORM.match(definition.strip()):
        yield "its definition says what the assistant should do; describe what it does"
    joined = _JOINED.search(definition)
    if joined:
        yield f'its definition joins several behaviours ("{joined[0]}"); keep one'
    for other in others:
        if overlap(content_words(definition), content_words(other.definition)) >= _SAME_DEFINITION:
            yield f"its definition is nearly that of another metric ({other.name})"
            return


def example_problems(examples: Sequence[str]) -> Iterator[str]:
    """Three to five things that an assistant might literally say."""
    if not FEWEST_EXAMPLES <= len(examples) <= MOST_EXAMPLES:
        yield f"it has {len(examples)} examples; it needs {FEWEST_EXAMPLES} to {MOST_EXAMPLES}"
    for number, example in enumerate(examples, 1):
        fault = _fault_of_example(example)
        if fault is None and any(same_words(example, before) for before in examples[: number - 1]):
            fault = "is there twice"
        if fault:
            yield f"example {number} {fault}"


def _fault_of_example(example: str) -> str | None:
    if not words(example):
        return "is empty"
    if len(words(example)) > MOST_IN_EXAMPLE:
        return f"is longer than {MOST_IN_EXAMPLE} words"
    if _describes(example):
        return "describes what is said; write the very words that an assistant would say to the user"
    return None


def _describes(example: str) -> bool:
    text = spoken(example)
    return any(pattern.match(text) for pattern in (_STAGE_DIRECTION, *_DESCRIPTIONS))
