"""promptfoo's assertions on the text of an answer, as checks by code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ...scenario.rules import pattern_complaint
from ..building import ScenarioBuilder
from ..literal_text import literal
from .foreign_check import ForeignCheck, Taker
from .templates import as_text

_WHOLE = (
    "promptfoo looked at the whole conversation, the user's words included; now the agent's answers count"
)
_NO_VALUE = "it has no `value`, so it says nothing"

Checks = Iterator[dict[str, Any]]


def _values(one: ForeignCheck) -> list[str]:
    found = one.value if isinstance(one.value, list) else [one.value]
    return [text for item in found if item is not None and (text := as_text(item))]


def _contains(one: ForeignCheck) -> Checks:
    """Each text is in the answer, or none of them is."""
    yield from ({("not_contains" if one.negated else "contains"): text} for text in _values(one))


def _contains_all(one: ForeignCheck) -> Checks:
    if not one.negated:
        yield from _contains(one)
    elif texts := _values(one):
        # Not all of them: one may be missing.
        yield {"not_matches": "(?s)^" + "".join(f"(?=.*{re.escape(text)})" for text in texts)}


def _contains_any(one: ForeignCheck) -> Checks:
    texts = _values(one)
    if one.negated or len(texts) == 1:
        yield from _contains(one)
    elif texts:
        yield {"matches": "|".join(map(re.escape, texts))}


def _starts_with(one: ForeignCheck) -> Checks:
    for text in _values(one)[:1]:
        yield {_matches(one): rf"\A\s*{re.escape(text.lstrip())}"}


def _regex(one: ForeignCheck) -> Checks:
    for text in _values(one)[:1]:
        yield {_matches(one): _in_python(text)}


def _equals(one: ForeignCheck) -> Checks:
    if isinstance(one.value, (dict, list)):
        if not one.negated:
            yield {"json": _parts(one.value) or True}
        return
    for text in _values(one)[:1]:
        yield {"not_matches": rf"\A\s*{re.escape(text.strip())}\s*\Z"} if one.negated else {"equals": text}


def _parts(value: Any) -> dict[str, Any]:
    """Each part at the top has to be equal."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return {literal(str(key)): {"equals": item} for key, item in items if str(key).strip()}


def _word_count(one: ForeignCheck) -> Checks:
    value = one.value if isinstance(one.value, dict) else {"min": one.value, "max": one.value}
    bounds = {"at_least": value.get("min"), "at_most": value.get("max")}
    counts = {key: int(str(found)) for key, found in bounds.items() if _is_count(found)}
    if counts and not one.negated:
        yield {"length": {"words": counts}}


def _is_count(value: Any) -> bool:
    if isinstance(value, str):
        return value.isdecimal() and len(value) < 10
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_json(one: ForeignCheck) -> Checks:
    if not one.negated:
        yield {"json": True}


def _matches(one: ForeignCheck) -> str:
    return "not_matches" if one.negated else "matches"


def _in_python(pattern: str) -> str:
    """A pattern of JavaScript for Python: groups with names are written in another way."""
    return re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern).replace(r"\/", "/")


def _on_replies(checks: Any, *, ignore_case: bool = False) -> Taker:
    def take(one: ForeignCheck, builder: ScenarioBuilder) -> None:
        found = list(checks(one))
        if not found:
            why = _NO_VALUE if one.value in (None, "", []) else "there is no check of this form"
            builder.lost(one.loc, one.kind, why)
            return
        pattern = next((text for key, text in found[0].items() if key.endswith("matches")), None)
        if pattern is not None and (complaint := pattern_complaint(pattern)):
            builder.lost(
                one.loc, one.kind, f"Python can't read the pattern: {complaint}", "write it for Python"
            )
            return
        for check in found:
            builder.reply(**check, **({"ignore_case": True} if ignore_case else {}), turn=_turn(one))
        _count(one, builder)

    return take


def _turn(one: ForeignCheck) -> str:
    if not one.whole_talk:
        return "last"
    return "all" if one.negated else "any"


def _count(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    if one.type == "is-json" and one.value is not None:
        builder.changed(
            one.loc, "JSON Schema", "the answer has to be JSON, but isn't compared with the schema"
        )
    elif one.type == "equals" and isinstance(one.value, (dict, list)):
        builder.changed(
            one.loc, "equals with JSON", "these parts have to be equal, and others may be there as well"
        )
    elif one.whole_talk:
        builder.changed(one.loc, f"{one.kind} on a conversation", _WHOLE)
    else:
        builder.taken()


def _latency(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    """A limit in milliseconds."""
    if one.threshold is None or not math.isfinite(one.threshold) or one.threshold <= 0 or one.negated:
        builder.lost(one.loc, one.kind, "only a limit above, as a number of milliseconds, can be checked")
        return
    builder.limit("max_turn_latency", one.threshold / 1000)
    if one.whole_talk:
        why = "the limit is now one for each turn, and was one for the whole conversation"
        builder.changed(one.loc, "latency of a conversation", why)
    else:
        builder.taken()


BY_CODE: dict[str, Taker] = {
    "contains": _on_replies(_contains),
    "icontains": _on_replies(_contains, ignore_case=True),
    "contains-all": _on_replies(_contains_all),
    "icontains-all": _on_replies(_contains_all, ignore_case=True),
    "contains-any": _on_replies(_contains_any),
    "icontains-any": _on_replies(_contains_any, ignore_case=True),
    "starts-with": _on_replies(_starts_with),
    "regex": _on_replies(_regex),
    "equals": _on_replies(_equals),
    "is-json": _on_replies(_is_json),
    "word-count": _on_replies(_word_count),
    "latency": _latency,
}
