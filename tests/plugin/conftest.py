from __future__ import annotations

from pathlib import Path

import pytest

from .suite import Suite


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """A small project with scenarios, whose conversations a stand-in holds."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return Suite(pytester)
