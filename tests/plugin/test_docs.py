"""The reference is complete, and its examples run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_convoprobe.plugin import hookspecs
from pytest_convoprobe.plugin.option_table import OPTIONS, Option

from .suite import Suite

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_every_option_is_documented(option: Option) -> None:
    page = (DOCS / "reference/options.md").read_text(encoding="utf-8")
    assert f"`{option.flag} " in page
    assert (f"| `{option.key}` |" in page) is option.ini
    assert all(f"`{choice}`" in page for choice in option.choices)


@pytest.mark.parametrize("name", [name for name in vars(hookspecs) if name.startswith("pytest_convoprobe_")])
def test_every_hook_is_documented(name: str) -> None:
    assert f"def {name}(" in (DOCS / "reference/hooks.md").read_text(encoding="utf-8")


def test_the_examples_of_hooks_run(suite: Suite) -> None:
    page = (DOCS / "reference/hooks.md").read_text(encoding="utf-8")
    suite.conftest("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)))
    suite.scenario("one", tags=["expensive"])
    suite.scenario("two", outcome="failed")
    result = suite.run("-s")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*scenarios/one.yaml::one passed 1.0*", "*- talk -*", "hello"])
