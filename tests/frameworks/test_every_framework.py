"""No framework is left out of what CI tests, nor of the documentation."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]

NO_ADAPTER = ("fastapi", "node")
"""Agents behind HTTP: the example of the tutorial, and programs for Node."""


def test_each_has_pins_a_job_an_example_and_a_page() -> None:
    names = sorted(path.parent.name for path in Path(__file__).parent.glob("*/__init__.py"))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "frameworks.yml").read_text("utf-8"))
    assert workflow["jobs"]["adapters"]["strategy"]["matrix"]["framework"] == names
    assert sorted(path.stem for path in (ROOT / ".ci" / "frameworks.d").glob("*.txt")) == names
    names = [name for name in names if name not in NO_ADAPTER]
    assert sorted(path.stem for path in (ROOT / "docs" / "examples" / "frameworks").glob("*.py")) == names
    index = (ROOT / "docs" / "frameworks" / "index.md").read_text("utf-8")
    assert [name for name in names if f"({name.replace('_', '-')}.md)" not in index] == []
