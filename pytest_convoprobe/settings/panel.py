"""The models of a judge with a panel, each with settings of its own."""

from __future__ import annotations

from .effective import Layer
from .merge import layer_of, merge, to_model
from .model_settings import ModelSettings


def members_of(judge: ModelSettings) -> tuple[ModelSettings, ...]:
    """The judge's own model, then each model of its panel, without repeats.

    A member has the judge's settings with its own model over them, as if a scenario named it: a model of
    another provider gets neither the address nor the key of the judge, and prices don't move along.
    """
    names: tuple[str, ...] = getattr(judge, "panel", ())
    members = {judge.model: judge} | {
        member.model: member
        for member in (_member(judge, name) for name in names)
        if member.model != judge.model
    }
    return tuple(members.values())


def _member(judge: ModelSettings, name: str) -> ModelSettings:
    return to_model(type(judge), merge((layer_of(judge).without("panel"), Layer({"model": name}))))


def alone(judge: ModelSettings) -> ModelSettings:
    """The same without a panel."""
    return judge.model_copy(update={"panel": ()}) if getattr(judge, "panel", ()) else judge
