from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pytest_convoprobe.errors import Blame

from .conftest import Convoprobe
from .stored import PRINTS, errored, failed, passed, store


def test_a_scenario_over_its_runs(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), passed("two")])
    store(folder, 2, [failed("one"), passed("two")], prints=replace(PRINTS, prompts="c" * 16))
    store(folder, 3, [passed("one"), passed("two")], prints=replace(PRINTS, prompts="c" * 16))
    head, first, second = convoprobe("trends").output.splitlines()
    assert head.split() == "SCENARIO RUNS PASSED RATE 95 % TREND SCORE LAST CHANGE".split()
    assert first.split()[:10] == "scenarios/one.yaml::one 3 2/3 67 % 21-94 % █▁█ 1.00 prompts".split()
    assert first.endswith("prompts (1 run ago)")
    assert second.split()[:5] == "scenarios/two.yaml::two 3 3/3 100 %".split()


def test_errors_have_a_column_of_their_own(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [passed("one"), errored("two", Blame.SIMULATOR)])
    store(folder, 2, [errored("one", Blame.JUDGE), errored("two", Blame.SCENARIO)])
    head, first, second = convoprobe("trends").output.splitlines()
    assert head.split()[3:5] == ["RATE", "ERRORS"]
    assert "1/1 100 % 1 judge" in " ".join(first.split())
    assert "0/0 no verdict 1 simulator, 1 scenario - ··" in " ".join(second.split())
    shown = convoprobe("trends", "--scenario", "one").output
    assert "no verdict 1 judge" in " ".join(shown.split())


def test_the_window(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("one")])
    store(folder, 2, [passed("one")])
    assert " 1/1 " in convoprobe("trends", "--window", "1").output


def test_one_scenario_run_by_run(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("one"), passed("two")])
    store(folder, 2, [passed("one"), passed("two")])
    lines = convoprobe("trends", "--scenario", "ONE").output.splitlines()
    assert len(lines) == 6
    assert lines[4].split()[0] == "20261102T120000Z-000002"
    assert lines[5].split()[4:6] == ["0/1", "0.50"]


def test_an_unknown_scenario(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("one")])
    result = convoprobe("trends", "--scenario", "three")
    assert result.exit_code == 2
    assert "no stored scenario has 'three' in its id or name" in result.output


def test_without_runs(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("trends")
    assert result.exit_code == 2
    assert "no stored runs in" in result.output


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    store(folder, 1, [failed("one")])
    (found,) = json.loads(convoprobe("trends", "--json").stdout)
    assert found["scenario_id"] == "scenarios/one.yaml::one"
    assert found["points"][0]["rate"] == 0.0
    assert found["interval"]["low"] == 0.0


def test_a_narrow_terminal_keeps_what_matters(folder: Path, on_terminal: Callable[..., str]) -> None:
    store(folder, 1, [passed("one")])
    store(folder, 2, [failed("one")])
    plain = {"NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    lines = on_terminal("trends", columns=40, env=plain).splitlines()
    assert lines[0].split() == "SCENARIO RATE TREND".split()
    assert lines[1].endswith("50 %  █▁")
    assert all(len(line) <= 40 for line in lines)


def test_without_unicode_a_trend_is_ascii(folder: Path, on_terminal: Callable[..., str]) -> None:
    store(folder, 1, [passed("one")])
    store(folder, 2, [failed("one")])
    output = on_terminal("trends", env={"PYTHONIOENCODING": "latin-1", "NO_COLOR": "1"})
    assert " #_ " in output
    assert output.isascii()
