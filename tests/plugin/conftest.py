from __future__ import annotations

from pathlib import Path

import pytest

# Loaded once, here: each run in this process drops the modules that it was the first to load.
import pytest_convoprobe.plugin.items
import pytest_convoprobe.reports.failure
import pytest_convoprobe.runs.trial
import pytest_convoprobe.scenario.loading
import pytest_convoprobe.settings.show
import pytest_convoprobe.targets.factory  # noqa: F401

from . import stand_in  # noqa: F401
from .suite import Suite


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A small project with scenarios, whose conversations a stand-in holds."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return Suite(pytester, monkeypatch)
