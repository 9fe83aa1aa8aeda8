"""The reference page and the models say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pytest_convoprobe.settings.aliases import known_fields
from pytest_convoprobe.settings.loading import load_settings
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


def examples(kind: str) -> list[str]:
    """The blocks of the how-to page that hold settings."""
    page = (PAGE.parents[1] / "how-to" / "settings.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", [text for text in examples("yaml") if not text.startswith("config:")])
def test_the_examples_are_valid_settings(example: str, load) -> None:
    keys = {"OPENAI_API_KEY": "one-key", "ANTHROPIC_API_KEY": "another-key"}
    assert load(example, environ=keys).origins


def test_the_example_for_pyproject_is_valid(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(examples("toml")[0])
    loaded = load_settings(folder, environ={"OPENAI_API_KEY": "one-key"})
    assert loaded.settings.target.object == "my_agent.main:reply"


def test_the_example_of_a_workflow_uses_options_that_exist(pytestconfig: pytest.Config) -> None:
    text = (PAGE.parents[1] / "examples" / "github-actions.yml").read_text(encoding="utf-8")
    assert set(yaml.safe_load(text)["jobs"]) == {"replay", "live", "nightly"}
    used = {name.replace("-", "_") for name in re.findall(r"--(convoprobe-[a-z-]+)", text)}
    assert sorted(name for name in used if not hasattr(pytestconfig.option, name)) == []
