"""The page about imports names every kind of check that the code knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_convoprobe.importing.adk.metrics import METRICS
from pytest_convoprobe.importing.promptfoo.assertions import KNOWN_TYPES

PAGE = (Path(__file__).parents[2] / "docs/how-to/import-suites.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*KNOWN_TYPES, *METRICS])
def test_each_kind_of_check_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_the_page_names_no_kind_that_is_unknown() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| `") and "no longer" in row]
    named = {name for row in rows for name in re.findall(r"`([a-z-]+(?::[a-z-]+)?)`", row.split("|")[1])}
    assert named - {*KNOWN_TYPES, *METRICS} <= {"actions"}
