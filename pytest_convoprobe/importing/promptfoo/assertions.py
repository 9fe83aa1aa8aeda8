"""promptfoo's assertions as checks of a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...suggest import did_you_mean
from ...yaml_source import Loc
from ..building import ScenarioBuilder, quoted
from .code_checks import BY_CODE
from .files import NotRead, SuiteFiles
from .foreign_check import ForeignCheck, Taker
from .judged import JUDGED
from .lost_types import LOST
from .templates import render_data
from .tool_checks import OF_TOOLS

_KNOWN_KEYS = frozenset(
    ("type", "value", "threshold", "weight", "metric", "provider", "rubricPrompt", "transform")
) | {"contextTransform", "config", "description", "id", "assert"}
_GRADING = {
    "provider": "the judge of the settings decides",
    "rubricPrompt": "the judge has a prompt of its own",
    "metric": "verdicts have the names of their criteria and checks",
    "weight": "every check has to hold, whatever its weight",
    "config": "it is for code, or for promptfoo's grader",
    "contextTransform": "it is for metrics about retrieval",
}
_ON_TEXT = frozenset(BY_CODE) - {"latency"}


@dataclass(frozen=True)
class AssertionContext:
    """What the assertions of one test share. `transformed`: the output is changed before they see it."""

    builder: ScenarioBuilder
    files: SuiteFiles
    values: Mapping[str, Any]
    whole_talk: bool
    transformed: bool = False
    templates: Mapping[str, Any] = field(default_factory=dict)


def take_assertion(raw: Any, loc: Loc, context: AssertionContext, depth: int = 0) -> None:
    """Take one over, or note what becomes of it."""
    builder = context.builder
    if isinstance(raw, Mapping) and isinstance(raw.get("$ref"), str):
        raw = _referred(raw, context)
    if not isinstance(raw, Mapping) or not isinstance(raw.get("type"), str):
        builder.lost(loc, "assertion without a type", "it has no `type`, so nobody knows what it checks")
    elif raw["type"] == "assert-set":
        _take_set(raw, loc, context, depth)
    elif raw.get("weight") == 0:
        builder.left_out(loc, "weight 0", f"`{raw['type']}` with `weight: 0` could not fail in promptfoo")
    else:
        _note_keys(raw, loc, context)
        _take(raw, loc, context)


def _referred(raw: Mapping[str, Any], context: AssertionContext) -> Any:
    """The assertion that `$ref: "#/assertionTemplates/name"` means, with the keys beside it."""
    name = str(raw["$ref"]).removeprefix("#/assertionTemplates/")
    found = context.templates.get(name)
    return (
        {**found, **{key: raw[key] for key in raw if key != "$ref"}} if isinstance(found, Mapping) else None
    )


def _take_set(raw: Mapping[str, Any], loc: Loc, context: AssertionContext, depth: int) -> None:
    members = raw.get("assert")
    if not isinstance(members, list) or depth > 3:
        context.builder.lost(loc, "assert-set", "it has no list of assertions in `assert`")
        return
    if _number(raw.get("threshold")) not in (None, 1):
        context.builder.left_out(
            loc,
            "threshold of an assert-set",
            f"a part of the set was enough (threshold {raw['threshold']}); now all of it has to hold",
            "take out what may fail",
        )
    for index, member in enumerate(members):
        take_assertion(member, (*loc, "assert", index), context, depth + 1)


def _note_keys(raw: Mapping[str, Any], loc: Loc, context: AssertionContext) -> None:
    for key in raw:
        if (why := _GRADING.get(key)) and raw[key] not in (None, 1, {}):
            context.builder.left_out((*loc, key), f"`{key}` of an assertion", why)
        elif key not in _KNOWN_KEYS:
            near = did_you_mean(key, _KNOWN_KEYS)
            context.builder.left_out(
                (*loc, key), "unknown key", f"`{key}` isn't a known key of an assertion{near}"
            )


def _take(raw: Mapping[str, Any], loc: Loc, context: AssertionContext) -> None:
    builder, written = context.builder, raw["type"]
    name = written.removeprefix("not-")
    try:
        value = _value(raw.get("value"), context)
    except NotRead as error:
        builder.lost(loc, written, str(error))
        return
    one = ForeignCheck(name, name != written, value, _number(raw.get("threshold")), loc, context.whole_talk)
    if (context.transformed or raw.get("transform")) and name in _ON_TEXT:
        why = "the output is changed by code (`transform`) before this looks at it"
        builder.lost(loc, f"{written} after a transform", why)
        return
    handler = _handler(name)
    if handler is None:
        near = did_you_mean(name, KNOWN_TYPES)
        builder.lost(loc, "unknown assertion", f"{quoted(written)} isn't a known type of assertion{near}")
    else:
        handler(one, builder)


def _value(raw: Any, context: AssertionContext) -> Any:
    """The value, read from its file and with the test's values. Raises `NotRead`."""
    if isinstance(raw, str) and raw.startswith("file://"):
        raw = context.files.value(raw)
    value, fault = render_data(raw, context.values)
    if fault:
        raise NotRead(fault)
    return value


def _number(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number else None


def _lost(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    why, *advice = LOST[one.type]
    builder.lost(one.loc, one.kind, why, *advice)


def _handler(name: str) -> Taker | None:
    if name in LOST or name.startswith(("promptfoo:redteam", "promptfoo:")):
        return _lost if name in LOST else _red_team
    handlers: tuple[Mapping[str, Taker], ...] = (BY_CODE, JUDGED, OF_TOOLS)
    return next((table[name] for table in handlers if name in table), None)


def _red_team(one: ForeignCheck, builder: ScenarioBuilder) -> None:
    builder.lost(one.loc, "red-team grader", f"{quoted(one.type)} is a grader that promptfoo brings along")


KNOWN_TYPES = (*BY_CODE, *JUDGED, *OF_TOOLS, *LOST)
"""All types of assertions that promptfoo has, without `not-`."""


def is_known_type(name: str) -> bool:
    """Whether promptfoo has assertions of this type, negated ones too."""
    return name.removeprefix("not-") in (*KNOWN_TYPES, "assert-set")
