"""One section's values checked against its model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import Problem
from ..start_time import TEMPLATE_NAMES
from ..suggest import did_you_mean, suggest
from ..yaml_source import Document, Loc
from ..yaml_source.explain import describe, explain, must_be_mapping, unknown_key
from ..yaml_source.placeholders import complaint, fill
from .aliases import MODEL_ALIASES, known_fields
from .models import TARGET_TYPES, TargetSection, guess_type

S = TypeVar("S", bound=BaseModel)

_TEXTS: dict[str, tuple[str, ...]] = {"extra_instructions": (), "system_prompt": TEMPLATE_NAMES}
"""The texts that reach a model, each with the names that have a value in it."""

OTHER_NAMES = {
    **MODEL_ALIASES,
    "agent": "target",
    "agents": "targets",
    "headers": "extra_headers",
    "instructions": "extra_instructions",
    "params": "extra_params",
    "max_concurrency": "concurrency",
    "model_name": "model",
    "name": "model",
    "parallel": "concurrency",
    "retries": "max_attempts",
    "simulator": "synthetic_user",
    "user": "synthetic_user",
    "workers": "concurrency",
    "api_url": "api_base",
    "factory": "object",
    "prompt": "system_prompt",
}
"""What other systems call our settings."""

# ADK has a type of its own, so people write the names of other frameworks in its place.
_FRAMEWORK = "; for an agent of a framework write `type: python` and its `object`"
_OTHER_TYPES = {
    **dict.fromkeys(("langgraph", "langchain", "openai", "openaiagents", "agents"), _FRAMEWORK),
    **dict.fromkeys(("pydanticai", "strands", "smolagents", "crewai", "crew"), _FRAMEWORK),
    "mcp": "; for an MCP server write `type: model` and `mcp_servers`",
}
"""Types that aren't there, without case and separators, each with what to write instead."""


def check(
    model: type[S], values: Any, path: Loc, document: Document, lacking: Collection[str] = ()
) -> tuple[S | None, list[Problem]]:
    """The section as an object, or all that is wrong with it. A key without a value is not set.

    `lacking` are fields whose text contains an undefined variable: that is reported elsewhere, so not here.
    """
    if values is None:
        values = {}
    if not isinstance(values, Mapping):
        return None, [document.problem(path, f"{must_be_mapping(describe(values))}{_shorthand(path)}")]
    known = known_fields(model)
    unknown = [key for key in values if key not in known]
    problems = [document.problem((*path, key), _unknown_key(key, known), at_key=True) for key in unknown]
    # What is missing because it is misspelt is reported once.
    # `modle: x` is one mistake, not an unknown key and a missing one.
    reported = {*lacking, *(suggest(str(key), known, OTHER_NAMES) for key in unknown)}
    given = {key: value for key, value in values.items() if key in known and value is not None}
    problems += _placeholders(given, path, document)
    try:
        return model.model_validate(given), problems
    except ValidationError as error:
        return None, problems + explain(
            error,
            document,
            model,
            lambda detail: detail["type"] == "missing" and detail["loc"][-1] in reported,
            path=path,
        )


def _placeholders(given: dict[str, Any], path: Loc, document: Document) -> list[Problem]:
    """What nobody would fill in. Texts in which nothing is filled in lose the marks, in place.

    A system prompt keeps them until a conversation begins.
    """
    texts = {key: given[key] for key in _TEXTS if isinstance(given.get(key), str)}
    found = {key: complaint(text, _TEXTS[key]) for key, text in texts.items()}
    given.update({key: fill(text, {}) for key, text in texts.items() if not _TEXTS[key]})
    return [document.problem((*path, key), words) for key, words in found.items() if words]


def check_target(
    values: Any, path: Loc, document: Document, lacking: Collection[str] = ()
) -> tuple[TargetSection | None, list[Problem]]:
    """The target of the type that it names."""
    if not isinstance(values, Mapping):
        return check(TargetSection, values, path, document, lacking)
    name = values.get("type")
    kind = TARGET_TYPES.get(name) if isinstance(name, str) else None
    if kind is None:
        return None, [_unknown_type(name, values, path, document)]
    return check(kind, values, path, document, lacking)


def unknown_section(
    key: str, known: Iterable[str], document: Document, others: Mapping[str, str] = OTHER_NAMES
) -> Problem:
    """A section that there isn't. `others` are names of other systems, each with ours."""
    return document.problem((key,), unknown_key(key, known, others), at_key=True)


def _unknown_key(key: Any, known: tuple[str, ...]) -> str:
    return unknown_key(str(key), known, OTHER_NAMES)


def _unknown_type(kind: Any, values: Mapping[str, Any], path: Loc, document: Document) -> Problem:
    known = ", ".join(f"`{name}`" for name in TARGET_TYPES)
    if kind is not None:
        near = _OTHER_TYPES.get(re.sub(r"[\W_]", "", str(kind)).lower()) or did_you_mean(
            str(kind), TARGET_TYPES
        )
        return document.problem((*path, "type"), f"must be one of {known}, got {describe(kind)}{near}")
    guess = guess_type(values)
    hint = f"; for this one write `type: {guess}`" if guess else ""
    message = f"this key is required, and it is missing; give it one of {known}{hint}"
    return document.problem((*path, "type"), message, at_key=True)


def _shorthand(path: Loc) -> str:
    if path[0] in ("target", "targets"):
        others = " or ".join(name for name in TARGET_TYPES if name != "python")
        return f"; write `{path[-1]}: {{type: python, object: package.module:agent}}`, or type {others}"
    return f"; write `{path[-1]}: {{model: openai/gpt-4o-mini}}`" if path[-1:] != ("run",) else ""
