"""`--convoprobe-baseline` and `--convoprobe-fail-on`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .suite import Suite

SECTION = "*convoprobe: compared with a baseline*"


def runs(suite: Suite) -> list[Path]:
    return sorted((suite.path / ".convoprobe" / "runs").iterdir())


@pytest.fixture
def green(suite: Suite) -> Suite:
    """A project with a stored run in which both scenarios passed."""
    suite.scenario("one")
    suite.scenario("two")
    suite.run().assert_outcomes(passed=2)
    return suite


def change(suite: Suite, name: str, **metadata: object) -> None:
    (suite.path / f"scenarios/{name}.yaml").unlink()
    suite.scenario(name, **metadata)


def test_nothing_is_worse(green: Suite) -> None:
    result = green.run("--convoprobe-baseline=latest")
    assert result.ret == 0
    base = runs(green)[0].name
    result.stdout.fnmatch_lines([SECTION, f"{base}* → this run: 2 the same", "gate (regression): open"])


def test_a_new_failure_is_told(green: Suite) -> None:
    change(green, "one", outcome="failed", reason="it never answers")
    result = green.run("--convoprobe-baseline=latest")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            SECTION,
            "* → this run: 1 new failure, 1 the same",
            "  new failure: scenarios/one.yaml::one",
            "      passed 1 of 1 → 0 of 1, score 1.00 → 0.00*",
            "      agent: it never answers",
            "gate (regression): closed by 1 new failure",
        ]
    )


XFAIL = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xfail(reason="known"))
"""


@pytest.mark.parametrize(
    ("fail_on", "status"), [(None, 1), ("regression", 1), ("new-failure", 1), ("none", 0)]
)
def test_the_gate_closes_although_pytest_passed(green: Suite, fail_on: str | None, status: int) -> None:
    change(green, "one", outcome="failed")
    green.conftest(XFAIL)
    gate = [f"--convoprobe-fail-on={fail_on}"] if fail_on else []
    result = green.run("--convoprobe-baseline=latest", *gate)
    result.assert_outcomes(xfailed=1, xpassed=1)
    assert result.ret == status
    assert json.loads((runs(green)[-1] / "run.json").read_text())["exit_status"] == status


def test_a_regression_is_no_new_failure(suite: Suite) -> None:
    suite.conftest(XFAIL)
    suite.scenario("one", outcome="failed", score=0.9)
    suite.run()
    change(suite, "one", outcome="failed", score=0.1)
    assert suite.run("--convoprobe-baseline=latest", "--convoprobe-fail-on=new-failure").ret == 0
    assert suite.run("--convoprobe-baseline=latest~1", "--convoprobe-fail-on=regression").ret == 1


def test_pytests_own_status_stays(green: Suite) -> None:
    change(green, "one", outcome="failed")
    assert green.run("--convoprobe-baseline=latest", "--convoprobe-fail-on=none").ret == 1


def test_a_baseline_that_broke_off_is_told(green: Suite) -> None:
    info = runs(green)[0] / "run.json"
    info.write_text(json.dumps({**json.loads(info.read_text()), "state": "interrupted"}))
    result = green.run("--convoprobe-baseline=latest")
    result.stdout.fnmatch_lines(
        ["gate (regression): open", f"note: {info.parent.name} did not come to its end (interrupted): *"]
    )


def test_a_folder_as_a_baseline(green: Suite) -> None:
    result = green.run(f"--convoprobe-baseline={runs(green)[0]}")
    result.stdout.fnmatch_lines(["* → this run: 2 the same"])


def test_a_baseline_that_is_not_there_stops_before_any_work(green: Suite) -> None:
    before = len(green.log)
    result = green.run("--convoprobe-baseline=nowhere")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --convoprobe-baseline: nowhere is not a stored run in *"])
    assert len(green.log) == before


def test_a_gate_without_a_baseline(suite: Suite) -> None:
    suite.scenario("one")
    result = suite.run("--convoprobe-fail-on=regression")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --convoprobe-fail-on needs --convoprobe-baseline*"])


def test_a_baseline_without_results(green: Suite) -> None:
    result = green.run("--convoprobe-baseline=latest", "--convoprobe-no-results")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*leave out --convoprobe-no-results"])


def test_a_run_that_cannot_be_stored_does_not_pass_the_gate(green: Suite) -> None:
    base = green.path / "base"
    runs(green)[0].rename(base)
    runs(green)
    (green.path / ".convoprobe" / "runs").rmdir()
    (green.path / ".convoprobe" / "runs").write_text("no folder")
    result = green.run(f"--convoprobe-baseline={base}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["no comparison with *: nothing of this run was stored (gate: regression)"])


def test_a_run_without_scenarios_is_let_alone(green: Suite) -> None:
    green.write("test_plain.py", "def test_plain(): pass")
    result = green.run("test_plain.py", "--convoprobe-baseline=latest")
    assert result.ret == 0
    result.stdout.no_fnmatch_line(SECTION)


def test_collecting_needs_no_baseline(green: Suite) -> None:
    assert green.run("--collect-only", "--convoprobe-baseline=nowhere").ret == 0


def test_under_xdist(green: Suite) -> None:
    change(green, "one", outcome="failed")
    green.conftest(XFAIL)
    result = green.run_process("-n2", "--convoprobe-baseline=latest", plugins=["xdist"])
    assert result.ret == 1
    result.stdout.fnmatch_lines([SECTION, "* → this run: 1 new failure, 1 the same"])
