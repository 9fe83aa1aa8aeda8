"""Which of several targets a command is about that needs one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..settings.loading import LoadedSettings

F = TypeVar("F", bound=Callable[..., Any])


def target_option(function: F) -> F:
    """`--target`, for commands that talk with the target or look at it."""
    option = click.option(
        "--target", metavar="NAME", help="The target, where the settings name several in `targets`."
    )
    return option(function)


def with_chosen_target(loaded: LoadedSettings, name: str | None) -> LoadedSettings:
    """The settings with the target of that name; without one, with the only target that there is.

    Raises `SettingsError` for a name that there isn't, and `SeveralTargets`.
    """
    from ..settings.several_targets import SeveralTargets, names_of, with_only_target, with_target

    if name is not None:
        return with_target(loaded, name)
    if loaded.settings.target is None and len(names := names_of(loaded)) > 1:
        raise SeveralTargets(names)
    return with_only_target(loaded)
