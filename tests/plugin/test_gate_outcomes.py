"""What the gate makes of scenarios in pytest: one item each, several conversations where one failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.results.store import StoredRun, open_run

from .suite import Suite


@pytest.fixture
def gated(suite: Suite) -> Suite:
    """A project whose gate is the default one, as in a live run."""
    suite.gate = "auto"
    return suite


def stored(suite: Suite) -> StoredRun:
    return open_run(sorted(Path(suite.path, ".convoprobe", "runs").iterdir())[-1])


def test_a_failure_that_repeats_fails(gated: Suite) -> None:
    gated.scenario("one", outcome="failed", reason="it never answers")
    gated.scenario("two")
    result = gated.run()
    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == 1
    assert gated.started() == ["one", "two", "one"]
    assert stored(gated).decisions()["scenarios/one.yaml::one"].talks == 2
