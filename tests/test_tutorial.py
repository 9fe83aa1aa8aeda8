"""The tutorial, from its first command to its last. `tests/frameworks` has the kinds with other packages."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from pytest_convoprobe.cli.starters import KINDS, requirements_of
from tests.support.page_commands import Block, blocks_of, missing_line
from tests.support.tutorial_reader import PAGE, read_tutorial

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or os.name == "nt", reason="the tutorial is for git and a shell of Unix"
)


@pytest.mark.parametrize("kind", ["python", "openai", "mcp"])
def test_the_page_does_what_it_says(tmp_path: Path, kind: str) -> None:
    read_tutorial(tmp_path, kind)


def test_what_is_installed() -> None:
    (install,) = [block for block in blocks_of(PAGE) if block.language == "bash"]
    assert install.text.splitlines()[1:] == ["pip install pytest-convoprobe"]
    assert all(requirements_of(kind) for kind in KINDS.values())


def test_no_command_hides_in_another_kind_of_block() -> None:
    assert {block.language for block in blocks_of(PAGE)} == {"bash", "console", "diff", "yaml"}


def test_each_kind_is_on_the_page() -> None:
    kinds = PAGE.read_text(encoding="utf-8").partition("{ #kinds }")[2].partition("\n## ")[0]
    table = re.findall(r"^\| `(\w+)` \|", kinds, re.MULTILINE)
    assert sorted(table) == sorted(KINDS)


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        ("a\nb 3 ms\nc", None),
        ("…\nc", None),
        ("a\n…", None),
        ("a\n…\nc", None),
        ("a\nc", "c"),
        ("a\n…\nd\n…", "d"),
        ("c\n…\na\n…", "c"),
        ("a", "(nothing; the output goes on: b #)"),
    ],
)
def test_what_a_page_shows_is_compared_line_by_line(shown: str, missing: str | None) -> None:
    assert missing_line(shown.splitlines(), "a\nb 17 ms\nc\n") == missing


def test_commands_of_a_block() -> None:
    assert list(Block("console", "$ a b\nc\n\nd\n$ e\n").commands()) == [("a b", ["c", "", "d"]), ("e", [])]
