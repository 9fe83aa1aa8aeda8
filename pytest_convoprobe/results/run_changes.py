"""What is different between two runs as a whole, with both sides named: models, settings, the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..settings.model_settings import ModelSettings
from ..settings.models import DEFAULT_TARGET, TARGET_TYPES
from .fingerprints import from_to
from .run_info import RunInfo

_ROLES = {"judge": "judge's model", "synthetic_user": "synthetic user's model", "target": "target"}
_DECIDING = ("judge", "synthetic_user", "target")
# How and where to call, not what is said; and models, which have words of their own.
_NOT_SAID = frozenset(
    "model api_key api_base api_version client headers extra_headers timeout max_attempts "
    "input_cost_per_token output_cost_per_token".split()
)
_PACKAGE = "pytest-convoprobe"
_LONGEST = 60
_NAMED = "targets."


def run_changes(base: RunInfo, head: RunInfo) -> tuple[str, ...]:
    """`judge's model a → b`, `judge.temperature 0 → 0.7`; what one of the runs doesn't know is left out."""
    return tuple(dict.fromkeys(_changes(base, head)))


def _changes(base: RunInfo, head: RunInfo) -> Iterator[str]:
    for role, words in _ROLES.items():
        old, new = base.models.get(role), head.models.get(role)
        if old and new and old != new:
            yield from_to(words, old, new)
    if base.settings and head.settings:
        for section in (*_DECIDING, *_named_targets(base, head)):
            yield from _settings(section, base.settings.get(section, {}), head.settings.get(section, {}))
    old, new = base.versions.get(_PACKAGE), head.versions.get(_PACKAGE)
    if old and new and old != new:
        yield from_to(_PACKAGE, old, new)


def _named_targets(base: RunInfo, head: RunInfo) -> list[str]:
    """The sections of targets with names that both runs have: one that was added has no past."""
    return [name for name in base.settings if name.startswith(_NAMED) and name in head.settings]


def _settings(section: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in {**old, **new}:
        # A run of a release before the setting has no value for it: it did what is the default today.
        before = old.get(name, _default(section, name, new))
        after = new.get(name, _default(section, name, old))
        if name not in _NOT_SAID and before != after:
            yield from_to(f"{section}.{name}", _shown(before), _shown(after))


def _default(section: str, name: str, other: Mapping[str, Any]) -> object:
    """The default of a setting, None for most. `other` is the section of the run that has a value."""
    kind = TARGET_TYPES.get(str(other.get("type")), DEFAULT_TARGET) if _is_target(section) else ModelSettings
    field = kind.model_fields.get(name)
    # Empty mappings are not stored, so they are "not set" on both sides.
    return None if field is None or field.is_required() or field.default_factory else field.default


def _is_target(section: str) -> bool:
    return section == "target" or section.startswith(_NAMED)


def _shown(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
