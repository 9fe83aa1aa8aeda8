"""The section `targets`: several agents under test, each by a name, and the settings with one of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..errors import Problem, SettingsError
from ..suggest import did_you_mean
from ..yaml_source import Document, Loc
from ..yaml_source.explain import describe
from .checking import check_target
from .effective import LoadedSettings
from .model_upstreams import ModelUpstreams
from .models import TARGET_TYPES, TargetSection

_NAME = re.compile(r"\w[\w.-]*")
_WANTED = "names, each with the keys of a target: `targets: {fast: {type: python, object: agent.py:Fast}}`"


class SeveralTargets(SettingsError):
    """The settings name several targets, and nothing says which one is meant."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = tuple(names)
        message = (
            f"the settings name several targets ({', '.join(names)}), and nothing says which one is meant: "
            "choose one, in pytest by `--convoprobe-target NAME`, in commands by `--target NAME`, and in "
            '`convoprobe.run` and `run_scenario` by `target="NAME"`'
        )
        super().__init__((Problem(message, path="targets"),))

    def __reduce__(self) -> tuple[type[SeveralTargets], tuple[tuple[str, ...]]]:
        return type(self), (self._names,)


def names_of(loaded: LoadedSettings) -> tuple[str, ...]:
    """The names of the targets, in the order of the file; none for settings with at most one, in `target`."""
    return tuple(loaded.settings.targets)


def with_target(loaded: LoadedSettings, name: str) -> LoadedSettings:
    """The settings with the target of that name as their `target`. Raises `SettingsError`: there is none."""
    targets = loaded.settings.targets
    if name not in targets:
        raise SettingsError.of(no_such_target(name, targets), file=_file(loaded), path="targets")
    section = f"targets.{name}"
    layers = {key: levels for key, levels in loaded.layers.items() if key != "target"}
    if section in layers:
        layers["target"] = layers[section]
    own = {
        f"target.{path.removeprefix(f'{section}.')}": origin
        for path, origin in loaded.origins.items()
        if path.startswith(f"{section}.")
    }
    return replace(
        loaded,
        settings=loaded.settings.model_copy(update={"target": targets[name]}),
        origins={**loaded.origins, **own},
        layers=layers,
    )


def with_only_target(loaded: LoadedSettings) -> LoadedSettings:
    """The settings with the one target that `targets` names; with none or several, as they are."""
    names = names_of(loaded)
    return with_target(loaded, names[0]) if len(names) == 1 and loaded.settings.target is None else loaded


def each_target(loaded: LoadedSettings) -> Iterator[tuple[str, LoadedSettings]]:
    """The section of each target, `target` or `targets.fast`, and the settings with it as their `target`."""
    if loaded.settings.target is None and loaded.settings.targets:
        for name in names_of(loaded):
            yield f"targets.{name}", with_target(loaded, name)
    else:
        yield "target", loaded


def models_of(loaded: LoadedSettings) -> ModelUpstreams | None:
    """The providers that the target calls itself by way of the gateway; None if it has none."""
    return None if loaded.settings.target is None else loaded.settings.target.models


def no_such_target(name: str, names: Collection[str]) -> str:
    """That there is no target of a name, and which there are."""
    if ":" in name:
        return (
            f"`{name}` is a reference to Python code, and a target's name is expected; give it a name in the "
            f"settings: `targets: {{my-agent: {{type: python, object: {name}}}}}`"
        )
    if not names:
        return (
            f"there is no target `{name}`: the settings have no section `targets`. Write there "
            f"`{name}: {{type: python, object: package.module:agent}}`"
        )
    return f"there is no target `{name}`{did_you_mean(name, names)}; there are {', '.join(names)}"


def of_one_target(problem: Problem, name: str) -> Problem:
    """A problem with `target`, of settings in which it is the target of a name in `targets`."""
    if not name or not problem.path.startswith("target."):
        return problem
    return replace(problem, path=f"targets.{name}.{problem.path.removeprefix('target.')}")


def is_name(text: str) -> bool:
    """Whether a target may be called so; a reference to code has a `:`."""
    return _NAME.fullmatch(text) is not None


def prepare(document: Document) -> list[Problem]:
    """Give each target of `targets` the type of `target`, if it has none, and say what is wrong with names.

    Afterwards each of them is a mapping.
    """
    given = document.value.get("targets")
    if given is None:
        document.value.pop("targets", None)
        return []
    if not isinstance(given, dict) or not given:
        found = "it is empty" if given in ({}, [], "") else f"it is {describe(given)}"
        del document.value["targets"]
        return [document.problem(("targets",), f"a mapping is expected, and {found}; write {_WANTED}")]
    problems = [problem for name in given if (problem := _wrong_name(name, document))]
    for name in [name for name in given if _wrong_name(name, document)]:
        del given[name]
    for name, own in given.items():
        given[name] = {} if own is None else own
        if isinstance(given[name], dict):
            _inherit_type(document, name, given[name])
    return problems


def base_of(document: Document, own: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `target` says for a target of `targets`: nothing for one of another type."""
    base = document.value.get("target")
    return base if isinstance(base, dict) and base.get("type") == own.get("type") else {}


def unused_base(document: Document) -> list[Problem]:
    """A `target` beside `targets` from which none of them takes anything."""
    base, targets = document.value.get("target"), document.value.get("targets")
    if base is None or not targets:
        return []
    if not isinstance(base, dict) or base.get("type") not in TARGET_TYPES:
        return check_target(base, ("target",), document)[1]
    own = [one for one in targets.values() if isinstance(one, dict)]
    if not own or any(base_of(document, one) for one in own):
        return []
    message = (
        f"beside `targets`, `target` has what those of its type share, and none of them has the type "
        f"{base.get('type')!r}; to test this one too, give it a name in `targets`"
    )
    return [document.problem(("target",), message, at_key=True)]


def mixed_wiring(targets: Mapping[str, TargetSection | None], document: Document) -> list[Problem]:
    """Agents in this process of which only some have `models`.

    The gateway's address is in the environment, which they share. Without a conversation of its own there,
    the calls of one would be taken for those of another.
    """
    own = {name: one for name, one in targets.items() if one is not None and one.in_process}
    wired = [name for name, one in own.items() if one.models is not None]
    plain = [name for name, one in own.items() if wired and one.models is None]
    words = "Both run in this process, where agents find the gateway's address in the environment"
    return [
        document.problem(
            ("targets", name),
            f"`targets.{wired[0]}` has `models`, and this one has none. {words}: its calls would be taken "
            f"for those of `{wired[0]}`. Give it `models` too; if it calls none, they do no harm",
            at_key=True,
        )
        for name in plain
    ]


def _inherit_type(document: Document, name: str, own: dict[str, Any]) -> None:
    base = document.value.get("target")
    if "type" not in own and isinstance(base, dict) and "type" in base:
        own["type"] = base["type"]
        place: Loc = ("targets", name, "type")
        document.rename(("target", "type"), place)


def _wrong_name(name: object, document: Document) -> Problem | None:
    if isinstance(name, str) and is_name(name):
        return None
    message = f"a target's name has letters, digits, `.`, `_` and `-`; got {describe(name)}"
    return document.problem(("targets", str(name)), message, at_key=True)


def _file(loaded: LoadedSettings) -> str:
    return loaded.file.name if loaded.file else ""
