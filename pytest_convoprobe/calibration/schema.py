"""The JSON Schema of a labelled conversation, with which editors complete and check files."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from .labels_format import LabelledConversation

_GIVEN = {"turns": {"not": {"type": "null"}}, "stored": {"not": {"type": "null"}}}


def labels_schema() -> dict[str, Any]:
    """The schema of one YAML document or one line of JSON, JSON Schema draft 2020-12."""
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        **LabelledConversation.model_json_schema(mode="validation"),
        "title": "A labelled conversation of pytest-convoprobe",
        # What pydantic cannot say: the conversation is given in one of two ways.
        "oneOf": [{"required": [name], "properties": {name: _GIVEN[name]}} for name in _GIVEN],
    }
