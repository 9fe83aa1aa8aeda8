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


@pytest.hookspec(firstresult=True)
def pytest_convoprobe_mask(text: str) -> str | None:
    """Mask personal data in a text of a conversation; None leaves it as it is.

    Called for every text before it is stored, recorded, reported or given to the judge, beside what
    `results.mask` does. The agent, the synthetic user and checks by code have the original. Give the same
    data the same placeholder, so that the judge can still compare. Called in a thread of its own, with a
    limit of 5 seconds. A failure withholds the texts and is an error of the scenario.
    """


@pytest.hookspec
def pytest_convoprobe_result(item: pytest.Item, result: ScenarioResult) -> None:
    """Observe each finished trial, whatever its outcome, before pytest reports it.

    Called in pytest's own thread, and interrupted after `run.scenario_timeout`.
    """
