"""What the import rules of pyproject.toml cannot say: no circle among files, and what a plain suite loads."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
import pytest

import pytest_convoprobe
from pytest_convoprobe.source_trees import source_tree

PACKAGE = "pytest_convoprobe"

PROBE = """
import json, sys
import pytest
class Look:
    def pytest_unconfigure(self):
        with open("modules.json", "w") as file:
            json.dump(sorted(sys.modules), file)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Look()]))
"""


def test_no_circle_among_the_files() -> None:
    """Imports within functions and for type checking count too: they tie files together all the same."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert [sorted(circle) for circle in circles(imports)] == []


def test_a_circle_is_found() -> None:
    imports = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": set(), "e": {"e2"}, "e2": {"e"}}
    assert sorted(map(sorted, circles(imports))) == [["a", "b", "c"], ["e", "e2"]]


def test_a_class_name_has_one_meaning() -> None:
    """Whoever reads `Source` should not have to look at the imports to know which one."""
    root = Path(pytest_convoprobe.__file__).parent
    names = [
        node.name
        for path in root.rglob("*.py")
        # What `convoprobe init` writes is other people's code.
        if "starter" not in path.parts
        for node in source_tree(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []


def circles(imports: Mapping[str, set[str]]) -> Iterator[set[str]]:
    """The groups of files that can reach one another."""
    reached = {name: _reachable(imports, name) for name in imports}
    seen: set[str] = set()
    for name in sorted(imports):
        together = {other for other in reached[name] if name in reached.get(other, ())}
        if together and name not in seen:
            seen |= together
            yield together


def _reachable(imports: Mapping[str, set[str]], name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = imports.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


class TestPlainSuite:
    """A project without scenarios, but with other YAML files."""

    @pytest.fixture
    def modules(self, tmp_path: Path) -> set[str]:
        for name in (".pre-commit-config.yaml", "mkdocs.yml", "docker/compose.yaml", "deploy/values.YAML"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("a: 1\n")
        (tmp_path / "test_plain.py").write_text("def test_it(): pass\n")
        words = [sys.executable, "-c", PROBE, "-p", "convoprobe", "."]
        env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return set(json.loads((tmp_path / "modules.json").read_text()))

    def test_loads_nothing_heavy_and_few_files_of_ours(self, modules: set[str]) -> None:
        assert not modules & {"asyncio", "click", "httpx", "jinja2", "litellm", "pydantic", "yaml"}
        ours = {name.removeprefix(f"{PACKAGE}.") for name in modules if name.startswith(f"{PACKAGE}.")}
        assert ours == {
            "plugin",
            "plugin.file_names",
            "plugin.fixtures",
            "plugin.hookspecs",
            "plugin.keys",
            "plugin.option_table",
            "plugin.options",
            "scenario",
            "scenario.discovery",
        }
