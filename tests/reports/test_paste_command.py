from __future__ import annotations

import pytest

from pytest_convoprobe.reports.paste_command import pytest_words


@pytest.mark.parametrize(
    ("path", "name", "encoding", "selection"),
    [
        ("a.yaml", "Füße", "utf-8", ["a.yaml::Füße"]),
        ("a.yaml", "Füße", "cp1252", ["a.yaml::Füße"]),
        ("a.yaml", "Füße", "ascii", ["a.yaml", "-k", "F and e"]),
        ("a.yaml", "a or b, not ü and a", "ascii", ["a.yaml", "-k", "a and b"]),
        ("a.yaml", "漢字", "cp1252", ["a.yaml"]),
        ("one/tür/a.yaml", "plain", "ascii", ["one", "-k", "plain"]),
        ("tür.yaml", "plain", "ascii", [".", "-k", "plain"]),
        ("tür.yaml", "", "ascii", ["."]),
        # What the report breaks or escapes for safety can't be pasted either.
        ("a.yaml", "a ##[group] b", "utf-8", ["a.yaml", "-k", "a and group and b"]),
        ("a.yaml", "zero\u200bwidth", "utf-8", ["a.yaml", "-k", "zero and width"]),
    ],
)
def test_the_selection_holds_only_what_can_be_pasted(
    path: str, name: str, encoding: str, selection: list[str]
) -> None:
    assert pytest_words(path, name, encoding) == ["pytest", *selection]
