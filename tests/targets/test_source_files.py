"""The digest of the code that a target depends on: what changes it, and what doesn't."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_convoprobe.targets.source_files import code_digest

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> None:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return write


FILES = {
    "agents/__init__.py": "",
    "agents/shop.py": "import json, lone\nfrom . import prices\nfrom .words import greeting\nimport httpx\n",
    "agents/prices.py": "PRICE = 1\n",
    "agents/words.py": "def greeting():\n    from helpers.deep import text\n    return text\n",
    "lone.py": "import importlib\nimportlib.import_module('named')\n",
    "named.py": "",
    "helpers/deep.py": "text = 'hi'\n",
    "src/installed/__init__.py": "",
    "unused.py": "",
    "tests/test_shop.py": "import agents.shop\n",
}


@pytest.mark.parametrize("reference", ["agents/shop.py:reply", "agents.shop:reply"])
@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("agents/shop.py", True),
        ("agents/__init__.py", True),
        ("agents/prices.py", True),
        ("agents/words.py", True),
        ("lone.py", True),
        ("named.py", True),
        ("helpers/deep.py", True),
        ("unused.py", False),
        ("tests/test_shop.py", False),
    ],
)
def test_a_change_of_what_is_imported_counts(
    tmp_path: Path, write: Write, reference: str, changed: str, *, counts: bool
) -> None:
    for name, text in FILES.items():
        write(name, text)
    before = code_digest([reference], tmp_path)
    write(changed, FILES[changed] + "# changed\n")
    assert len(before) == 32
    assert (code_digest([reference], tmp_path) != before) is counts


def test_line_ends_and_the_place_of_the_project_do_not_count(tmp_path: Path) -> None:
    digests = set()
    for name, end in (("one", b"\n"), ("two", b"\r\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_bytes(b"import other" + end)
        (tmp_path / name / "other.py").write_bytes(b"A = 1" + end)
        digests.add(code_digest(["agent.py:reply"], tmp_path / name))
    assert len(digests) == 1


def test_what_is_installed_is_not_the_projects(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("agent.py", "import vendored\n")
    write(".venv/lib/site-packages/vendored.py", "A = 1\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / ".venv/lib/site-packages"), *sys.path])
    before = code_digest(["agent.py:reply"], tmp_path)
    write(".venv/lib/site-packages/vendored.py", "A = 2\n")
    assert code_digest(["agent.py:reply"], tmp_path) == before


def test_an_agent_beside_the_root_counts_with_what_lies_beside_it(tmp_path: Path, write: Write) -> None:
    write("agents/shop/agent.py", "import rules\n")
    write("agents/shop/rules.py", "A = 1\n")
    (tmp_path / "project").mkdir()
    before = code_digest(["../agents/shop/agent.py:reply"], tmp_path / "project")
    write("agents/shop/rules.py", "A = 2\n")
    assert code_digest(["../agents/shop/agent.py:reply"], tmp_path / "project") != before


@pytest.mark.parametrize("reference", ["nowhere.py:reply", "nowhere.at.all:reply", "json:loads", "nonsense"])
def test_code_that_is_not_the_projects_has_no_digest(tmp_path: Path, reference: str) -> None:
    assert code_digest([reference], tmp_path) == ""


def test_a_file_that_cannot_be_parsed_counts_by_its_content(tmp_path: Path, write: Write) -> None:
    write("agent.py", "def (\n")
    before = code_digest(["agent.py:reply"], tmp_path)
    write("agent.py", "def ((\n")
    assert before
    assert code_digest(["agent.py:reply"], tmp_path) != before


def test_a_parser_that_another_thread_has_disturbed_is_asked_again(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("agent.py", "import other\n")
    write("other.py", "x = 1\n")
    parse, faults = ast.parse, [SystemError("AST constructor recursion depth mismatch (before=6, after=9)")]

    def disturbed(source: bytes) -> ast.Module:
        if faults:
            raise faults.pop()
        return parse(source)

    monkeypatch.setattr(ast, "parse", disturbed)
    before = code_digest(["agent.py:reply"], tmp_path)
    write("other.py", "x = 2\n")
    assert code_digest(["agent.py:reply"], tmp_path) != before


def test_modules_that_import_each_other_come_to_an_end(tmp_path: Path, write: Write) -> None:
    write("agent.py", "import other\n")
    write("other.py", "import agent\n")
    assert code_digest(["agent.py:reply"], tmp_path)
