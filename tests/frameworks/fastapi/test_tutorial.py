"""The tutorial with this kind of agent."""

from __future__ import annotations

from pathlib import Path

from tests.frameworks.shop import only_for
from tests.support.tutorial_reader import read_tutorial

only_for("fastapi")


def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    read_tutorial(tmp_path, "fastapi", warm=False)
