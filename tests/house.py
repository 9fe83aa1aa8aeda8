"""How the package is built, in figures: `python -m tests.house [FOLDER]` prints a table.

FOLDER is a checkout (this one by default); two of them, before and after a change, can be compared::

    git worktree add ../before COMMIT && python -m tests.house ../before . && git worktree remove ../before
"""

from __future__ import annotations

import ast
import io
import statistics
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "pytest_convoprobe"
LONG_MODULE = 400

Graph = dict[str, set[str]]


def measure(checkout: Path) -> dict[str, float]:
    texts = {path: path.read_text("utf-8") for path in sorted((checkout / PACKAGE).rglob("*.py"))}
    lines = [len(text.splitlines()) for text in texts.values()]
    written = sum(bool(line.strip()) for text in texts.values() for line in text.splitlines())
    comments = sum(_comments(text) for text in texts.values())
    trees = {_name(path.relative_to(checkout)): (path, ast.parse(text)) for path, text in texts.items()}
    functions = sorted(length for _, tree in trees.values() for length in _function_lengths(tree))
    circles = _circles({name: set(_imports(name, *found, set(trees))) for name, found in trees.items()})
    return {
        "modules": len(lines),
        "lines": sum(lines),
        f"modules over {LONG_MODULE} lines": sum(count > LONG_MODULE for count in lines),
        "functions": len(functions),
        "function lines, median": statistics.median(functions),
        "function lines, 90th percentile": functions[int(0.9 * len(functions))],
        "function lines, longest": functions[-1],
        "comments per 100 lines not blank": round(100 * comments / written, 1),
        "circles of modules": len(circles),
        "modules in a circle": sum(map(len, circles)),
    }


def _comments(text: str) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT for token in tokens)


def _function_lengths(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(name: str, path: Path, tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """All that a module imports of the package, inside functions and for type checkers included."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & modules - {name}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                found = f"{source}.{alias.name}"
                yield from {found if found in modules else source} & modules - {name}


def _circles(graph: Graph) -> list[set[str]]:
    """The strongly connected groups of two and more: each module of a group leads to each other one."""
    reach = {name: _reachable(graph, name) for name in graph}
    groups = {frozenset(other for other in reach[name] if name in reach[other]) for name in graph}
    return [set(group) for group in groups if len(group) > 1]


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph[todo.pop()] - found
        found |= new
        todo += new
    return found


if __name__ == "__main__":
    measured = [measure(Path(folder)) for folder in sys.argv[1:] or ["."]]
    for label in measured[0]:
        sys.stdout.write(f"{label:34}" + "".join(f"{figures[label]:>9g}" for figures in measured) + "\n")
