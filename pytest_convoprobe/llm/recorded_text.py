"""A text in a recording: the form that is easiest to compare and still restores every character."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

_LAYOUTS: dict[str, dict[str, Any]] = {
    "spaced": {},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
}

# With more brackets, JSON may be nested too deeply to be written again. It is stored as text.
_MOST_BRACKETS = 400


class StoredPart(BaseModel):
    """Common to all parts of a recording."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StoredJson(StoredPart):
    """A text that is JSON, with the layout that restores its exact text."""

    layout: Literal["spaced", "compact", "indented"]
    value: dict[str, Any] | list[Any]


def stored_text(text: str) -> dict[str, Any]:
    """The text under `json`, or under `text`: several lines as a list of them."""
    parsed = _json(text)
    if parsed is not None:
        for layout, options in _LAYOUTS.items():
            if json.dumps(parsed, ensure_ascii=False, **options) == text:
                return {"json": {"layout": layout, "value": parsed}}
    return {"text": text.split("\n") if "\n" in text else text}


def exact_text(stored: StoredJson | None, text: str | tuple[str, ...] | None) -> str:
    """The very text that was stored."""
    if stored is not None:
        return json.dumps(stored.value, ensure_ascii=False, **_LAYOUTS[stored.layout])
    return text if isinstance(text, str) else "\n".join(text or ())


def _json(text: str) -> dict[str, Any] | list[Any] | None:
    if not text.startswith(("{", "[")) or text.count("{") + text.count("[") > _MOST_BRACKETS:
        return None
    try:
        parsed = json.loads(text, parse_constant=_refuse)
    except ValueError:
        return None
    return parsed if isinstance(parsed, (dict, list)) and parsed else None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
