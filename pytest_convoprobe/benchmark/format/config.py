"""Reads `config.yaml` and merges it with what the project's settings have for all models.

From the strongest to the weakest: overrides, the role's section, the file's `llm`, the project's own
settings (its `judge` for the evaluator, its `synthetic_user` for the user, its `target` for targets that are
models, and its `llm`), defaults. What the project was given on the command line comes above the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from ...errors import Problem, SettingsError
from ...redaction import Redactor
from ...settings.aliases import MODEL_ALIASES, known_fields, rename_in, set_aside
from ...settings.checking import OTHER_NAMES, check, check_target, unknown_section
from ...settings.effective import Layer, LoadedSettings
from ...settings.environment import describe_missing, fill_in
from ...settings.file_formats import from_command_line, in_order
from ...settings.merge import CONNECTION, layer_of, merge, to_model
from ...settings.model_settings import ModelSettings
from ...settings.models import DEFAULT_TARGET, TARGET_TYPES, RunSettings, TargetSection, guess_type
from ...settings.several_targets import each_target
from ...suggest import suggest
from ...yaml_source import Document, Loc
from ...yaml_source.explain import must_be
from .concurrency import take_by_stage
from .demographics import read_demographics
from .models import BenchmarkConfig, EvaluationMethod, Generation, TargetEntry
from .naming import name_targets

S = TypeVar("S", bound=BaseModel)

ROLES = {"generator_model": "llm", "user_model": "synthetic_user", "evaluator_model": "judge"}
"""The sections of the roles, with the section of the project's settings that each is merged with."""

_SWITCHES = ("landmarks", "perfunctory")
_OF_THE_TOP = ("demographics", *_SWITCHES)
_SECTIONS = ("llm", *ROLES, "targets", "generation", "evaluation", *_OF_THE_TOP, "run")
_OVERRIDABLE = ("llm", *ROLES, "generation", "evaluation", *_SWITCHES, "run")
_OTHER_NAMES = {
    "evaluator": "evaluator_model",
    "judge": "evaluator_model",
    "synthetic_user": "user_model",
    "user": "user_model",
    "models": "targets",
}


