"""Reads the settings: finds the file, fills in variables, checks, and merges the levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from ..errors import Problem, SettingsError
from ..project_code.agent_environment import own_environment
from ..yaml_source import Loc, dotted
from .aliases import MODEL_ALIASES, known_fields, rename_aliases, translate_old
from .checking import check, check_target, unknown_section
from .discovery import Source, find_source
from .effective import Layer, LoadedSettings
from .environment import Expansion, describe_missing, fill_in
from .file_formats import COMMAND_LINE, empty, from_command_line, in_order
from .http_presets import FROM_BOTH
from .merge import CONNECTION, layer_of, merge, target_layer, to_model
from .models import MODEL_SECTIONS, PLAIN_SECTIONS, TARGET_TYPES, Settings, TargetSection
from .several_targets import base_of, each_target, mixed_wiring, prepare, unused_base

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
        self._problems += prepare(self._document)
        # Before any check, which knows our own names only.
        self._problems += rename_aliases(self._document, self._model_places())
        self._refuse_unknown_sections()
        plain = {name: self._plain(name) for name in PLAIN_SECTIONS}
        deferred = self._defer_missing(getattr(plain["run"][0], "replay", "off"))
        layers = self._layers(deferred)
        names = self._document.value.get("targets")
        target = None if names else self._target(("target",))
        several = {name: self._one_of_several(name, layers, deferred) for name in names or ()}
        self._problems += [*unused_base(self._document), *mixed_wiring(several, self._document)]
        if self._problems:
            # What several targets share is wrong in each of them.
            raise SettingsError(in_order(dict.fromkeys(self._problems)))
        if target is not None and target.is_model():
            layers["target"] = (self._layer(("target",), target, deferred),)
        targets = {name: one for name, one in several.items() if one is not None}
        return self._assemble(plain, layers, target, targets, notices)

    def _model_places(self) -> tuple[Loc, ...]:
        """Where the settings of models are written."""
        targets = self._document.value.get("targets")
        several = [("targets", name) for name in targets] if isinstance(targets, dict) else []
        return (
            *((name,) for name in MODEL_SECTIONS),
            *(place for place in (("target",), *several) if self._is_model(place)),
        )

    def _is_model(self, place: Loc) -> bool:
        values = self._at(place)
        kind = TARGET_TYPES.get(str(values.get("type"))) if isinstance(values, dict) else None
        return kind is not None and kind.is_model()

    def _at(self, place: Loc) -> Any:
        values = self._document.value
        for name in place:
            values = values.get(name)
        return values

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
        """A missing variable is a problem, but what only a live call needs can wait for one.

        Scenarios with checks by code alone make none. If something else is wrong, all is named at once.
        """
        command = self._command_line.value.get("run", {}).get("replay")
        live = (command or replay) not in ("only", "auto")
        keys = {path: self._deferrable(path) for path in self._expansion.missing}
        wait = not live or (all(keys.values()) and not self._problems)
        deferred: dict[Loc, str] = {}
        for path, message in self._expansion.missing.items():
            if (key := keys[path]) and wait:
                deferred[key] = describe_missing(self._document, path, message)
            else:
                self._problems.append(self._document.problem(path, message))
        return deferred

    def _deferrable(self, path: Loc) -> Loc | None:
        """The setting of a model's connection that a place is a part of; None for all else."""
        place = next((p for p in self._model_places() if path[: len(p)] == p and len(path) > len(p)), None)
        name = _canonical(path[len(place)]) if place else ""
        return (*place, name) if place and name in CONNECTION else None

    def _layers(self, deferred: dict[Loc, str]) -> dict[str, tuple[Layer, ...]]:
        """The levels of every role: in the file, and on the command line."""
        below = {
            name: self._layer((name,), self._checked(kind, name), deferred)
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

    def _layer(self, place: Loc, section: BaseModel | None, deferred: dict[Loc, str]) -> Layer:
        layer = layer_of(section)
        origins = {key: self._origin((*place, key)) for key in layer.values}
        unresolved = {path[-1]: text for path, text in deferred.items() if path[:-1] == place}
        values = {key: value for key, value in layer.values.items() if key not in unresolved}
        return Layer(values, origins, {str(key): text for key, text in unresolved.items()})

    @staticmethod
    def _command_layer(section: BaseModel | None) -> Layer:
        return layer_of(section, COMMAND_LINE)

    def _target(self, place: Loc, base: Mapping[str, Any] = MappingProxyType({})) -> TargetSection | None:
        """The target that is written there; what it doesn't say comes from `base`."""
        given = self._at(place)
        on_top = self._command_line.value.get("target", {})
        if given is None and not on_top:
            return None
        values = {**base, **given, **on_top} if isinstance(given, dict) else (given or on_top)
        lacking = self._lacking(place) | (self._lacking(("target",)) if base else set())
        target, problems = check_target(values, place, self._document, lacking)
        self._problems += problems
        return target

    def _lacking(self, place: Loc) -> set[str]:
        """The keys there whose text contains an undefined variable."""
        size = len(place)
        return {str(path[size]) for path in self._expansion.missing if path[:size] == place and path[size:]}

    def _one_of_several(
        self, name: str, layers: dict[str, tuple[Layer, ...]], deferred: dict[Loc, str]
    ) -> TargetSection | None:
        """A target of `targets`, with its levels if it is a model."""
        place: Loc = ("targets", name)
        own = self._at(place)
        base = base_of(self._document, own) if isinstance(own, dict) else {}
        if base and self._is_model(place):
            return self._model_above(place, layers, deferred)
        for key in base:
            if key not in own:
                self._document.rename(("target", key), (*place, key))
        target = self._target(place, base)
        if target is not None and target.is_model():
            layers[dotted(place)] = (self._layer(place, target, deferred),)
        return target

    def _model_above(
        self, place: Loc, layers: dict[str, tuple[Layer, ...]], deferred: dict[Loc, str]
    ) -> TargetSection | None:
        """A model on top of that in `target`. Its address and its key go along with the model's provider."""
        both = [(one, self._target(one)) for one in (("target",), place)]
        sections = [(one, section) for one, section in both if section is not None]
        levels = tuple(self._layer(one, section, deferred) for one, section in sections)
        layers[dotted(place)] = levels
        return to_model(type(sections[-1][1]), merge(levels)) if len(sections) == len(both) else None

    def _origin(self, path: Loc) -> str:
        """`convoprobe.yaml:12 (judge)`, with the variables that the value was made from."""
        section = "target" if path[0] == "targets" else str(path[0])
        if section in ("target", *PLAIN_SECTIONS) and path[-1] in self._command_line.value.get(section, {}):
            return COMMAND_LINE
        if path[0] == "targets" and self._document.as_written(path)[0] == "target":
            path = ("target", path[-1])  # it is shared
        line = self._document.line_of(path)
        name = self._source.path.name if self._source else ""
        where = f"{name}:{line}" if line else name
        section = f"llm section, {where}" if path[0] == "llm" else f"{where} ({dotted(path[:-1])})"
        names = [
            name for key, used in self._expansion.variables.items() for name in used if _is_for(key, path)
        ]
        return ", from ".join((section, *dict.fromkeys(f"${name}" for name in names)))

    def _target_origin(self, place: Loc, target: TargetSection, key: str) -> str:
        given = [self._at(place), *(one.value.get("target") for one in (self._document, self._command_line))]
        origin = f"preset {getattr(target, 'preset', '')}"
        if not any(isinstance(values, dict) and values.get(key) is not None for values in given):
            return origin
        both = key in FROM_BOTH and getattr(target, "preset", None)
        own = self._origin((*place, key))
        return f"{own}, {origin}" if both else own

    def _assemble(
        self,
        plain: dict[str, tuple[BaseModel | None, BaseModel | None]],
        layers: dict[str, tuple[Layer, ...]],
        target: TargetSection | None,
        targets: dict[str, TargetSection],
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
            targets=targets,
        )
        file = self._source.path if self._source else None
        # Made twice: the origins of a target that is a model need its merged levels.
        loaded = LoadedSettings(settings, file, {}, self._secrets, tuple(notices), layers)
        return replace(loaded, origins=self._origins(loaded, merged))

    def _origins(self, loaded: LoadedSettings, merged: dict[str, Layer]) -> dict[str, str]:
        sections = [(name, getattr(loaded.settings, name)) for name in (*MODEL_SECTIONS, *PLAIN_SECTIONS)]
        for name, one in each_target(loaded):
            if (target := one.settings.target) is not None:
                sections.append((name, target))
                merged = {**merged, name: self._origins_of_target(name, one, target)}
        return {
            f"{name}.{key}": merged[name].origins.get(key) or "default"
            for name, section in sections
            for key in known_fields(type(section))
        }

    def _origins_of_target(self, name: str, loaded: LoadedSettings, target: TargetSection) -> Layer:
        if target.is_model():
            return target_layer(loaded)
        place: Loc = ("target",) if name == "target" else ("targets", name.removeprefix("targets."))
        return Layer({}, {key: self._target_origin(place, target, key) for key in layer_of(target).values})


def _canonical(part: str | int) -> str:
    return MODEL_ALIASES.get(str(part), str(part))


def _is_for(used: Loc, path: Loc) -> bool:
    size = len(path)
    return used[: size - 1] == path[:-1] and len(used) >= size and _canonical(used[size - 1]) == path[-1]
