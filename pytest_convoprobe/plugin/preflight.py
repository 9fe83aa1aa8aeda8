"""What can be said to be wrong before any work is done, and the option that only shows the settings."""

from __future__ import annotations

import sys

import pytest

from ..errors import ConvoprobeError
from .error_text import error_text
from .items import ScenarioItem
from .keys import NOTED
from .lookahead import target_is_ours
from .session import backend_of, engine_of, load_settings

_NO_TARGET = """\
convoprobe does not know what to test. Name the target in convoprobe.yaml:

    target:
      type: python
      object: my_package.agent:answer

or write a fixture in conftest.py:

    @pytest.fixture(scope="session")
    def convoprobe_target():
        return answer
"""


def check(session: pytest.Session) -> None:
    """Stop with one clear message if the scenarios that are to run cannot: no traceback for each of them."""
    items = [item for item in session.items if isinstance(item, ScenarioItem)]
    items = [item for item in items if not any(item.iter_markers("skip"))]
    # A usage error inside an xdist worker would look like a crash of it; there each item reports it.
    if not items or session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return
    try:
        _check(session.config, items)
    except ConvoprobeError as error:
        raise pytest.UsageError(error_text(error)) from None


def _check(config: pytest.Config, items: list[ScenarioItem]) -> None:
    engine = engine_of(config)
    loaded = engine.settings
    # Made and thrown away: nothing of it is loaded or connected to before it is used.
    ours = any(target_is_ours(item) for item in items)
    if ours and engine.make_target() is None:
        raise pytest.UsageError(no_target(config))
    # A hook of the project may still name a model.
    hooks = [item.ihook.pytest_convoprobe_settings for item in items]
    if loaded.settings.run.calls_live and not any(hook.get_hookimpls() for hook in hooks):
        for item in items:
            if item.loaded.scenario is not None:
                engine.backend.check_models(loaded, item.loaded.scenario)
        if ours:
            engine.backend.check_target_model(loaded)


def no_target(config: pytest.Config) -> str:
    """That no target is named, how to name one, and what the settings have to say about that."""
    return "\n".join((_NO_TARGET, *notes(config)))


def notes(config: pytest.Config) -> list[str]:
    """What the settings have to say, such as keys of an old file that were set aside; said once in a run."""
    if NOTED in config.stash:
        return []
    config.stash[NOTED] = True
    return [f"note: {notice}" for notice in engine_of(config).settings.notices]


def show_settings(config: pytest.Config) -> int:
    """Print the settings and where each comes from; the exit code of the run."""
    try:
        text = backend_of(config).show_settings(load_settings(config))
    except ConvoprobeError as error:
        raise pytest.UsageError(error_text(error)) from None
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.rstrip().encode(encoding, "backslashreplace").decode(encoding) + "\n")
    return 0
