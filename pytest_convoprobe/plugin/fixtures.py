"""The plug-in's fixtures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..result import ScenarioResult
    from ..scenario.models import Scenario
    from .inline import Convoprobe
    from .talks import Decided, OnlyReported


@pytest.fixture(scope="session")
def convoprobe_target(request: pytest.FixtureRequest) -> Iterator[Any]:
    """What scenarios talk with: by default the target that convoprobe's settings name.

    Override it in `conftest.py` to return anything that can be a target: a function that answers
    a message, a class, an object with such a method, or a `Target`. Parametrised by `pytest_generate_tests`
    without being overridden, each parameter is a target.
    """
    if hasattr(request, "param"):
        # Otherwise the items of such a matrix would all talk with the target of the settings.
        yield request.param
        return
    from .preflight import configured_target

    with configured_target(request.config, request.session.items) as target:
        yield target


@pytest.fixture
def convoprobe_scenario(request: pytest.FixtureRequest) -> Scenario:
    """The scenario that is to run, for fixtures that prepare something for it: its `metadata`, its name."""
    found: Scenario | None = getattr(request.node, "convoprobe_scenario", None)
    if found is None:
        pytest.fail(
            f"{request.node.nodeid} is not an item of a scenario file, so it has no `convoprobe_scenario`. A "
            "test that runs scenarios by `convoprobe.run` can prepare for each of them before it runs it",
            pytrace=False,
        )
    return found


@pytest.fixture
def convoprobe_state(request: pytest.FixtureRequest) -> Any:
    """What a scenario's own checks (`evaluation.checks`) get as `state`, such as a database; by default None.

    Override it in `conftest.py`. It is set up before the conversation and torn down after it, and belongs to
    that conversation alone: such scenarios run in their turn, one conversation after the other.
    """
    return getattr(request, "param", None)


@pytest.fixture
def _convoprobe_result(
    request: pytest.FixtureRequest, convoprobe_target: Any
) -> ScenarioResult | Decided | OnlyReported | None:
    """The finished conversation of a scenario with its verdict, or what the gate decided about several.

    What goes wrong before that is raised.
    """
    from .items import result_of
    from .lookahead import STATE_FIXTURE, has_own_checks

    item = request.node
    # Only those have it that ask for it: it may be expensive.
    state = request.getfixturevalue(STATE_FIXTURE) if has_own_checks(item) else None
    return result_of(item, convoprobe_target, state)


@pytest.fixture
def convoprobe(request: pytest.FixtureRequest) -> Iterator[Convoprobe]:
    """Runs scenarios inside an ordinary test: `convoprobe.run(...)`, `await convoprobe.run_async(...)`."""
    from .inline import Convoprobe
    from .model_variables import variables_for

    # In a session without scenario files, this is the first that anybody knows of the test.
    with variables_for(request.node):
        yield Convoprobe(request)
