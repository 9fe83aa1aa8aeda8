"""What code can see of tools: missing words, parameters without a type, schemas that providers refuse.

What providers refuse is in their references of tool calling. OpenAI and Anthropic: names and keys. OpenAI:
`array` without `items`. Gemini: objects without properties, and enums of other types than text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..judging.tool_advice import by_severity
from ..judging.types import Severity, Suggestion
from ..llm.port import ToolSpec
from .alike import pairs_alike
from .schemas import is_typed, parts_of, properties_of, resolves, types_of

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_LONGEST_DESCRIPTION = 1024
_MOST_TOOLS = 128
_TOP_LEVEL = ("anyOf", "oneOf", "allOf", "enum", "not")

Found = Iterator[tuple[str, str]]
"""An issue, and what to do about it."""


@dataclass(frozen=True)
class ToolRule:
    """A kind of fault in one tool."""

    id: str
    severity: Severity
    find: Callable[[ToolSpec], Found]


def _no_description(tool: ToolSpec) -> Found:
    if _letters(tool.description) in ("", _letters(tool.name)):
        yield (
            "it has no description"
            if not tool.description.strip()
            else "its description only repeats its name",
            "say what it does, when to use it, and what it returns",
        )


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _untyped(tool: ToolSpec) -> Found:
    for path, part in parts_of(tool.parameters):
        if path and not is_typed(part):
            yield f"the parameter `{path}` has no type", "give it a `type` or an `enum`"


def _undocumented(tool: ToolSpec) -> Found:
    for name, part in properties_of(tool.parameters).items():
        description = part.get("description")
        if not isinstance(description, str) or _letters(description) in ("", _letters(name)):
            yield f"the parameter `{name}` has no description", "say what it is, in which form and unit"


def _refused_name(tool: ToolSpec) -> Found:
    if not _NAME.fullmatch(tool.name):
        yield (
            "providers refuse its name",
            "use 1 to 64 letters, digits, `_` and `-`",
        )
    for name in properties_of(tool.parameters):
        if not _KEY.fullmatch(name):
            yield (
                f"Anthropic refuses the parameter name `{name}`",
                "use 1 to 64 letters, digits, `_`, `.`, `-`",
            )


def _refused_schema(tool: ToolSpec) -> Found:
    schema = tool.parameters
    if schema and types_of(schema) != ("object",):
        yield "its parameters are not an object", "make the schema's `type` `object`"
    for key in (key for key in _TOP_LEVEL if key in schema):
        yield f"OpenAI and Anthropic refuse `{key}` at the top of its schema", "put it into a parameter"
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if not isinstance(name, str):
            yield "its `required` has something else than names", "list names of parameters"
        elif name not in properties_of(schema):
            yield f"it requires `{name}`, which is not among its parameters", "describe it, or leave it out"
    for path, part in parts_of(schema):
        where = f"in `{path}`" if path else "in its schema"
        if "$ref" in part and not resolves(part["$ref"], schema):
            yield f"the `$ref` {where} leads nowhere", "put what it refers to into `$defs`"
        if "array" in types_of(part) and "items" not in part:
            yield f"OpenAI and Gemini refuse the array {where}: it has no `items`", "say what its items are"


def _refused_by_gemini(tool: ToolSpec) -> Found:
    for path, part in parts_of(tool.parameters):
        if path and types_of(part) == ("object",) and not properties_of(part):
            yield f"Gemini refuses the object `{path}`: it has no properties", "name its properties"
        values = part.get("enum")
        if isinstance(values, list) and not all(isinstance(value, str) for value in values):
            yield f"Gemini refuses the enum of `{path}`: it takes texts only", "use texts, or a range"


def _long_description(tool: ToolSpec) -> Found:
    if len(tool.description) > _LONGEST_DESCRIPTION:
        yield (
            f"its description has {len(tool.description):,} characters; "
            f"OpenAI takes {_LONGEST_DESCRIPTION:,}",
            "keep what a model needs to choose the tool and fill in its parameters",
        )


RULES = (
    ToolRule("refused-name", Severity.HIGH, _refused_name),
    ToolRule("refused-schema", Severity.HIGH, _refused_schema),
    ToolRule("no-description", Severity.HIGH, _no_description),
    ToolRule("untyped-parameter", Severity.MEDIUM, _untyped),
    ToolRule("refused-by-gemini", Severity.MEDIUM, _refused_by_gemini),
    ToolRule("long-description", Severity.MEDIUM, _long_description),
    ToolRule("undocumented-parameter", Severity.LOW, _undocumented),
)
ALIKE, TOO_MANY = "alike", "too-many"
IDS = (*(rule.id for rule in RULES), ALIKE, TOO_MANY)
"""The ids of all rules."""


def review(tools: Sequence[ToolSpec], ignore: Sequence[str] = ()) -> list[Suggestion]:
    """What is wrong with these tools, the most serious first; rules in `ignore` are left out."""
    found = [
        Suggestion(rule.id, tool.name, issue, advice, rule.severity)
        for tool in tools
        for rule in RULES
        for issue, advice in rule.find(tool)
    ]
    found += _of_all(tools)
    return by_severity(one for one in found if one.category not in ignore)


def _of_all(tools: Sequence[ToolSpec]) -> Iterator[Suggestion]:
    for one, other, why in pairs_alike(tools):
        yield Suggestion(
            ALIKE,
            one.name,
            f"a model can't tell it from `{other.name}`: {why}",
            "say in both descriptions when to use which, or make one tool of them",
            Severity.HIGH,
        )
    if len(tools) > _MOST_TOOLS:
        issue = f"there are {len(tools):,} tools, and OpenAI takes {_MOST_TOOLS} in a request"
        yield Suggestion(TOO_MANY, tools[0].name, issue, "offer fewer", Severity.HIGH)
