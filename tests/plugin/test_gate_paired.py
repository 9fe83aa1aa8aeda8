"""The paired gate in pytest: each scenario against its own past."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from pytest_convoprobe.gate.types import Decision, Word
from pytest_convoprobe.results.audit_file import Audit, FlipFigures, GateFigures, ScenarioAudit, write_audit
from pytest_convoprobe.results.store import open_run

from .suite import Suite

TALKS = 20


def runs(suite: Suite) -> list[Path]:
    return sorted(Path(suite.path, ".convoprobe", "runs").iterdir())


def decisions(suite: Suite) -> dict[str, Decision]:
    """Of the newest run, by the name of the scenario."""
    run = open_run(runs(suite)[-1])
    return {name.rpartition("::")[2]: one for name, one in run.decisions().items()}


def words(suite: Suite) -> dict[str, str]:
    return {name: one.word.value for name, one in sorted(decisions(suite).items())}


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stored runs of the project are kept once a test has made them."""
    return tmp_path_factory.mktemp("past") / "stored"


@pytest.fixture
def known(suite: Suite, past: Path) -> Suite:
    """A project with a stored run of twenty trials of each scenario. `flaky` failed in four of them."""
    for name in ("one", "two", "three"):
        suite.scenario(name)
    suite.scenario("flaky", outcomes=["failed", "passed"] * 4 + ["passed"])
    if not past.exists():
        suite.run(f"--convoprobe-trials={TALKS}").assert_outcomes(passed=76, failed=4)
        (suite.path / "talk.log").unlink()
        shutil.copytree(suite.path / ".convoprobe", past)
    else:
        shutil.copytree(past, suite.path / ".convoprobe")
    suite.gate = "auto"
    return suite


def change(suite: Suite, name: str, *outcomes: str, **keys: object) -> None:
    """What becomes of a scenario from now on; that is in no fingerprint."""
    (suite.path / f"scenarios/{name}.yaml").unlink()
    suite.scenario(name, outcomes=list(outcomes), **keys)


BASELINE = "--convoprobe-baseline=latest"


def test_a_scenario_that_breaks_is_red(known: Suite) -> None:
    change(known, "two", "failed")
    result = known.run(BASELINE)
    result.assert_outcomes(passed=2, xfailed=1, failed=1)
    assert result.ret == 1
    found = decisions(known)["two"]
    assert (found.word, found.policy) == (Word.RED, "paired")
    assert found.past is not None
    assert (found.past.failed, found.past.talks) == (0, TALKS)
    result.stdout.fnmatch_lines(
        [
            "gate (paired): * conversations, and at most * more",
            f"gate: {found.failed} of {found.talks} failed, base 0 of 20: more often than before. One of *",
            "gate (paired, alpha 5 %): red. 4 scenarios, * conversations (baseline 20 each), *",
            f"  two: {found.failed} of {found.talks} failed, base 0 of 20: more often than before",
            "FAILED scenarios/two.yaml::two - agent: as it was told (*",
        ]
    )


def test_a_scenario_that_fails_as_before_is_expected_to(known: Suite) -> None:
    result = known.run(BASELINE, "-rx")
    result.assert_outcomes(passed=3, xfailed=1)
    assert result.ret == 0
    found = decisions(known)["flaky"]
    assert (found.word, found.talks > 1) == (Word.GREEN, True)
    # What is left of 1.7 conversations a scenario is spent on second looks.
    assert sorted(decisions(known)[name].talks for name in ("one", "two", "three")) == [1, 1, 2]
    sentence = f"{found.failed} of {found.talks} failed, base 4 of 20: as before"
    result.stdout.fnmatch_lines(
        [
            "these changes decide nothing: the gate decides about each scenario",
            "gate (paired, alpha 5 %): green. 4 scenarios, *, 0 undecided",
            f"  flaky: {sentence}",
            f"XFAIL scenarios/flaky.yaml::flaky - {sentence}",
        ]
    )


def test_the_decision_is_the_same_in_any_order_and_with_workers(known: Suite) -> None:
    change(known, "two", "failed")
    change(known, "three", "failed", "passed")
    base = f"--convoprobe-baseline={runs(known)[0].name}"
    known.run(base)
    alone = decisions(known)
    known.conftest("""
        def pytest_collection_modifyitems(items):
            items.reverse()
        """)
    known.run(base)
    assert decisions(known) == alone
    result = known.run_process("-n2", base, plugins=["xdist"])
    assert result.ret == 1
    assert decisions(known) == alone
    result.stdout.fnmatch_lines(
        [
            "gate (paired): * conversations, and at most * more",
            "gate (paired, alpha 5 %): red. 4 scenarios, *",
        ]
    )


def test_a_scenario_that_changed_is_decided_by_confirmation(known: Suite) -> None:
    (known.path / "scenarios/two.yaml").write_text(
        (known.path / "scenarios/two.yaml").read_text().replace("It answers", "It answers at once")
    )
    result = known.run(BASELINE)
    assert result.ret == 0
    found = decisions(known)["two"]
    assert (found.policy, found.past) == ("confirm", None)
    result.stdout.fnmatch_lines(
        [
            "gate (paired, alpha 5 %, 1 by confirm): green. *",
            "  note: two: changed since *: scenario; decided by confirm",
        ]
    )


