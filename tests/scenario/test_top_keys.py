"""The keys at the top of a file, without reading it as YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.scenario.discovery import misspelt_key
from pytest_convoprobe.scenario.top_keys import LOOKED_AT, keys_at_top, keys_of


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (
            "# evaluation: x\n\n%YAML 1.2\n--- # a\nname: x\n'two words': {evaluation: 1}\n",
            {"name", "two words"},
        ),
        ("  name: x\n  evaluation:\n    deep: 1\n", {"name", "evaluation"}),
        ("a: 1\n---\nb: 2\n--- \nc: [\n", {"a", "b", "c"}),
        ('{"a": {"evaluation": "b: c"}, "b": [{"d": 1}],\n e: 2}', {"a", "b", "e"}),
        ("steps:\n  - {evaluation: strict}\ntext: |\n  evaluation: x\n", {"steps", "text"}),
        ("{{- if .Values.on }}\nkind: Job\n{{- end }}\n", {"kind"}),
        ("a:\r\n  b: 1\r\nc: 2\r\n", {"a", "c"}),
        ("- evaluation: 1\n", set()),
        ("", set()),
    ],
)
def test_only_keys_at_the_top_count(text: str, keys: set[str]) -> None:
    assert keys_at_top(text.encode()) == keys
    assert keys_at_top(text.encode("utf-16")) == keys


@pytest.mark.parametrize(
    "text", ["key" + " " * LOOKED_AT, "{" * LOOKED_AT, "'\"" * (LOOKED_AT // 2), "a " * 500_000]
)
def test_a_text_made_to_be_slow_is_not(text: str) -> None:
    assert keys_at_top(text.encode()) == frozenset()


def test_of_a_large_file_the_beginning_counts(tmp_path: Path) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text("evaluation: 1\nrows:\n" + "  - x\n" * LOOKED_AT + "late: 1\n")
    assert keys_of(path) == {"evaluation", "rows"}
    assert keys_of(tmp_path / "missing.yaml") == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name: x\nsyntheticUser: {}\n", ("syntheticUser", "synthetic_user")),
        ("description: d\nEvaluations: {}\n", ("Evaluations", "evaluation")),
        ("evaluator: x\nusers: 3\n", None),
        ("name: x\nusers: 3\n", None),
    ],
)
def test_a_key_that_was_meant_to_be_one_of_a_scenario(
    tmp_path: Path, text: str, found: tuple[str, str] | None
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert misspelt_key(path) == found
