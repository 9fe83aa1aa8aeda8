from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.yaml_source import Document, Loc, dotted, parse

WORDS = st.text("abcxyz_ é:#-'\"", min_size=1, max_size=8)
SCALARS = WORDS | st.integers(-1000, 1000) | st.booleans() | st.none()
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


def _locs(value: Any, loc: Loc = ()) -> list[Loc]:
    items: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [loc, *(below for key, inner in items for below in _locs(inner, (*loc, key)))]


def _document(text: str) -> Document:
    (document,) = parse(text, "f.yaml").documents
    return document


@given(st.dictionaries(WORDS, DATA, min_size=1))
def test_what_was_written_is_read(data: dict[str, Any]) -> None:
    assert _document(yaml.safe_dump(data, allow_unicode=True)).value == data


@given(st.dictionaries(WORDS, DATA, min_size=1))
def test_every_value_has_a_place(data: dict[str, Any]) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    document, lines = _document(text), text.split("\n")
    for loc in _locs(data):
        assert document.has(loc)
        problem = document.problem(loc, "x")
        assert problem.source_line == lines[problem.line - 1]
        assert 1 <= problem.column <= len(problem.source_line) + 1


@pytest.mark.parametrize(
    ("loc", "at_key", "place"),
    [
        (("a", "b"), False, (2, 6)),
        (("a", "b"), True, (2, 3)),
        (("a", "none"), False, (2, 3)),
        (("a", "none"), True, (1, 1)),
        (("list", 1), False, (5, 5)),
        (("list", 9), True, (3, 1)),
        (("merged", "deep"), False, (6, 21)),
        ((), False, (1, 1)),
    ],
)
def test_the_place_of_a_value_or_of_what_is_nearest(loc: Loc, at_key: bool, place: tuple[int, int]) -> None:
    document = _document("a:\n  b: 1\nlist:\n  - 1\n  - 2\nmerged: {<<: {deep: 3}}\n")
    problem = document.problem(loc, "x", at_key=at_key)
    assert (problem.line, problem.column) == place


def test_a_path_in_words() -> None:
    assert dotted(("synthetic_user", "landmarks", 1, "turn")) == "synthetic_user.landmarks[1].turn"
    assert dotted((0, "a")) == "[0].a"
    assert dotted(()) == ""


def test_how_a_value_is_written() -> None:
    document = _document("a: 0x10\nb: [1]\n")
    assert (document.value["a"], document.written(("a",)), document.written(("b",))) == (16, "0x10", "")
