"""The JSON Schema of a scenario, made from the models: editors complete and check files with it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from .models import Evaluation, Scenario, SyntheticUser

_SKIPPED = {"required": ["skip"], "properties": {"skip": {"not": {"const": False}}}}


def scenario_schema() -> dict[str, Any]:
    """The schema of one YAML document, JSON Schema draft 2020-12.

    What ties several fields together (a script that fits into `max_turns`) can't be said in a
    schema: it is checked when the file is loaded.
    """
    schema = Scenario.model_json_schema(mode="validation")
    schema.pop("required")
    definitions = schema["$defs"]
    for section in (SyntheticUser, Evaluation):
        definitions[section.__name__].pop("required")
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **schema,
        "title": "A scenario of pytest-convoprobe",
        "if": _SKIPPED,
        "else": _complete(),
    }


def _complete() -> dict[str, Any]:
    """What has to be there unless the scenario is skipped: an unfinished one may lack it."""
    sections: dict[str, type[BaseModel]] = {"synthetic_user": SyntheticUser, "evaluation": Evaluation}
    return {
        "required": _required(Scenario),
        "properties": {name: {"required": _required(model)} for name, model in sections.items()},
    }


def _required(model: type[BaseModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if field.is_required()]