def test_the_budget_leaves_scenarios_undecided(known: Suite) -> None:
    """Each has its share of it, whoever needs more."""
    result = known.run(BASELINE, "--convoprobe-gate-budget=6")
    assert result.ret == 0
    result.assert_outcomes(passed=3, xfailed=1)
    assert decisions(known)["flaky"].talks == 3
    result.stdout.fnmatch_lines(
        [
            "gate (paired): 4 conversations, and at most 6 more",
            "gate (paired, alpha 5 %): green. *, 1 undecided",
            "  flaky: 2 of 3 failed, base 4 of 20: undecided",
            "  note: flaky: the share of gate.max_talks is used up",
        ]
    )


def test_a_run_in_which_nothing_is_decided_fails(known: Suite) -> None:
    result = known.run(BASELINE, "-q", "-k", "flaky", "--convoprobe-gate-budget=0")
    result.assert_outcomes(xfailed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["gate (paired, *): undecided. *, 1 undecided", "no scenario was decided green: the run fails"]
    )


def test_a_suite_that_is_worse_as_a_whole_is_red(known: Suite) -> None:
    """Though no scenario shows it alone."""
    for name in ("one", "two", "three"):
        change(known, name, "failed", "passed")
    result = known.run(BASELINE)
    assert result.ret == 1
    assert set(words(known).values()) == {"green"}
    result.stdout.fnmatch_lines(
        [
            "gate (paired, *): red. *",
            "  all scenarios together fail more often than before: 4 of 4 first conversations failed, *",
        ]
    )


def test_what_does_not_block_is_reported(known: Suite) -> None:
    change(known, "two", "failed", gate={"mode": "quarantine", "expires": "2999-01-31", "reason": "#123"})
    result = known.run(BASELINE)
    result.assert_outcomes(passed=2, xfailed=2)
    assert result.ret == 0
    assert decisions(known)["two"].mode == "quarantine"
    result.stdout.fnmatch_lines(["  two: *; in quarantine, so it blocks nothing", "  note: two: in *"])


def test_what_mostly_failed_before_is_reported_and_costs_one_conversation(known: Suite) -> None:
    change(known, "one", "failed")
    known.gate = "each"
    known.run("--convoprobe-trials=20")
    known.gate = "auto"
    base = f"--convoprobe-baseline={runs(known)[-1].name}"
    (known.path / "talk.log").unlink()
    result = known.run(base)
    assert result.ret == 0
    assert known.started().count("one") == 1
    assert decisions(known)["one"].mode == "report"
    result.stdout.fnmatch_lines(["  one: 1 of 1 failed, base 20 of 20: *; only reported, so it *"])


@pytest.mark.parametrize(
    "options",
    [
        [BASELINE, "--convoprobe-fail-on=regression", "--convoprobe-gate=paired"],
        ["--convoprobe-trials=2", "--convoprobe-gate=confirm"],
    ],
)
def test_options_that_contradict_are_an_error_before_any_work(known: Suite, options: list[str]) -> None:
    result = known.run(*options)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --convoprobe-*leave out *--convoprobe-*"])
    assert known.log == []


def test_a_policy_of_the_settings_contradicts_too(known: Suite) -> None:
    known.write("convoprobe.yaml", "gate: {policy: confirm}")
    result = known.run(BASELINE, "--convoprobe-fail-on=new-failure")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["*the gate is confirm, which decides about a scenario's conversations together*"]
    )


def test_whoever_asks_for_changes_of_trials_gets_them(known: Suite) -> None:
    change(known, "two", "failed", "passed")
    result = known.run(BASELINE, "--convoprobe-fail-on=new-failure", "-k", "two")
    result.assert_outcomes(failed=1)
    assert decisions(known) == {}
    result.stdout.fnmatch_lines(["gate (new-failure): closed by 1 new failure"])


def audit_of(suite: Suite, flipping: str, at: float) -> None:
    """Keep an audit of the stored run, in which most verdicts on one scenario flipped."""
    prints = {row.scenario_id: row.prints for row in open_run(runs(suite)[-1]).rows()}
    flips = {True: FlipFigures(5, 3), False: FlipFigures(5, 0)}
    found = tuple(
        ScenarioAudit(name, TALKS, 0, flips=flips[name.endswith(flipping)], prints=one)
        for name, one in prints.items()
    )
    gate = GateFigures(300, 0, 0.01, 0.0, 1.7, 2.0, {"always": {"one": 0.06}})
    write_audit(suite.path / ".convoprobe", Audit(at, (), "paired", 0.05, "openai/j", gate, found))


def test_the_last_audit_is_shown_and_a_scenario_whose_verdicts_flip_blocks_nothing(known: Suite) -> None:
    audit_of(known, "two", time.time())
    change(known, "two", "failed")
    result = known.run(BASELINE)
    result.assert_outcomes(passed=2, xfailed=2)
    result.stdout.fnmatch_lines(
        ["*two: *3 of 5 verdicts flipped in the audit of *, so it is only reported*"], consecutive=False
    )
    result.stdout.fnmatch_lines(
        ["measured on this suite * (audit): false red 0 of 300 (at most 1 %), missed: broken always 6 %*"]
    )


def test_an_old_audit_measures_nothing(known: Suite) -> None:
    audit_of(known, "two", time.time() - 31 * 86_400)
    change(known, "two", "failed")
    result = known.run(BASELINE)
    result.assert_outcomes(passed=2, xfailed=1, failed=1)
    result.stdout.fnmatch_lines(["gate not measured: the audit of * is older than 30 days"])
