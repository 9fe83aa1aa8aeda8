"""The JSON Schema of a scenario, made from the models: editors complete and check files with it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from .document_model import ScenarioDocument
from .models import Efficiency, Evaluation, Scenario, SyntheticUser
from .schema_elsewhere import allow_elsewhere

_SKIPPED = {"required": ["skip"], "properties": {"skip": {"not": {"const": False}}}}
_EXTENDING = {"required": ["extends"]}

_USER_FIRST = {"not": {"required": ["first"], "properties": {"first": {"const": "agent"}}}}
_WITH_QUERY = {"required": ["initial_query"]}


def scenario_schema() -> dict[str, Any]:
    """The schema of one YAML document, JSON Schema draft 2020-12.

    What ties several fields together (a script that fits into `max_turns`) can't be said in a
    schema: it is checked when the file is loaded.
    """
    schema = ScenarioDocument.model_json_schema(mode="validation")
    schema.pop("required")
    definitions = schema["$defs"]
    for section in (SyntheticUser, Evaluation):
        definitions[section.__name__].pop("required", None)
    allow_elsewhere(schema)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": "A scenario of pytest-convoprobe",
        "description": "One YAML document: a scenario, or several that differ in their parameters.",
        "if": {"anyOf": [_SKIPPED, _EXTENDING]},
        "else": _complete(),
    }


def _complete() -> dict[str, Any]:
    """What has to be there unless the scenario is skipped, or another file has it."""
    # The agent's greeting may be all that the user answers.
    required = [name for name in _required(SyntheticUser) if name != "initial_query"]
    return {
        "required": _required(Scenario),
        "properties": {
            "synthetic_user": {"required": required, "if": _USER_FIRST, "then": _WITH_QUERY},
            "evaluation": {"anyOf": [_with_items("correctness_criteria"), _BY_CODE_ALONE]},
        },
    }


def _required(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if field.is_required()]


def _key(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A mapping that has this key, with such a value."""
    return {"required": [name], "properties": {name: value}}


def _with_items(name: str) -> dict[str, Any]:
    return _key(name, {"minItems": 1})


_FACTS = {"type": "object", "not": {"required": ["text"]}}
_ONLY_FACTS = {"items": {"properties": {"assertions": {"items": _FACTS}}}}
_TOOLS_BY_CODE = [
    *map(_with_items, ("required_tools", "prohibited_tools")),
    _key("only_listed", {"const": True}),
    _key("expected_calls", {"type": "object"}),
    _key("tool_call_criteria", {"contains": _key("assertions", {"contains": _FACTS})}),
]
_BY_CODE_ALONE = {
    "properties": {
        "failure_criteria": {"maxItems": 0},
        "tool_usage": {"properties": {"tool_call_criteria": _ONLY_FACTS}},
    },
    "anyOf": [
        _key("tool_usage", {"anyOf": _TOOLS_BY_CODE}),
        _key(
            "efficiency",
            {"anyOf": [_key(limit, {"type": ["number", "string"]}) for limit in Efficiency.model_fields]},
        ),
        _with_items("replies"),
        _with_items("checks"),
    ],
}
"""Checks by code, and nothing for the judge."""