class _Switches(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    landmarks: bool = True
    perfunctory: bool = False


@dataclass(frozen=True)
class ReadConfig:
    """What reading gives; `secrets` are for the redactor, `notices` for the user."""

    config: BenchmarkConfig
    secrets: tuple[str, ...] = field(default=(), repr=False)
    notices: tuple[str, ...] = ()


def read_config(
    document: Document,
    project: LoadedSettings,
    overrides: Mapping[str, Any],
    environ: Mapping[str, str],
) -> ReadConfig:
    """The whole configuration; an empty document takes everything from the project.

    `overrides` are values by dotted path. A variable that is missing for an address, a key or a header is no
    problem before a live call needs it: the model's `unresolved` contains it. Raises `SettingsError`
    with everything that is wrong.
    """
    return _ConfigReader(document, project, overrides, environ).read()


class _ConfigReader:
    def __init__(
        self,
        document: Document,
        project: LoadedSettings,
        overrides: Mapping[str, Any],
        environ: Mapping[str, str],
    ) -> None:
        self._document = document
        self._project = project
        self._above = from_command_line(overrides)
        self._environ = environ
        self._problems: list[Problem] = []
        self._notices: list[str] = []
        self._deferred: dict[tuple[Loc, str], str] = {}
        self._lacking: dict[Loc, set[str]] = {}
        self._secrets: tuple[str, ...] = ()

    def read(self) -> ReadConfig:
        # First, so that no message of the others shows a secret.
        self._expand()
        self._problems += [
            unknown_section(name, _OVERRIDABLE, self._above, _OTHER_NAMES)
            for name in self._above.value
            if name not in _OVERRIDABLE
        ]
        # Before unknown keys are set aside: these are ours, in another place.
        self._lift()
        by_stage = self._by_stage()
        self._clean()
        common = self._model("llm", ModelSettings)
        models = {role: self._role(role, common) for role in ROLES}
        targets = self._targets(common)
        self._refuse_faults(targets)
        plain = {name: self._plain(name, kind) for name, kind in _PLAIN.items()}
        switches = self._switches()
        demographics, problems = read_demographics(self._document)
        self._problems += problems
        if self._problems:
            raise SettingsError(in_order(self._problems))
        config = BenchmarkConfig(
            **models,
            **plain,
            **switches,
            targets=self._named(targets),
            demographics=demographics,
            concurrency=by_stage,
        )
        return ReadConfig(config, self._secrets, tuple(self._notices))

    # Variables

    def _expand(self) -> None:
        public = self._project.settings.results.public
        expansion, self._secrets = fill_in(self._document, self._above, self._environ, public)
        # A target may be the project's, with the secrets of its settings.
        self._document.mask = Redactor((*self._secrets, *self._project.secrets), environ={}).text
        self._problems += expansion.problems
        for path, message in expansion.missing.items():
            self._missing(path, message)

    def _missing(self, path: Loc, message: str) -> None:
        section = _section_of(path)
        name = str(path[len(section)]) if len(path) > len(section) else ""
        name = MODEL_ALIASES.get(name, name)
        if section[0] in ("llm", "targets", *ROLES) and name:
            self._lacking.setdefault(section, set()).add(name)
            if name in CONNECTION:
                self._deferred[section, name] = describe_missing(self._document, path, message)
                return
        self._problems.append(self._document.problem(path, message))

    # Other spellings

    def _lift(self) -> None:
        """What may be under `generation` as well is moved to the top."""
        below = self._document.value.get("generation")
        below = below if isinstance(below, dict) else {}
        for name in [name for name in _OF_THE_TOP if name in below]:
            if name in self._document.value:
                message = f"`{name}` is at the top, too; keep one of them"
                self._problems.append(self._document.problem(("generation", name), message, at_key=True))
            else:
                self._document.value[name] = below[name]
                self._document.rename(("generation", name), (name,))
            del below[name]

    def _by_stage(self) -> Mapping[str, int]:
        """The numbers of `run.concurrency` by stage; none where the command line has one number for all."""
        found, problems, notices = take_by_stage(self._document)
        self._problems += problems
        self._notices += notices
        above = (*self._project_levels("run")[1], self._override("run", RunSettings))
        return {} if any("concurrency" in layer.values for layer in above) else found

    def _clean(self) -> None:
        """Set aside what isn't ours, and give the fields of models our names."""
        for key in [key for key in self._document.value if key not in _SECTIONS]:
            self._stranger(key)
            del self._document.value[key]
        for name in ("llm", *ROLES):
            self._clean_section((name,), self._document.value.get(name), known_fields(ModelSettings))
        for name, kind in _PLAIN.items():
            self._set_aside((name,), self._document.value.get(name), known_fields(kind))
        targets = self._document.value.get("targets")
        for index, item in enumerate(targets if isinstance(targets, list) else ()):
            self._clean_target(("targets", index), item)

    def _stranger(self, key: str) -> None:
        home = next((name for name, kind in _PLAIN.items() if key in kind.model_fields), None)
        if home:
            self._problems.append(
                self._document.problem((key,), f"this key belongs in `{home}`", at_key=True)
            )
        elif suggest(key, _SECTIONS, _OTHER_NAMES):
            self._problems.append(unknown_section(key, _SECTIONS, self._document, _OTHER_NAMES))
        else:
            self._notices.append(set_aside(self._document, (key,)))

    def _clean_target(self, path: Loc, values: Any) -> None:
        if not isinstance(values, dict):
            return
        kind = TARGET_TYPES.get(str(values.get("type")), DEFAULT_TARGET)
        known = ("id", *known_fields(kind))
        default = DEFAULT_TARGET.type_name()
        # Keys of another type: its author forgot the `type`, so `check_target` asks for it.
        if kind.is_model() and guess_type(values) in (None, default, kind.type_name()):
            values.setdefault("type", default)
            self._clean_section(path, values, known)
        elif values.get("type"):
            self._set_aside(path, values, known)

    def _clean_section(self, path: Loc, values: Any, known: tuple[str, ...]) -> None:
        self._set_aside(path, values, (*known, *MODEL_ALIASES))
        if isinstance(values, dict):
            self._problems += rename_in(self._document, path, values)

    def _set_aside(self, path: Loc, values: Any, known: tuple[str, ...]) -> None:
        """Keys that are like none of ours are another system's. One that is nearly ours `check` reports."""
        keys = values if isinstance(values, dict) else {}
        for key in [key for key in keys if key not in known and suggest(key, known, OTHER_NAMES) is None]:
            self._notices.append(set_aside(self._document, (*path, key)))
            del values[key]

    # Models

    def _model(self, name: str, kind: type[BaseModel]) -> Layer:
        return self._layer(
            (name,), self._check(kind, self._document.value.get(name), (name,), self._document)
        )

    def _layer(self, path: Loc, section: BaseModel | None) -> Layer:
        unresolved = {name: text for (where, name), text in self._deferred.items() if where == path}
        values = {key: value for key, value in layer_of(section).values.items() if key not in unresolved}
        return Layer(values, {}, unresolved)

    def _role(self, name: str, common: Layer) -> ModelSettings:
        below, above = self._project_levels(ROLES[name])
        own = self._model(name, ModelSettings)
        on_top = (self._override("llm", ModelSettings), self._override(name, ModelSettings))
        return to_model(ModelSettings, merge((*below, common, own, *above, *on_top)))

    def _project_levels(self, section: str) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
        """What the project's settings have for a section: in its file, and on its command line."""
        levels = self._project.layers
        if section not in levels:
            return (layer_of(getattr(self._project.settings, section)),), ()
        if section in ("llm", "run"):
            return levels[section][:1], levels[section][1:]
        return levels[section], levels.get(f"{section} command line", ())

    # Targets

    def _targets(self, common: Layer) -> list[tuple[Any, str | None, TargetSection]]:
        """Each with the id and the name that it was given, before ids are made."""
        given = self._document.value.get("targets")
        if given is None:
            return [
                (None, section.partition(".")[2] or None, self._with_levels(target, common, Layer(), project))
                for section, project in each_target(self._project)
                if (target := project.settings.target) is not None
            ]
        if not isinstance(given, list):
            message = f"{must_be('a list', given)}; begin each target with `- `"
            self._problems.append(self._document.problem(("targets",), message))
            return []
        return [found for index, item in enumerate(given) if (found := self._target(index, item, common))]

    def _target(self, index: int, item: Any, common: Layer) -> tuple[Any, str | None, TargetSection] | None:
        path: Loc = ("targets", index)
        values = _of_a_name(item) if isinstance(item, str) else item
        if not isinstance(values, dict):
            expected = must_be("a model's name or a mapping", item)
            message = f"{expected}; write `- model: openai/gpt-4o`"
            self._problems.append(self._document.problem(path, message))
            return None
        own = {key: value for key, value in values.items() if key != "id"}
        section, problems = check_target(own, path, self._document, self._lacking.get(path, ()))
        self._problems += problems
        if section is None:
            return None
        return values.get("id"), section.label, self._with_levels(section, common, self._layer(path, section))

    def _with_levels(
        self, section: TargetSection, common: Layer, own: Layer, project: LoadedSettings | None = None
    ) -> TargetSection:
        """A model with what it leaves unset; instructions for our own roles are not for what is tested."""
        if not section.is_model():
            return section
        below, above = self._project_levels("llm")
        project = project or self._project
        target = project.settings.target
        # An address of the project's HTTP agent is nothing for a model, and the other way round.
        same_type = type(target) is type(section)
        agent = project.layers.get("target", (layer_of(target),)) if same_type else ()
        in_project = (*_for_others(below), *_for_others(above), *agent)
        in_file = _for_others((common, self._override("llm", ModelSettings)))
        return to_model(type(section), merge((*in_project, *in_file, own)))

    def _refuse_faults(self, targets: list[tuple[Any, str | None, TargetSection]]) -> None:
        """Rows don't say which call had a fault, so an evaluator would blame the agent for it."""
        listed = self._document.value.get("targets") is not None
        for index, (_, name, section) in enumerate(targets):
            if section.faults:
                place: Loc = ("targets", index) if listed else ()
                message = f"`faults` of {name or section.label or 'the target'}: a benchmark injects none"
                advice = "Use them in scenarios, or name a target without faults in `targets`."
                self._problems.append(replace(self._document.problem(place, message), advice=advice))

    def _named(self, targets: list[tuple[Any, str | None, TargetSection]]) -> tuple[TargetEntry, ...]:
        ids = name_targets(
            [(own, name or section.label or "target") for own, name, section in targets], self._document
        )
        return tuple(
            TargetEntry(id=name, settings=section) for name, (_, _, section) in zip(ids, targets, strict=True)
        )

    # The rest

    def _plain(self, name: str, kind: type[S]) -> S:
        """A section that nothing inherits from but its namesake in the project."""
        in_project = self._project_levels(name) if name == "run" else ((), ())
        own = self._check(kind, self._document.value.get(name), (name,), self._document)
        layers = (*in_project[0], layer_of(own), *in_project[1], self._override(name, kind))
        return kind(**merge(layers).values)

    def _switches(self) -> dict[str, bool]:
        in_file = {name: self._document.value.get(name) for name in _SWITCHES}
        on_top = {name: self._above.value.get(name, {}).get("") for name in _SWITCHES}
        found = [
            self._check(_Switches, values, (), document)
            for values, document in ((in_file, self._document), (on_top, self._above))
        ]
        return dict(merge(map(layer_of, found)).values)

    def _override(self, name: str, kind: type[BaseModel]) -> Layer:
        return layer_of(self._check(kind, self._above.value.get(name), (name,), self._above))

    def _check(self, kind: type[S], values: Any, path: Loc, document: Document) -> S | None:
        lacking: Collection[str] = self._lacking.get(path, ()) if document is self._document else ()
        section, problems = check(kind, values, path, document, lacking)
        # `llm` is checked for each role that takes it over; its mistakes are reported once.
        self._problems += [problem for problem in problems if problem not in self._problems]
        return section


_PLAIN: dict[str, type[BaseModel]] = {
    "generation": Generation,
    "evaluation": EvaluationMethod,
    "run": RunSettings,
}


def _section_of(path: Loc) -> Loc:
    return path[:2] if path[0] == "targets" else path[:1]


def _for_others(levels: Iterable[Layer]) -> tuple[Layer, ...]:
    """Without what is meant for our own roles only."""
    return tuple(level.without("extra_instructions") for level in levels)


def _of_a_name(name: str) -> dict[str, str]:
    """The target that a list has as a text: a model."""
    return {"type": DEFAULT_TARGET.type_name(), DEFAULT_TARGET.name_field: name}
