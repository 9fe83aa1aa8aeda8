"""Seconds, shares, money and counted things are written by `formatting` and by nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import pytest_convoprobe
from pytest_convoprobe.source_trees import source_tree

PACKAGE = Path(pytest_convoprobe.__file__).parent
_UNIT = re.compile(r" ?(s|ms|min|h|seconds?|minutes?|hours?|%|percent)(?!\w)")


def _unit_after(value: ast.expr, after: ast.expr) -> bool:
    """`{limit:g} s`, `{share} %`."""
    text = after.value if isinstance(after, ast.Constant) else ""
    return isinstance(value, ast.FormattedValue) and _UNIT.match(str(text)) is not None


def _dollar_before(before: ast.expr, value: ast.expr) -> bool:
    """`${cost:.2f}`."""
    text = before.value if isinstance(before, ast.Constant) else ""
    return isinstance(value, ast.FormattedValue) and bool(value.format_spec) and str(text).endswith("$")


def _is_percent(value: ast.expr) -> bool:
    """`{share:.0%}`."""
    return isinstance(value, ast.FormattedValue) and "%}" in f"{ast.unparse(value)}}}".replace("'", "")


def _is_plural(node: ast.AST) -> bool:
    """`'' if number == 1 else 's'`."""
    ends = (
        [getattr(one, "value", None) for one in (node.body, node.orelse)]
        if isinstance(node, ast.IfExp)
        else []
    )
    return sorted(map(str, ends)) == ["", "s"]


def made_by_hand(source: str) -> Iterator[int]:
    """The lines that write such a number themselves."""
    for node in ast.walk(source_tree(source)):
        if _is_plural(node):
            yield node.lineno  # type: ignore[attr-defined]
        if not isinstance(node, ast.JoinedStr):
            continue
        pairs = list(pairwise(node.values))
        if any(_unit_after(*pair) or _dollar_before(*pair) for pair in pairs) or any(
            map(_is_percent, node.values)
        ):
            yield node.lineno


@pytest.mark.parametrize(
    "text",
    [
        "f'{x:g} s'",
        "f'in {x:.0f} seconds'",
        "f'{x} %'",
        "f'{x:.0%}'",
        "f'${x:.2f}'",
        "f\"{n} row{'' if n == 1 else 's'}\"",
    ],
)
def test_what_is_written_by_hand_is_seen(text: str) -> None:
    assert list(made_by_hand(text)) != []


@pytest.mark.parametrize("text", ["f'{seconds(x)}'", "f'{name} says'", "f'${name}'", "f'{name:<10}'"])
def test_other_texts_are_not(text: str) -> None:
    assert list(made_by_hand(text)) == []


def test_only_one_module_writes_seconds_shares_money_and_plurals() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE) != Path("formatting.py")
        for line in made_by_hand(path.read_text(encoding="utf-8"))
    ]
    assert found == []
