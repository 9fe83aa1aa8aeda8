"""Which client calls the models of each role, and why: for the commands that show settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..settings.effective import LoadedSettings
from ..settings.merge import target_settings
from ..settings.model_settings import ModelSettings
from ..settings.panel import members_of
from ..settings.several_targets import each_target
from .lanes import Lane, lane_of


@dataclass(frozen=True)
class ClientInUse:
    """How a model of a role is called. `role` is the section of the settings that names it."""

    role: str
    model: str
    lane: Lane

    @property
    def words(self) -> str:
        """The model, and why it is called as it is."""
        return f"{self.model}: {self.lane.fault or self.lane.reason}"


def clients_in_use(loaded: LoadedSettings) -> Iterator[ClientInUse]:
    """One for each model that has a name, a judge's panel included. Nothing is called or imported."""
    settings = loaded.settings
    for member in members_of(settings.judge):
        yield from _client("judge", member)
    yield from _client("synthetic_user", settings.synthetic_user)
    for section, one in each_target(loaded):
        target = target_settings(one)
        model = target.as_model if target is not None else None
        if model is not None:
            yield from _client(section, model)


def _client(role: str, settings: ModelSettings) -> Iterator[ClientInUse]:
    if settings.model:
        yield ClientInUse(role, settings.model, lane_of(settings, with_tools=settings.offers_tools))


def client_in_words(lane: Lane) -> str:
    """`client direct: `openai` speaks chat completions`."""
    return f"client {lane.name}: {lane.reason}"
