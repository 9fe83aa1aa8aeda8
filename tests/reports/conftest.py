from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convoprobe.reports.html import write_html

from .browser import Browser, open_browser
from .runs import with_past


@pytest.fixture(scope="session")
def started() -> Iterator[Browser]:
    """One browser for all tests of pages."""
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The usual page."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_html(with_past(), path)
    return path


@pytest.fixture
def browser(started: Browser, page: Path) -> Browser:
    """The usual page, just opened on a wide screen."""
    started.size(1280)
    started.open(page)
    return started
