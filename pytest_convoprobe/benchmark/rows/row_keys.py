"""What of the settings decides what a row will be: the parts that go into its key.

Addresses, keys, headers, limits of time and prices do not: with those changed, the row is still the same row.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ...settings.mcp_settings import McpServer
from ...settings.model_settings import ModelSettings
from ...settings.models import TargetSection
from ...targets.source_files import code_digest
from ..format.models import TargetEntry


def digest(*parts: Any) -> str:
    """32 hex digits of plain data: equal for equal data, whatever the order of keys."""
    # ASCII, so that halves of surrogate pairs, which UTF-8 can't encode, have a digest too.
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def prompt_digest(*names: str) -> str:
    """Of the source of prompts: a row is made again when the prompts of its model have changed."""
    folder = Path(__file__).parents[2] / "prompts"
    return digest([(folder / f"{name}.jinja").read_text(encoding="utf-8") for name in names])


def model_print(settings: ModelSettings) -> dict[str, Any]:
    """The parts of a model's settings that its answers depend on."""
    return _parts(settings)


def target_print(entry: TargetEntry, root: Path | None = None, version: str = "") -> dict[str, Any]:
    """The same of a target, with its id: two entries of one model are two targets.

    With the code of the project below `root` that it is made of, and the `version` that it reports.
    """
    settings = entry.settings
    code = code_digest(settings.code_references, root) if root and settings.code_references else ""
    known = {"code": code, "version": version}
    return {"id": entry.id, **_parts(settings), **{name: value for name, value in known.items() if value}}


def _parts(settings: ModelSettings | TargetSection) -> dict[str, Any]:
    # What is empty is left out, so a new field without a value changes no key.
    values = {name: _plain(getattr(settings, name)) for name in settings.answer_fields}
    return {
        name: value for name, value in values.items() if value not in (None, (), {}) and value is not False
    }


def _plain(value: Any) -> Any:
    """The value of a field, with what matters of a section in place of the whole of it."""
    if isinstance(value, McpServer):
        return value.identity
    if isinstance(value, BaseModel):
        # Headers may be secret, and answers don't depend on them. Nor do they depend on the place of a
        # greeting (`start.text`): users of a benchmark speak first.
        return value.model_dump(exclude={"headers", "text"})
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
