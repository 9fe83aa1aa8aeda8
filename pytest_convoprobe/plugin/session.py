"""The one session of a pytest process: its settings, and all that runs conversations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from . import options
from .backend import BACKEND, Backend
from .keys import BEGAN, SESSION, start
from .orders import Order
from .shared_limits import RUN, join

if TYPE_CHECKING:
    from ..runs.session import Session
    from ..settings.loading import LoadedSettings
    from ..settings.nearest import SettingsSource

_BEGAN = "convoprobe_began"
_EARLY: pytest.StashKey[SettingsSource] = pytest.StashKey()


def backend_of(config: pytest.Config) -> Backend:
    """The way to the rest of the package."""
    return config.stash.setdefault(BACKEND, Backend())


def session_of(config: pytest.Config) -> Session:
    """The session; made when it is first asked for. Its settings are read when they are first needed."""
    if SESSION not in config.stash:
        config.stash[SESSION] = backend_of(config).open_session(
            settings_source(config), config.rootpath, partial(join, config, RUN)
        )
        start(config)
        _end_when_stuck(config)
    return config.stash[SESSION]


def _end_when_stuck(config: pytest.Config) -> None:
    """Have the process end if an agent keeps the interpreter for ever, unless pytest's own timer runs."""
    # While pytest captures, descriptor 2 is a file; its faulthandler plug-in has kept the real one, under a
    # key that is not documented. Where there is none, no process is ended.
    key = getattr(config.pluginmanager.get_plugin("faulthandler"), "fault_handler_stderr_fd_key", None)
    output = config.stash.get(key, None) if key is not None else None
    # Without that plug-in (`-p no:faulthandler`), pytest doesn't know the option either.
    if output is None or float(config.getini("faulthandler_timeout") or 0):
        return
    if not _is_within_a_program():
        from ..project_code.pulse import pulse

        pulse.enable(output)


def _is_within_a_program() -> bool:
    """Whether pytest was started inside an event loop, as in a notebook: that process isn't ours to end."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def load_settings(config: pytest.Config) -> LoadedSettings:
    """The settings of the run as a whole. Raises `SettingsError`."""
    return settings_source(config).main


def settings_source(config: pytest.Config, extra: Mapping[str, Any] | None = None) -> SettingsSource:
    """The settings as files, pytest's ini and the command line give them. Nothing is read yet."""
    file = options.path_of(config, "config")
    overrides = {**options.overrides(config), **(extra or {})}
    return backend_of(config).settings_source(config.rootpath, file, overrides)


def settings_for(order: Order) -> LoadedSettings:
    """The settings of a scenario that is to run, with its target. Raises `SettingsError`."""
    loaded = order.loaded
    return session_of(order.item.config).settings_of(loaded.file, loaded.configured)


def early_settings(config: pytest.Config) -> SettingsSource:
    """The settings, while scenarios are collected: to make a session would be too early."""
    if _EARLY not in config.stash:
        config.stash[_EARLY] = settings_source(config)
    return config.stash[_EARLY]


def began(config: pytest.Config) -> float:
    """When the session began, in seconds since 1970; the same in all workers of xdist."""
    # A worker starts later: by its own time, rows of a faster worker would be those of another session.
    given = getattr(config, "workerinput", {}).get(_BEGAN)
    return float(given) if given else config.stash.setdefault(BEGAN, time.time())


def share_beginning(node: Any) -> None:
    """Give a worker of xdist, before it starts, the time when the session began."""
    node.workerinput[_BEGAN] = began(node.config)
