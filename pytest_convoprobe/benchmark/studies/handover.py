"""Settings that a project needs to run the scenarios of a benchmark with pytest, and does not have.

They are taken from `config.yaml` as it is written: references to variables stay references, and what is a
secret itself becomes one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ...files import read_file
from ...redaction import is_worth_masking
from ...settings.aliases import MODEL_ALIASES, known_fields
from ...settings.effective import LoadedSettings
from ...settings.file_formats import parse_yaml
from ...settings.model_settings import ModelSettings
from ...settings.secret_places import secrets_in
from ...targets.plain_values import clean_text
from ...yaml_source import Loc
from ..format.models import TargetEntry
from ..format.project import LoadedBenchmark
from ..format.yaml_writing import block

_REFERENCE = re.compile(
    r"(?P<scheme>(?:(?i:Bearer|Basic|Token|ApiKey)\s+)?)\$\{(?P<name>\w+)(?P<default>:-[^}]*)?\}"
)
_FILE = re.compile(r"[^:]+\.py:.+")


@dataclass(frozen=True)
class Lacking:
    """Sections to be added to a settings file, as its text; `variables` replace the secrets in them."""

    text: str
    variables: tuple[str, ...] = ()


def lacking(
    loaded: LoadedBenchmark, config_file: Path, target_id: str, project: LoadedSettings, root: Path
) -> Lacking | None:
    """What `project` lacks to test a target of the benchmark; None if it lacks nothing.

    `loaded` has all targets of `config_file`. `root` is where relative files of the project's target start.
    """
    ids = [entry.id for entry in loaded.config.targets]
    number = ids.index(target_id)
    found = _sections(_raw(config_file), loaded, number, project)
    code_fields = loaded.config.targets[number].settings.code_fields
    hiding = _Hiding(frozenset(filter(is_worth_masking, loaded.secrets)))
    sections = {
        name: hiding.value(_moved(values, code_fields, loaded.root, root), (name,))
        for name, values in found.items()
    }
    if not sections:
        return None
    in_toml = project.file is not None and project.file.suffix == ".toml"
    text = _toml(sections) if in_toml else block(sections, 0)
    return Lacking(text, tuple(hiding.variables))


def _raw(config_file: Path) -> Mapping[str, Any]:
    """The file before anything is filled in; it has been read without a fault before."""
    if not config_file.exists():
        return {}
    sections: dict[str, Any] = parse_yaml(read_file(config_file), str(config_file)).value
    return sections


def _sections(
    data: Mapping[str, Any], loaded: LoadedBenchmark, number: int, project: LoadedSettings
) -> dict[str, dict[str, Any]]:
    """Those that the project lacks, each with what the file has for all models."""
    common, settings = _known(data.get("llm"), ModelSettings), project.settings
    user = {**common, **_known(data.get("user_model"), ModelSettings)}
    judge = {**common, **_known(data.get("evaluator_model"), ModelSettings)}
    targets = data.get("targets")
    target = _target(targets[number], loaded.config.targets[number], common) if targets else {}
    found = {
        "synthetic_user": user if settings.synthetic_user.model is None else {},
        "judge": judge if settings.judge.model is None else {},
        "target": {} if settings.target is not None or settings.targets else target,
    }
    return {name: values for name, values in found.items() if values}


def _target(given: Any, entry: TargetEntry, common: Mapping[str, Any]) -> dict[str, Any]:
    kind = type(entry.settings)
    own = {"model": given} if isinstance(given, str) else given
    for_others = {name: value for name, value in common.items() if name != "extra_instructions"}
    inherited = for_others if kind.is_model() else {}
    return {"type": entry.settings.type, **inherited, **_known(own, kind)}


def _known(values: Any, kind: type[BaseModel]) -> dict[str, Any]:
    """The fields that are ours, under our names."""
    named = {MODEL_ALIASES.get(name, name): value for name, value in (values or {}).items()}
    return {name: value for name, value in named.items() if name in known_fields(kind)}


def _moved(values: Mapping[str, Any], code_fields: tuple[str, ...], old: Path, new: Path) -> dict[str, Any]:
    """The same with Python files as they are seen from another root."""
    files = {name: values[name] for name in code_fields if old != new and name in values}
    moved = {
        name: _seen_from(new, old, given)
        if isinstance(given, str)
        else [_seen_from(new, old, one) for one in given]
        for name, given in files.items()
    }
    return {**values, **moved}


def _seen_from(new: Path, old: Path, text: str) -> str:
    return Path(os.path.relpath(old / text, new)).as_posix() if _FILE.fullmatch(text) else text


class _Hiding:
    """Puts a reference in the place of each secret; `variables` are the names that it has used."""

    def __init__(self, secrets: frozenset[str]) -> None:
        self.variables: dict[str, None] = {}
        self._secrets = secrets

    def value(self, value: Any, path: Loc) -> Any:
        if isinstance(value, Mapping):
            return {key: self.value(item, (*path, str(key))) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item, (*path, index)) for index, item in enumerate(value)]
        if not (secrets_in(value, path) or self._holds_one(value)):
            return value
        # Beside a reference, any other text may be part of the secret.
        if not (found := _REFERENCE.fullmatch(str(value))):
            return self._reference(re.sub(r"\W+", "_", "_".join(map(str, path))).upper())
        return found["scheme"] + self._reference(found["name"]) if found["default"] else value

    def _holds_one(self, value: Any) -> bool:
        return isinstance(value, str) and any(secret in value for secret in self._secrets)

    def _reference(self, name: str) -> str:
        self.variables[name] = None
        return f"${{{name}}}"


def _toml(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """As tables of pyproject.toml, without what is None: TOML has no word for it."""
    tables = (
        "\n".join((f"[tool.convoprobe.{name}]", *(f"{key} = {one}" for key, one in _pairs(values))))
        for name, values in sections.items()
    )
    return "\n\n".join(tables)


def _in_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        inner = (f"{_quoted(str(key))} = {one}" for key, one in _pairs(value))
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_in_toml(one) for one in value if one is not None)}]"
    if isinstance(value, float):
        return repr(value)
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _pairs(values: Mapping[Any, Any]) -> Iterator[tuple[Any, str]]:
    return ((key, _in_toml(one)) for key, one in values.items() if one is not None)


def _quoted(text: str) -> str:
    """As JSON, but what cannot be seen is escaped in TOML's own way: JSON has pairs of surrogates for it."""
    written = json.dumps(clean_text(text), ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08X}" for char in written)
