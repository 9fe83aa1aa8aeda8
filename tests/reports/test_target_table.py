"""The table of scenarios and targets, in the summary of a run and in Markdown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.summary import Digest, summary_lines
from pytest_convoprobe.reports.target_table import target_table_lines, target_table_of
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.records import TrialRecord
from tests.results.support import trial

from .runs import run_report

PASSED, FAILED, ERROR, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.SKIPPED


def ran(name: str, target: str, outcome: Outcome = PASSED, number: int = 1) -> ScenarioResult:
    return replace(
        trial(),
        name=f"{name} [{target}]",
        scenario_id=f"a.yaml::{name}[{target}]",
        outcome=outcome,
        trial=number,
        target_name=target,
    )


def table(*results: ScenarioResult, rows: int | None = None) -> list[str]:
    found = target_table_of(results)
    assert found is not None
    return target_table_lines(found, rows)


def test_a_line_a_scenario_and_a_column_a_target() -> None:
    found = table(
        ran("Late order", "mini"),
        ran("Late order", "big", FAILED),
        ran("Refund", "mini", ERROR),
        ran("Refund", "big", SKIPPED),
    )
    assert found == [
        "  target:     big      mini",
        "  Late order  failed   passed",
        "  Refund      skipped  error",
    ]


def test_several_trials_are_counted_and_what_has_no_verdict_is_named() -> None:
    outcomes = (PASSED, FAILED, ERROR, ERROR, SKIPPED)
    some = [ran("one", "a", outcome, number) for number, outcome in enumerate(outcomes, start=1)]
    found = table(*some, ran("one", "b", PASSED, 1), ran("one", "b", PASSED, 2), ran("two", "b"))
    assert found[1].split("  ")[-2:] == ["1 of 2, 2 errors, 1 skipped", "2 of 2"]
    assert found[2].split() == ["two", "-", "passed"], "it did not run with the other one"


def test_errors_alone_are_no_share() -> None:
    found = table(ran("one", "a", ERROR, 1), ran("one", "a", ERROR, 2), ran("one", "b"))
    assert found[1].split("  ")[-2:] == ["2 errors", "passed"]


@pytest.mark.parametrize("targets", [("a",), ("",), ("", "a")])
def test_there_is_none_without_several_targets(targets: tuple[str, ...]) -> None:
    assert target_table_of([ran("one", target) for target in targets]) is None


def test_what_is_too_wide_is_cut_and_said() -> None:
    names = [f"target-with-a-long-name-{number}" for number in range(9)]
    found = table(*(ran("A scenario whose name is too long for a column of a table", name) for name in names))
    assert all(len(line) <= 110 for line in found[:2])
    assert found[0].startswith("  target:")
    assert "A scenario whose name is too long for...  " in found[1]
    assert found[2].startswith("  and 7 more targets: target-with-a-long-name-2, ")


def test_rows_that_are_left_out_are_the_ones_that_passed() -> None:
    results = [ran(f"s{number}", target) for number in range(5) for target in "ab"]
    results[-1] = ran("s4", "b", FAILED)
    found = table(*results, rows=2)
    assert [line.split()[0] for line in found[1:]] == ["s0", "s4", "and"]
    assert found[-1] == "  and 3 more scenarios (all of them passed)"
    results[2:6] = [ran(f"s{number}", target, ERROR) for number in (1, 2) for target in "ab"]
    assert table(*results, rows=2)[-1] == "  and 3 more scenarios (-v lists them)"


def test_hostile_names_stay_text() -> None:
    nasty = "\x1b[2J\nx\u202e::error::"
    lines = table(ran(nasty, "a\x1b[31m"), ran(nasty, "b"))
    assert all(line.isprintable() for line in lines)
    assert "\x1b" not in "".join(lines)


def test_it_is_part_of_the_summary_and_travels_from_workers() -> None:
    digests = [Digest.of(ran("one", name)) for name in ("a", "b")]
    travelled = [Digest.from_json(one.to_json()) for one in digests]
    assert "  one      passed  passed" in summary_lines(travelled)
    assert not any("target:" in line for line in summary_lines(digests[:1]))


def test_markdown_has_it_with_signs_and_escapes() -> None:
    results = [ran("a|b @you", "mini"), ran("a|b @you", "b*g", FAILED)]
    text = markdown(run_report([TrialRecord(one) for one in results]))
    rows = [line for line in text.splitlines() if line.startswith("|")][:3]
    assert rows[0] == "| Scenario | b&#42;g | mini |"
    assert rows[2].endswith(" | ❌ failed | ✅ passed |")
    assert "a&#124;b" in rows[2]
    assert "@you" not in rows[2]


def test_markdown_says_what_it_leaves_out() -> None:
    results = [ran("one", f"t{number}") for number in range(12)]
    text = markdown(run_report([TrialRecord(one) for one in results]))
    assert "_And 4 more targets._" in text
    assert "| Scenario |" not in markdown(run_report([TrialRecord(ran("one", "t"))]))
