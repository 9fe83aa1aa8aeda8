"""Reads the settings: finds the file, fills in variables, checks, and merges the levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..errors import Problem, SettingsError
from ..project_code.agent_environment import own_environment
from ..yaml_source import Loc
from .aliases import (
    MODEL_ALIASES,
    known_fields,
    rename_aliases,
    translate_old,
)
from .checking import check, check_target, unknown_section
from .discovery import Source, find_source
from .effective import Layer, LoadedSettings
from .environment import Expansion, describe_missing, fill_in
from .file_formats import COMMAND_LINE, empty, from_command_line, in_order
from .http_presets import FROM_BOTH
from .merge import CONNECTION, layer_of, merge, target_layer, to_model
from .models import MODEL_SECTIONS, PLAIN_SECTIONS, TARGET_TYPES, Settings, TargetSection

__all__ = ["LoadedSettings", "load_settings", "load_source"]

ROLES = ("judge", "synthetic_user")


def load_settings(
    rootdir: Path,
    *,
    config_file: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings:
    """The settings for a run. Raises `SettingsError` with everything that is wrong.

    `config_file` is used instead of a search upwards from `rootdir`. `overrides` are values from the
    command line by dotted path (`{"run.concurrency": 4}`); None means that an option wasn't given.
    `environ` is where variables are looked up, `os.environ` by default.
    """
    source = find_source(rootdir.resolve(), config_file)
    return load_source(source, rootdir, overrides=overrides, environ=environ)


def load_source(
    source: Source | None,
    root: Path,
    *,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> LoadedSettings:
    """The settings of a file that was found already; relative names in it start from `root`."""
    reading = _SettingsReader(source, own_environment() if environ is None else environ, overrides or {})
    return replace(reading.load(), root=root)


class _SettingsReader:
    """One reading of the settings; problems are collected and reported together."""

    def __init__(
        self, source: Source | None, environ: Mapping[str, str], overrides: Mapping[str, Any]
    ) -> None:
        self._source = source
        self._document = source.document if source else empty()
        self._command_line = from_command_line(overrides)
        self._environ = environ
        self._problems: list[Problem] = []
        self._expansion = Expansion()
        self._secrets: tuple[str, ...] = ()

    def load(self) -> LoadedSettings:
        # First of all: from here on, the messages about everything else leave secrets out.
        # Kept here and in no local variable: pytest shows those of a traceback (`--showlocals`).
        self._expansion, self._secrets = fill_in(self._document, self._command_line, self._environ)
        self._problems += self._expansion.problems
        notices = list(self._source.notices) if self._source else []
        if self._source and self._source.old:
            notices += translate_old(self._document)
        # Before any check, which knows our own names only.
        self._problems += rename_aliases(self._document, (*MODEL_SECTIONS, *self._model_target()))
        self._refuse_unknown_sections()
        plain = {name: self._plain(name) for name in PLAIN_SECTIONS}
        deferred = self._defer_missing(getattr(plain["run"][0], "replay", "off"))
        layers = self._layers(deferred)
        target = self._target()
        if self._problems:
            raise SettingsError(in_order(self._problems))
        if target is not None and target.is_model():
            layers["target"] = (self._layer("target", target, deferred),)
        return self._assemble(plain, layers, target, notices)

    def _model_target(self) -> tuple[str, ...]:
        target = self._document.value.get("target")
        kind = TARGET_TYPES.get(str(target.get("type"))) if isinstance(target, dict) else None
        return ("target",) if kind is not None and kind.is_model() else ()

    def _refuse_unknown_sections(self) -> None:
        known = known_fields(Settings)
        for document in (self._document, self._command_line):
            unknown = [name for name in document.value if name not in known]
            self._problems += [unknown_section(name, known, document) for name in unknown]

    def _plain(self, name: str) -> tuple[BaseModel | None, BaseModel | None]:
        """A section that nothing inherits from: as the file has it, and as the command line does."""
        return self._checked(PLAIN_SECTIONS[name], name), self._from_command_line(PLAIN_SECTIONS[name], name)

    def _checked(self, model: type[BaseModel], name: str) -> BaseModel | None:
        section, problems = check(model, self._document.value.get(name), (name,), self._document)
        self._problems += problems
        return section

    def _from_command_line(self, model: type[BaseModel], name: str) -> BaseModel | None:
        values = self._command_line.value.get(name)
        section, problems = check(model, values, (name,), self._command_line)
        self._problems += problems
        return section

    def _defer_missing(self, replay: str) -> dict[Loc, str]:
        """A missing variable is a problem, but on a replay what only a live call needs can wait."""
        command = self._command_line.value.get("run", {}).get("replay")
        deferred: dict[Loc, str] = {}
        sections = (*MODEL_SECTIONS, *self._model_target())
        for path, message in self._expansion.missing.items():
            waits = (command or replay) in ("only", "auto") and path[0] in sections
            name = _canonical(path)
            if waits and len(path) > 1 and name in CONNECTION:
                deferred[(path[0], name)] = describe_missing(self._document, path, message)
            else:
                self._problems.append(self._document.problem(path, message))
        return deferred

    def _layers(self, deferred: dict[Loc, str]) -> dict[str, tuple[Layer, ...]]:
        """The levels of every role: in the file, and on the command line."""
        below = {
            name: self._layer(name, self._checked(kind, name), deferred)
            for name, kind in MODEL_SECTIONS.items()
        }
        above = {
            name: self._command_layer(self._from_command_line(kind, name))
            for name, kind in MODEL_SECTIONS.items()
        }
        layers: dict[str, tuple[Layer, ...]] = {"llm": (below["llm"], above["llm"])}
        for role in ROLES:
            layers[role] = (below["llm"], below[role])
            layers[f"{role} command line"] = (above["llm"], above[role])
        return layers

    def _layer(self, name: str, section: BaseModel | None, deferred: dict[Loc, str]) -> Layer:
        layer = layer_of(section)
        origins = {key: self._origin((name, key)) for key in layer.values}
        unresolved = {path[1]: text for path, text in deferred.items() if path[0] == name}
        values = {key: value for key, value in layer.values.items() if key not in unresolved}
        return Layer(values, origins, {str(key): text for key, text in unresolved.items()})

    @staticmethod
    def _command_layer(section: BaseModel | None) -> Layer:
        return layer_of(section, COMMAND_LINE)

    def _target(self) -> TargetSection | None:
        given = self._document.value.get("target")
        on_top = self._command_line.value.get("target", {})
        if given is None and not on_top:
            return None
        values = {**given, **on_top} if isinstance(given, dict) else (given or on_top)
        lacking = {str(path[1]) for path in self._expansion.missing if path[0] == "target" and len(path) > 1}
        target, problems = check_target(values, ("target",), self._document, lacking)
        self._problems += problems
        return target

    def _origin(self, path: Loc) -> str:
        """`convoprobe.yaml:12 (judge)`, with the variables that the value was made from."""
        if path[1] in self._command_line.value.get(str(path[0]), {}) and path[0] in (
            "target",
            *PLAIN_SECTIONS,
        ):
            return COMMAND_LINE
        line = self._document.line_of(path)
        name = self._source.path.name if self._source else ""
        where = f"{name}:{line}" if line else name
        section = f"llm section, {where}" if path[0] == "llm" else f"{where} ({path[0]})"
        names = [
            name for key, used in self._expansion.variables.items() for name in used if _is_for(key, path)
        ]
        return ", from ".join((section, *dict.fromkeys(f"${name}" for name in names)))

    def _target_origin(self, target: TargetSection, key: str) -> str:
        given = [document.value.get("target") for document in (self._document, self._command_line)]
        origin = f"preset {getattr(target, 'preset', '')}"
        if not any(isinstance(values, dict) and values.get(key) is not None for values in given):
            return origin
        both = key in FROM_BOTH and getattr(target, "preset", None)
        return f"{self._origin(('target', key))}, {origin}" if both else self._origin(("target", key))

    def _assemble(
        self,
        plain: dict[str, tuple[BaseModel | None, BaseModel | None]],
        layers: dict[str, tuple[Layer, ...]],
        target: TargetSection | None,
        notices: list[str],
    ) -> LoadedSettings:
        merged = {"llm": merge(layers["llm"])}
        merged |= {role: merge(layers[role] + layers[f"{role} command line"]) for role in ROLES}
        for name, (in_file, on_top) in plain.items():
            layer = layer_of(in_file)
            origins = {key: self._origin((name, key)) for key in layer.values}
            layers[name] = (Layer(layer.values, origins), layer_of(on_top, COMMAND_LINE))
            merged[name] = merge(layers[name])
        settings = Settings(
            **{name: to_model(kind, merged[name]) for name, kind in MODEL_SECTIONS.items()},
            **{name: kind(**merged[name].values) for name, kind in PLAIN_SECTIONS.items()},
            target=target,
        )
        file = self._source.path if self._source else None
        # Made twice: the origins of a target that is a model need its merged levels.
        loaded = LoadedSettings(settings, file, {}, self._secrets, tuple(notices), layers)
        return replace(loaded, origins=self._origins(loaded, merged))

    def _origins(self, loaded: LoadedSettings, merged: dict[str, Layer]) -> dict[str, str]:
        target = loaded.settings.target
        if target is not None and target.is_model():
            merged = {**merged, "target": target_layer(loaded)}
        elif target is not None:
            layer = layer_of(target)
            merged = {
                **merged,
                "target": Layer({}, {key: self._target_origin(target, key) for key in layer.values}),
            }
        return {
            f"{name}.{key}": merged[name].origins.get(key) or "default"
            for name, section in _sections(loaded.settings)
            for key in known_fields(type(section))
        }


def _sections(settings: Settings) -> list[tuple[str, BaseModel]]:
    sections = ((name, getattr(settings, name)) for name in known_fields(Settings))
    return [(name, section) for name, section in sections if section is not None]


def _canonical(path: Loc) -> str:
    name = str(path[1]) if len(path) > 1 else ""
    return MODEL_ALIASES.get(name, name)


def _is_for(used: Loc, path: Loc) -> bool:
    return len(used) > 1 and used[0] == path[0] and _canonical(used) == path[1]
