"""What can be said to be wrong before any work is done, and the option that only shows the settings."""

from __future__ import annotations

import sys

import pytest

from ..errors import ConvoprobeError
from .fixtures import NO_TARGET
from .items import ScenarioItem
from .lookahead import target_is_ours
from .session import Engine, backend_of, engine_of, load_settings


def check(session: pytest.Session) -> None:
    """Stop with one clear message if the scenarios that are to run cannot: no traceback for each of them."""
    items = [item for item in session.items if isinstance(item, ScenarioItem)]
    items = [item for item in items if not any(item.iter_markers("skip"))]
    # A usage error inside an xdist worker would look like a crash of it; there each item reports it.
    if not items or session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    try:
        _check(engine_of(session.config), items)
    except ConvoprobeError as error:
        raise pytest.UsageError(str(error)) from None


def _check(engine: Engine, items: list[ScenarioItem]) -> None:
    loaded = engine.settings
    # Made and thrown away: nothing of it is loaded or connected to before it is used.
    if any(target_is_ours(item) for item in items) and engine.make_target() is None:
        raise pytest.UsageError(NO_TARGET)
    # A hook of the project may still name a model.
    hooks = [item.ihook.pytest_convoprobe_settings for item in items]
    if loaded.settings.run.replay in ("off", "record") and not any(hook.get_hookimpls() for hook in hooks):
        for item in items:
            if item.loaded.scenario is not None:
                engine.backend.check_models(loaded, item.loaded.scenario)


def show_settings(config: pytest.Config) -> int:
    """Print the settings and where each comes from; the exit code of the run."""
    try:
        text = backend_of(config).show_settings(load_settings(config))
    except ConvoprobeError as error:
        raise pytest.UsageError(str(error)) from None
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.rstrip().encode(encoding, "backslashreplace").decode(encoding) + "\n")
    return 0
