"""What can be said to be wrong before any work is done, and the option that only shows the settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ..errors import ConvoprobeError, NoTarget, SettingsError
from ..settings.file_formats import COMMAND_LINE
from ..settings.several_targets import names_of
from . import options
from .error_text import error_text, no_verdict
from .file_names import asked_places
from .gating import gate_of
from .keys import NOTED
from .lookahead import has_own_checks, target_is_ours
from .orders import GATED, Order, has_mark, order_of
from .session import backend_of, session_of, settings_for, settings_source

if TYPE_CHECKING:
    from ..runs.session import Session
    from ..settings.loading import LoadedSettings
    from ..targets.port import Target

_FIXTURE = """\
or write a fixture in conftest.py:

    @pytest.fixture(scope="session")
    def convoprobe_target():
        return answer
"""


def check(session: pytest.Session) -> None:
    """Stop with one clear message if the scenarios that are to run cannot: no traceback for each of them."""
    config = session.config
    found = [order for item in session.items if (order := order_of(item)) and not has_mark(item, "skip")]
    # A usage error inside an xdist worker would look like a crash of it; there each item reports it.
    if not found or config.option.collectonly or hasattr(config, "workerinput"):
        return
    try:
        _check(config, found)
    except NoTarget as error:
        raise pytest.UsageError(no_target(config, error.file)) from None
    except ConvoprobeError as error:
        raise pytest.UsageError(error_text(error)) from None


def _check(config: pytest.Config, orders: list[Order]) -> None:
    session = session_of(config)
    # Thrown away: nothing is loaded or connected to before it is used.
    target = session.configured_target()
    # A hook of the project may still name a model.
    hooks = [order.item.ihook.pytest_convoprobe_settings for order in orders]
    models = not any(hook.get_hookimpls() for hook in hooks)
    gated = any(GATED in order.item.stash for order in orders)
    if gated and not config.getoption("setuponly", False):
        gate_of(orders[0].item).check()
    for order in orders:
        if has_own_checks(order.item):
            root = session.settings_of(order.loaded.file).root or session.rootdir
            backend_of(config).require_checks(order.loaded, root)
        ours = target_is_ours(order.item)
        if ours:
            target.of(order.loaded.file, order.loaded.configured)
        if models and settings_for(order).settings.run.calls_live:
            _check_models(config, order, ours=ours)
        if models:
            _check_judge(config, order)


def _check_judge(config: pytest.Config, order: Order) -> None:
    """Before anything is spent: a judge that may not gate stops the run."""
    if order.loaded.scenario is not None and order.loaded.scenario.evaluation.asks_judge:
        loaded = settings_for(order)
        settings = backend_of(config).scenario_settings(loaded, order.loaded.scenario)
        if settings.judge.require is not None:
            from .judge_gate import require_fit

            require_fit(order.item.session.items, settings.judge, loaded)


def _check_models(config: pytest.Config, order: Order, *, ours: bool) -> None:
    loaded = order.loaded
    if loaded.scenario is not None:
        session = session_of(config)
        target = session.target_model(loaded.file, loaded.configured) if ours else None
        try:
            backend_of(config).check_models(settings_for(order), loaded.scenario, target)
        except SettingsError as error:
            # Others may need no model, and can be run without it.
            raise pytest.UsageError(f"{error_text(error)}\nneeded by: {order.item.nodeid}") from None


@contextmanager
def configured_target(config: pytest.Config, items: Sequence[pytest.Item]) -> Iterator[Target]:
    """The target that the settings name, closed at the end; without one the test that asks for it fails.

    `items` are the session's: settings that are nearer to one of them may name a target.
    """
    session = session_of(config)
    target = session.configured_target()
    try:
        if not names_of(session.settings):
            target.of("")
    except NoTarget as error:
        if not any(_names_target(session, item) for item in items):
            raise no_verdict(no_target(config, error.file), error.blame) from None
    try:
        yield target
    finally:
        session.close_target(target)


def _names_target(session: Session, item: pytest.Item) -> bool:
    """Whether a settings file that is nearer to a test than the root names a target."""
    settings = session.settings_of(str(item.path)).settings
    return settings.target is not None or bool(settings.targets)


def no_target(config: pytest.Config, file: str) -> str:
    """That no target is named in the settings, how to name one, and what the settings have to say."""
    return "\n".join((str(NoTarget(_FIXTURE, file=file)), *notes(config)))


def notes(config: pytest.Config) -> list[str]:
    """What the settings have to say, such as keys of an old file that were set aside; said once in a run."""
    if NOTED in config.stash:
        return []
    config.stash[NOTED] = True
    return [f"note: {notice}" for notice in session_of(config).notices]


def _with_ini_file(config: pytest.Config, loaded: LoadedSettings) -> LoadedSettings:
    """Name pytest's ini file where a value is its: to the settings it is one of the command line's."""
    places = options.places_in_ini(config)
    return replace(
        loaded, origins={path: _origin(one, places.get(path)) for path, one in loaded.origins.items()}
    )


def _origin(origin: str, place: str | None) -> str:
    return place if place is not None and origin == COMMAND_LINE else origin


def show_settings(config: pytest.Config) -> int:
    """Print the settings of what is asked for, and where each comes from; the exit code of the run."""
    source = settings_source(config)
    try:
        every = {id(loaded): loaded for loaded in (source.of(str(file)) for file in asked_places(config))}
        shown = (_with_ini_file(config, loaded) for loaded in every.values())
        text = "\n\n".join(map(backend_of(config).show_settings, shown))
    except ConvoprobeError as error:
        raise pytest.UsageError(error_text(error)) from None
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.rstrip().encode(encoding, "backslashreplace").decode(encoding) + "\n")
    return 0
