"""One pure merge of the levels that settings come from.

From the strongest to the weakest: command line, a scenario's own `config`, the role's section,
`llm`, defaults. Only what is set overrides; `extra_instructions` of all levels are appended, the
weakest first. Two things go along with a model rather than with a level: when a stronger level names a
model of another provider, the address, the key and the headers of the weaker level are not
handed to that provider; and prices and the size of the context are dropped with the model that they
describe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from .aliases import join_provider
from .effective import Layer, LoadedSettings
from .models import ScenarioSettings, TargetSettings
from .providers import GATEWAYS, PROVIDERS, provider_of

M = TypeVar("M", bound=BaseModel)

CONNECTION = ("api_base", "api_key", "extra_headers")
OF_ONE_MODEL = ("context_size", "input_cost_per_token", "output_cost_per_token")


class ModelChanges(Protocol):
    """What a scenario may change of a role's model; None leaves it as it is."""

    @property
    def model(self) -> str | None: ...

    @property
    def temperature(self) -> float | None: ...

    @property
    def extra_instructions(self) -> str | None: ...


class RoleChanges(Protocol):
    """A scenario's own `config`."""

    @property
    def judge(self) -> ModelChanges | None: ...

    @property
    def synthetic_user(self) -> ModelChanges | None: ...


def scenario_settings(loaded: LoadedSettings, override: RoleChanges | None = None) -> ScenarioSettings:
    """What one scenario runs with. Hooks and the runner take it from here."""
    target = loaded.settings.target
    return ScenarioSettings(
        judge=_with_changes(loaded, "judge", loaded.settings.judge, override.judge if override else None),
        synthetic_user=_with_changes(
            loaded,
            "synthetic_user",
            loaded.settings.synthetic_user,
            override.synthetic_user if override else None,
        ),
        run=loaded.settings.run,
        gate=loaded.settings.gate,
        faults=target.faults if target else (),
        models=target.models if target else None,
        greeting_cue=target.greeting_cue if target else None,
        model_volatile=target.model_volatile if target else None,
    )


def target_settings(loaded: LoadedSettings) -> TargetSettings | None:
    """The target, a model's unset fields filled in from `llm`; None when no target is set."""
    target = loaded.settings.target
    if target is None or not target.is_model():
        return target
    return to_model(type(target), target_layer(loaded))


def target_layer(loaded: LoadedSettings) -> Layer:
    """The merged values of a target that is a model, with their origins."""
    target = loaded.layers.get("target") or (layer_of(loaded.settings.target),)
    llm = loaded.layers.get("llm") or (layer_of(loaded.settings.llm),)
    # Instructions of `llm` are for our models. In the agent's prompt they would change what is tested.
    return merge((*(layer.without("extra_instructions") for layer in llm), *target))


def _with_changes(loaded: LoadedSettings, role: str, merged: M, override: ModelChanges | None) -> M:
    """A role's settings with what a scenario changes of them."""
    if override is None:
        return merged
    below = loaded.layers.get(role) or (layer_of(merged),)
    above = loaded.layers.get(f"{role} command line", ())
    return to_model(type(merged), merge((*below, _override_layer(override), *above)))


def _override_layer(override: ModelChanges) -> Layer:
    names = ("model", "temperature", "extra_instructions")
    values = {name: value for name in names if (value := getattr(override, name, None)) is not None}
    return Layer(values, dict.fromkeys(values, "scenario's config"))


def layer_of(section: Any, origin: str = "") -> Layer:
    """The fields that are set in a section."""
    names = () if section is None else section.model_fields_set - {"unresolved"}
    values = {name: getattr(section, name) for name in names}
    unresolved = getattr(section, "unresolved", {})
    return Layer(values, dict.fromkeys(values, origin), unresolved)


def to_model(model: type[M], layer: Layer) -> M:
    """A section made of merged values."""
    return model(**{**layer.values, "unresolved": layer.unresolved})


def merge(layers: Iterable[Layer]) -> Layer:
    """All levels in one, from the weakest to the strongest."""
    merged = _Merge()
    for layer in layers:
        merged.add(layer)
    return Layer(merged.values, merged.origins, merged.unresolved)


@dataclass
class _Merge:
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    unresolved: dict[str, str] = field(default_factory=dict)

    def add(self, layer: Layer) -> None:
        # Before the level's own values: those are for its model, and must not be dropped with the old one.
        self._follow_model(layer.values)
        for name, value in layer.values.items():
            self._set(name, value, layer.origins.get(name, ""))
        for name, message in layer.unresolved.items():
            self._drop(name)
            self.unresolved[name] = message

    def _set(self, name: str, value: Any, origin: str) -> None:
        if name == "model":
            # `_follow_model` has put the whole name there, with its provider.
            value = self.values["model"]
        if name == "extra_instructions" and name in self.values:
            value = f"{self.values[name]}\n\n{value}"
            origin = " + ".join(part for part in (self.origins[name], origin) if part)
        self.values[name] = value
        self.origins[name] = origin
        self.unresolved.pop(name, None)

    def _follow_model(self, new: Mapping[str, Any]) -> None:
        """Find the whole name of the model, and drop what belonged to another one."""
        before = self.values.get("model")
        after = _whole_name(self.values, new)
        if after is None:
            return
        self.values["model"] = after
        if new.get("model") and not new.get("provider") and after == new["model"]:
            self._drop("provider")
        if before is None or after == before:
            return
        # Prices and context size are facts of one model, whoever hosts the next.
        for name in OF_ONE_MODEL:
            self._drop(name)
        if _differ(provider_of(before), provider_of(after)):
            for name in CONNECTION:
                self._drop(name)

    def _drop(self, name: str) -> None:
        for kept in (self.values, self.origins, self.unresolved):
            kept.pop(name, None)


def _whole_name(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The model's name with its provider, when a level that says `new` comes over `old`."""
    model, provider = new.get("model"), new.get("provider")
    if model and provider:
        return join_provider(provider, model)
    if model:
        inherited = old.get("provider")
        return model if _names_its_provider(model, inherited) else join_provider(inherited, model)
    if provider and old.get("model"):
        return join_provider(provider, _bare(old["model"], old.get("provider")))
    return old.get("model")


def _names_its_provider(model: str, inherited: str | None) -> bool:
    # Behind a gateway, `anthropic/x` is the gateway's name for a model, and not another provider.
    return inherited not in GATEWAYS and "/" in model and provider_of(model) in PROVIDERS


def _bare(model: str, provider: str | None) -> str:
    known = provider or provider_of(model)
    return model.removeprefix(f"{known}/") if provider or known in PROVIDERS else model


def _differ(first: str | None, second: str | None) -> bool:
    return first is not None and second is not None and first != second
