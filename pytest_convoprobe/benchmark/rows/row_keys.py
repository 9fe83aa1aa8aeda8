"""What of the settings decides what a row will be: the parts that go into its key.

Addresses, keys, headers, limits of time and prices do not: with those changed, the row is still the same row.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ...settings.models import HttpTarget, ModelSettings, ModelTarget, PythonTarget
from ..format.models import TargetEntry

_OF_A_MODEL = ("model", "temperature", "max_tokens", "extra_params", "extra_instructions", "reasoning")
_OF_AN_AGENT = (*_OF_A_MODEL, "system_prompt", "tools", "max_tool_rounds")
_OF_A_SERVICE = ("url", "method", "body", "text", "tool_calls")


def digest(*parts: Any) -> str:
    """32 hex digits of plain data: equal for equal data, whatever the order of keys."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def prompt_digest(*names: str) -> str:
    """Of the source of prompts: a row is made again when what the model was told has changed."""
    folder = Path(__file__).parents[2] / "prompts"
    return digest([(folder / f"{name}.jinja").read_text(encoding="utf-8") for name in names])


def model_print(settings: ModelSettings) -> dict[str, Any]:
    """The parts of a model's settings that its answers depend on."""
    return _parts(settings, _OF_A_MODEL)


def target_print(entry: TargetEntry) -> dict[str, Any]:
    """The same of a target, with its id: two entries of one model are two targets."""
    settings = entry.settings
    if isinstance(settings, ModelTarget):
        return {"id": entry.id, **_parts(settings, _OF_AN_AGENT)}
    if isinstance(settings, PythonTarget):
        return {"id": entry.id, "object": settings.object}
    assert isinstance(settings, HttpTarget)  # noqa: S101 - there are three kinds
    return {"id": entry.id, **_parts(settings, _OF_A_SERVICE)}


def _parts(settings: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(settings, name)) not in (None, (), {})}
