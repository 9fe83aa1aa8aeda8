"""The hooks that a project may implement in a `conftest.py` or a plug-in of its own.

Implementations in a `conftest.py` see the scenarios below its folder only, as with pytest's own hooks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..judging.types import CheckResult
    from ..result import ScenarioResult
    from ..scenario.models import Scenario
    from ..settings.models import ScenarioSettings
    from ..transcript import Transcript


@pytest.hookspec(firstresult=True)
def pytest_convoprobe_settings(
    item: pytest.Item, scenario: Scenario, settings: ScenarioSettings
) -> ScenarioSettings | None:
    """Replace the settings of one scenario before it runs; None leaves them as they are.

    Settings are frozen: return `settings.model_copy(update={...})`. The first implementation that
    returns something decides. `item` is the scenario, or the test that uses the `convoprobe` fixture.
    """


@pytest.hookspec
def pytest_convoprobe_checks(
    item: pytest.Item, scenario: Scenario, transcript: Transcript
) -> Iterable[CheckResult] | None:
    """Add checks of the project's own to the verdict, once the conversation is over.

    Called on the thread of the conversations, not on pytest's: it must neither block nor use
    fixtures. An exception in it is an error of the scenario, shown with its traceback.
    """


@pytest.hookspec
def pytest_convoprobe_result(item: pytest.Item, result: ScenarioResult) -> None:
    """See each finished trial, whatever its outcome, before pytest reports it."""
