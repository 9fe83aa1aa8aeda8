"""`mutations.json`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.mutation_file import (
    FILE,
    CriterionScore,
    Remark,
    ScenarioMutations,
    add_mutations,
    read_mutations,
)

PRINTS = Prints("a" * 16, "b" * 16)
ONE = ScenarioMutations(
    "a.yaml::A", "20261101T120000Z-000001", 1.5, "openai/x", PRINTS, 1, 3, 1, 0,
    (CriterionScore("c1", "It says 5.", 2, 1), CriterionScore("c2", "It is nice.")),
    (Remark("number", "c1", "It says 5.", 2, "It is 6.", "another number"),),
    verdicts={"0123": {"c1": True, "c2": None}},
)  # fmt: skip


def test_scenarios_are_kept_beside_each_other(tmp_path: Path) -> None:
    add_mutations(tmp_path, [ONE])
    add_mutations(tmp_path, [replace(ONE, scenario_id="b.yaml::B"), replace(ONE, caught=9)])
    found = read_mutations(tmp_path)
    assert list(found) == ["a.yaml::A", "b.yaml::B"]
    assert found["a.yaml::A"] == replace(ONE, caught=9)


def test_what_it_says() -> None:
    assert (ONE.score, ONE.blind) == (0.75, ("It says 5.",))
    assert [one.score for one in ONE.criteria] == [2 / 3, None]
    assert ONE.is_about(PRINTS)
    assert not ONE.is_about(replace(PRINTS, scenario="c" * 16))


def test_nothing_is_known_without_a_file(tmp_path: Path) -> None:
    assert read_mutations(tmp_path) == {}


@pytest.mark.parametrize("text", ["", "[", "[]", '{"version": 1}', '{"version": 1, "scenarios": {"a": {}}}'])
def test_a_broken_file(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ResultsError, match="this is not what `convoprobe mutate` writes; delete it"):
        read_mutations(tmp_path)
    add_mutations(tmp_path, [ONE])
    assert read_mutations(tmp_path)


def test_a_later_release(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"version": 2, "scenarios": {"a": {"new": 1}}}')
    assert read_mutations(tmp_path) == {}
