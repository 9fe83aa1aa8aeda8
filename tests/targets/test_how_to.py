"""The examples of the pages on targets can be copied."""

from __future__ import annotations

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from pytest_convoprobe.settings.models import TargetSettings
from pytest_convoprobe.targets.factory import build_target

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
TEXT = "".join((FOLDER / name).read_text(encoding="utf-8") for name in ("targets.md", "http-services.md"))
# Files that are included have tests of their own.
BLOCKS = [found for found in re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL) if "--8<--" not in found[1]]


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "yaml"])
def test_settings_make_a_target(text: str, tmp_path: Path) -> None:
    settings: TargetSettings = TypeAdapter(TargetSettings).validate_python(yaml.safe_load(text)["target"])
    assert build_target(settings, rootdir=tmp_path).name


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "python"])
def test_code_can_be_compiled(text: str) -> None:
    assert ast.parse(textwrap.dedent(text)).body


@pytest.mark.parametrize("text", [text for language, text in BLOCKS if language == "python"])
def test_what_the_code_imports_from_us_is_there(text: str) -> None:
    for node in ast.walk(ast.parse(textwrap.dedent(text))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_convoprobe"):
            module = importlib.import_module(node.module or "")
            assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_both_kinds_of_examples_are_there() -> None:
    assert {language for language, _ in BLOCKS} == {"yaml", "python"}
