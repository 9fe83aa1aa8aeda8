"""What can be said to be wrong before any work is done, and the option that only shows the settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from ..errors import ConvoprobeError, NoTarget
from .error_text import error_text
from .keys import NOTED
from .lookahead import target_is_ours
from .orders import Order, has_mark, order_of
from .session import backend_of, load_settings, session_of

if TYPE_CHECKING:
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
    except NoTarget:
        raise pytest.UsageError(no_target(config)) from None
    except ConvoprobeError as error:
        raise pytest.UsageError(error_text(error)) from None


def _check(config: pytest.Config, orders: list[Order]) -> None:
    session, backend = session_of(config), backend_of(config)
    loaded = session.settings
    ours = any(target_is_ours(order.item) for order in orders)
    if ours:
        session.configured_target()  # thrown away: nothing is loaded or connected to before it is used
    # A hook of the project may still name a model.
    hooks = [order.item.ihook.pytest_convoprobe_settings for order in orders]
    if loaded.settings.run.calls_live and not any(hook.get_hookimpls() for hook in hooks):
        for order in orders:
            if order.loaded.scenario is not None:
                backend.check_models(loaded, order.loaded.scenario)
        if ours:
            backend.check_target_model(session)


@contextmanager
def configured_target(config: pytest.Config) -> Iterator[Target]:
    """The target that the settings name, closed at the end; without one the test that asks for it fails."""
    session = session_of(config)
    try:
        target = session.configured_target()
    except NoTarget:
        pytest.fail(no_target(config), pytrace=False)
    try:
        yield target
    finally:
        session.close_target(target)


def no_target(config: pytest.Config) -> str:
    """That no target is named, how to name one, and what the settings have to say about that."""
    return "\n".join((str(NoTarget(_FIXTURE)), *notes(config)))


def notes(config: pytest.Config) -> list[str]:
    """What the settings have to say, such as keys of an old file that were set aside; said once in a run."""
    if NOTED in config.stash:
        return []
    config.stash[NOTED] = True
    return [f"note: {notice}" for notice in session_of(config).settings.notices]


def show_settings(config: pytest.Config) -> int:
    """Print the settings and where each comes from; the exit code of the run."""
    try:
        text = backend_of(config).show_settings(load_settings(config))
    except ConvoprobeError as error:
        raise pytest.UsageError(error_text(error)) from None
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.rstrip().encode(encoding, "backslashreplace").decode(encoding) + "\n")
    return 0
