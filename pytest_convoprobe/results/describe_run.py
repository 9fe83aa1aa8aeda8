"""Gathers what is to be known of a run as a whole."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..llm.chat_format import own_prices
from ..llm.port import Price, Role
from ..pseudonyms import Masking
from ..redaction import MASK, is_secret_name
from ..settings.mask_rules import patterns_of
from ..settings.merge import target_settings
from ..settings.model_settings import ModelSettings
from ..settings.several_targets import each_target
from ..settings.show import masked
from .provenance import ci_facts, git_facts, versions
from .run_info import RunInfo

if TYPE_CHECKING:
    from ..settings.effective import LoadedSettings

_PRICES = "input_cost_per_token", "output_cost_per_token"


def describe_run(run: str, loaded: LoadedSettings, *, command: Sequence[str], folder: Path) -> RunInfo:
    """The description of a run that begins now; `folder` is where git is asked."""
    masking = Masking(patterns_of(loaded.settings.results.mask), place=loaded.origins.get("results.mask", ""))
    return RunInfo(
        id=run,
        started=time.time(),
        # Files are named after people, too.
        command=tuple(map(masking.anonymous, _without_secrets(command))),
        versions=versions(),
        settings=_settings(loaded),
        models=_models(loaded),
        prices=_prices(loaded),
        git=git_facts(folder),
        ci=ci_facts(os.environ),
    )


def with_listed_prices(
    info: RunInfo, loaded: LoadedSettings, listed_price: Callable[[str], Price | None]
) -> RunInfo:
    """The description of a run that ends now, with the prices that its calls were counted at.

    Where the settings leave a price out, `listed_price` is asked for that of the model: at the end, because
    it takes its time. A run that only replays has none.
    """
    if loaded.settings.run.replay == "only":
        return info
    listed = {
        role.value: dict(zip(_PRICES, price, strict=True))
        for role, model in _model_settings(loaded).items()
        if own_prices(model) is None
        if (price := listed_price(model.model or "")) is not None
    }
    return replace(info, prices={**info.prices, **listed})


def _settings(loaded: LoadedSettings) -> dict[str, dict[str, Any]]:
    """The effective settings with what is not set left out, and with it the sections that would be empty."""
    found = {
        name: {field: value for field, value in (section or {}).items() if value not in (None, {}, [])}
        for name, section in masked(loaded).items()
    }
    return {name: section for name, section in found.items() if section}


def _without_secrets(command: Sequence[str]) -> Iterator[str]:
    """The word after `--token` goes; the redactor sees to `--token=…` and to secrets that it knows."""
    before = ""
    for word in command:
        follows = before.startswith("-") and "=" not in before and is_secret_name(before.lstrip("-"))
        yield MASK if follows and not word.startswith("-") else word
        before = word


def _model_settings(loaded: LoadedSettings) -> dict[Role, ModelSettings]:
    """The settings of each role that a language model has."""
    settings, target = loaded.settings, target_settings(loaded)
    roles = {Role.SYNTHETIC_USER: settings.synthetic_user, Role.JUDGE: settings.judge}
    model = target.as_model if target is not None else None
    return roles if model is None else {**roles, Role.TARGET: model}


def _models(loaded: LoadedSettings) -> dict[str, str]:
    """What each role is called: the name of its model, or what else the target is, or the targets are."""
    targets = (target_settings(one) for _, one in each_target(loaded))
    labels = dict.fromkeys(target.label for target in targets if target is not None and target.label)
    names = {role.value: model.model for role, model in _model_settings(loaded).items()}
    names[Role.TARGET.value] = ", ".join(labels)
    return {role: name for role, name in names.items() if name}


def _prices(loaded: LoadedSettings) -> dict[str, dict[str, float]]:
    """US dollars per token, as far as the settings say them."""
    found = {
        role.value: {name: price for name in _PRICES if (price := getattr(model, name)) is not None}
        for role, model in _model_settings(loaded).items()
    }
    return {role: prices for role, prices in found.items() if prices}
