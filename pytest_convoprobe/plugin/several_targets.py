"""Which of several targets scenarios are run with: those of the settings, chosen by `--convoprobe-target`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from ..errors import SettingsError
from . import options
from .file_names import patterns_of
from .orders import order_of
from .session import early_settings

if TYPE_CHECKING:
    from ..scenario.loading import LoadedScenario

_EVERYWHERE: pytest.StashKey[Collection[str]] = pytest.StashKey()


def names_for(config: pytest.Config, file: str) -> tuple[str, ...]:
    """The names of the targets in the settings of a scenario's file; none where there is only `target`."""
    try:
        return tuple(early_settings(config).of(file).settings.targets)
    except SettingsError:
        return ()  # there is a better place to report it than the collection of one file


def complaint(
    config: pytest.Config, scenarios: Sequence[LoadedScenario], elsewhere: Collection[str] = ()
) -> str | None:
    """Why the targets that are asked for can't be chosen from these scenarios; None if they can.

    `elsewhere` are the names of targets that other scenarios of the run have.
    """
    from ..settings.several_targets import no_such_target

    wanted = options.chosen_targets(config)
    files = dict.fromkeys(one.file for one in scenarios)
    known = [name for file in files for name in names_for(config, file)]
    known += [one.target for one in scenarios if one.target]
    if unknown := [name for name in wanted if name not in known and name not in elsewhere]:
        return f"--convoprobe-target: {no_such_target(unknown[0], tuple(dict.fromkeys(known)))}"
    alone = next((one for one in scenarios if wanted and not one.target), None)
    return None if alone is None else _without_choice(alone, bool(names_for(config, alone.file)))


def complaint_of_file(config: pytest.Config, scenarios: Sequence[LoadedScenario]) -> str | None:
    """The same of one file. Its project may be one of several, and not the one with the target's name."""
    if not options.chosen_targets(config):
        return None
    if _EVERYWHERE not in config.stash:
        config.stash[_EVERYWHERE] = frozenset(_names_everywhere(config))
    return complaint(config, scenarios, config.stash[_EVERYWHERE])


def _names_everywhere(config: pytest.Config) -> Iterator[str]:
    """The names of the targets in all settings that are for scenarios below pytest's root."""
    from ..scenario.search import search

    found = search(config.rootpath, config.rootpath, patterns_of(config)).scenarios
    for folder in {path.parent for path in found}:
        yield from names_for(config, str(folder / "any"))


def _without_choice(scenario: LoadedScenario, are_named: bool) -> str:
    why = (
        "the project's fixture `convoprobe_target` gives its target, and comes before the settings' `targets`"
        if are_named
        else "it has only one target, and no name for it"
    )
    return (
        f"--convoprobe-target: there is nothing to choose for {scenario.file}::{scenario.id}: {why}. Leave "
        "the option out, or ask for other scenarios"
    )


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect scenarios with other targets than those that are asked for. Raises `pytest.UsageError`."""
    orders = [order for item in items if (order := order_of(item))]
    # In a worker of xdist, a usage error would look like a crash: there the file says so.
    if not hasattr(config, "workerinput") and (words := complaint(config, [one.loaded for one in orders])):
        raise pytest.UsageError(words)
    wanted = options.chosen_targets(config)
    others = {id(order.item) for order in orders if order.loaded.target not in wanted}
    if others:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in others])
        items[:] = [item for item in items if id(item) not in others]


def target_in_id(config: pytest.Config, file: str, name: str) -> str:
    """The target that the id of a scenario names; empty if it names none."""
    return next((one for one in names_for(config, file) if name.endswith(f"[{one}]")), "")
