"""The hooks that a project may implement in a `conftest.py` or in a plug-in.

As with pytest's own hooks, an implementation in a `conftest.py` applies only to scenarios below its folder.
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
    """Replace the settings of one scenario before it runs; None changes nothing.

    Settings are frozen: return `settings.model_copy(update={...})`. The first implementation that
    returns something decides. `item` is the scenario, or the test that uses the `convoprobe` fixture.
    Called in a thread of its own within `run.scenario_timeout`, so it cannot use fixtures.
    """


@pytest.hookspec
def pytest_convoprobe_checks(
    item: pytest.Item, scenario: Scenario, transcript: Transcript
) -> Iterable[CheckResult] | None:
    """Add the project's own checks to the verdict, when the conversation has ended.

    Called in a thread of its own, not in pytest's, so it cannot use fixtures. It runs within the time limit
    of the scenario. An exception in it is an error of the scenario, shown with its traceback.
    """


@pytest.hookspec
def pytest_convoprobe_result(item: pytest.Item, result: ScenarioResult) -> None:
    """Observe each finished trial, whatever its outcome, before pytest reports it.

    Called in pytest's own thread, and interrupted after `run.scenario_timeout`.
    """
