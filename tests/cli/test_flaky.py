from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome

from .conftest import Convoprobe
from .stored import PRINTS, failed, passed, store


def test_a_scenario_that_flips(folder: Path, convoprobe: Convoprobe) -> None:
    for day in range(1, 7):
        store(folder, day, [failed("one") if day % 3 == 0 else passed("one"), passed("two")], commit="c" * 40)
    result = convoprobe("flaky")
    assert result.exit_code == 0
    row = result.output.splitlines()[1]
    assert row.split()[:6] == "scenarios/one.yaml::one 4/6 67 % 30-90 %".split()
    assert "0.83±0.26 (0.50-1.00)" in row
    assert row.endswith("yes")
    assert "two" not in result.output


def test_what_flips_has_its_words(folder: Path, convoprobe: Convoprobe) -> None:
    trial = passed("one")
    both = replace(trial, criteria=(*trial.criteria, replace(failed("one").criteria[1], holds=True)))
    store(folder, 1, [both, failed("one", trial=2), failed("one", trial=3)])
    output = convoprobe("flaky", "--min-runs", "3").output
    assert "  c2: The agent tells the wind\n      satisfied in 1 trial, not satisfied in 2\n" in output


def test_where_no_criterion_flips_the_reason_is_told(folder: Path, convoprobe: Convoprobe) -> None:
    broken = replace(
        failed("one", trial=2),
        outcome=Outcome.ERROR,
        blame=Blame.SIMULATOR,
        reason="the user spoke as the assistant",
        score=None,
        criteria=(),
    )
    store(folder, 1, [passed("one"), broken])
    output = convoprobe("flaky", "--min-runs", "2").output
    assert output.endswith("\nscenarios/one.yaml::one\n  the user spoke as the assistant\n")


def test_after_a_change_of_the_prompts_it_is_another_matter(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("one")])
    store(folder, 2, [passed("one")], prints=replace(PRINTS, prompts="c" * 16))
    result = convoprobe("flaky", "--min-runs", "2")
    assert result.exit_code == 0
    assert result.output == "no scenario with 2 trials or more has varying outcomes\n"


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("one"), passed("one", trial=2)])
    (found,) = json.loads(convoprobe("flaky", "--min-runs", "2", "--json").stdout)
    assert (found["trials"], found["passed"]) == (2, 1)
    assert found["example"] == {
        "run": "20261101T120000Z-000001",
        "trial": 1,
        "reason": "The agent tells the wind",
    }
