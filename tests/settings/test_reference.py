"""The reference page and the models say the same."""

from __future__ import annotations

import pytest

from pytest_convoprobe.settings.dialects import known_fields
from tests.settings.reference_tables import PAGE, SECTIONS, with_tables


@pytest.mark.parametrize("name", SECTIONS)
def test_every_field_has_a_description(name: str) -> None:
    fields = SECTIONS[name].model_fields
    assert [key for key in known_fields(SECTIONS[name]) if not fields[key].description] == []


def test_the_tables_of_the_page_are_those_of_the_models() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "run `python -m tests.settings.reference_tables`"


def test_the_page_has_every_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in SECTIONS if f"<!-- fields: {name} -->" not in page] == []
