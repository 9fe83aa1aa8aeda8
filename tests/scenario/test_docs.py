"""The reference is complete, and what it shows loads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.scenario.schema import scenario_schema

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "scenario-format.md").read_text(encoding="utf-8")
EXAMPLES = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if block.startswith("name:")]


def _fields(schema: dict[str, Any]) -> list[str]:
    parts = [schema, *schema["$defs"].values()]
    return sorted({name for part in parts for name in part.get("properties", {})})


@pytest.mark.parametrize("field", _fields(scenario_schema()))
def test_the_reference_has_every_field(field: str) -> None:
    assert f"`{field}" in PAGE


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_the_examples_load(text: str) -> None:
    assert len(parse_scenarios(text)) == 1


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3
