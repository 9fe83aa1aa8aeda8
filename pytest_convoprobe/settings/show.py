"""The settings as text for people: every value, masked if secret, and its source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, SecretStr

from ..redaction import MASK, Redactor
from ..text import visible
from .aliases import known_fields
from .effective import LoadedSettings
from .merge import target_settings
from .models import Settings
from .several_targets import each_target

_WIDEST_VALUE = 60
_NOT_SET = "-"

Row = tuple[str, str, str]


def show(loaded: LoadedSettings, more: Mapping[str, Iterable[Row]] | None = None) -> str:
    """All sections, a line a value: name, value, source. Secrets are masked whatever their length.

    `more` are sections that follow from the settings, with a reason in place of the source.
    """
    redactor = Redactor(loaded.secrets)
    sections = [(name, _rows(loaded, name, section, redactor)) for name, section in _effective(loaded)]
    sections += [(name, [_masked_row(row, redactor) for row in rows]) for name, rows in (more or {}).items()]
    name_width = max(len(row[0]) for _, rows in sections for row in rows)
    value_width = min(_WIDEST_VALUE, max(len(row[1]) for _, rows in sections for row in rows))
    lines = [f"convoprobe settings from {loaded.file or 'defaults: no settings file was found'}"]
    for name, rows in sections:
        lines += ["", name]
        lines += [f"  {key:<{name_width}}  {value:<{value_width}}  {origin}" for key, value, origin in rows]
        lines += [] if rows else ["  not set"]
    lines += _notices(loaded.notices, redactor)
    return "\n".join(line.rstrip() for line in lines)


def masked(loaded: LoadedSettings) -> dict[str, dict[str, Any] | None]:
    """The effective settings as plain data, section by section, whole but for the secrets."""
    redactor = Redactor(loaded.secrets)
    return {
        name: None if section is None else {field: redactor.data(value) for field, value in _values(section)}
        for name, section in _effective(loaded)
    }


def _values(section: BaseModel) -> Iterable[tuple[str, Any]]:
    for field in known_fields(type(section)):
        yield field, _unwrapped(getattr(section, field))


def _effective(loaded: LoadedSettings) -> Iterable[tuple[str, BaseModel | None]]:
    for name in known_fields(Settings):
        if name == "target":
            yield from ((section, target_settings(one)) for section, one in each_target(loaded))
        elif name != "targets":
            yield name, getattr(loaded.settings, name)


def _rows(loaded: LoadedSettings, name: str, section: BaseModel | None, redactor: Redactor) -> list[Row]:
    fields = known_fields(type(section)) if section is not None else ()
    origins = {field: loaded.origins.get(f"{name}.{field}", "default") for field in fields}
    return [
        # What a preset gives is written nowhere else, so all of it is shown.
        (field, _shown(getattr(section, field), redactor, whole="preset " in origin), origin)
        for field, origin in origins.items()
    ]


def _masked_row(row: Row, redactor: Redactor) -> Row:
    name, value, why = (visible(redactor.text(text)) for text in row)
    return name, value, why


def _shown(value: Any, redactor: Redactor, *, whole: bool = False) -> str:
    """One line; control characters and odd characters come out as escapes."""
    if value is None or value == {} or value == ():
        return _NOT_SET
    plain = redactor.data(_unwrapped(value))
    text = plain if isinstance(plain, str) and plain.isprintable() else json.dumps(plain, default=str)
    return text if whole or len(text) <= _WIDEST_VALUE else f"{text[: _WIDEST_VALUE - 1]}…"


def _unwrapped(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return MASK
    if isinstance(value, BaseModel):
        return {name: _unwrapped(item) for name, item in value if item not in (None, "")}
    if isinstance(value, dict):
        return {key: _unwrapped(item) for key, item in value.items()}
    return [_unwrapped(item) for item in value] if isinstance(value, (list, tuple)) else value


def _notices(notices: tuple[str, ...], redactor: Redactor) -> list[str]:
    if not notices:
        return []
    return [
        "",
        "notices",
        *(f"  {redactor.text(line)}" for notice in notices for line in notice.splitlines()),
    ]
