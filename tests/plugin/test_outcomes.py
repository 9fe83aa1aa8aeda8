"""Outcomes in pytest's own words."""

from __future__ import annotations

import re

import pytest

from pytest_convoprobe.errors import Blame

from .suite import Suite


def test_a_scenario_that_passes_is_passed(suite: Suite) -> None:
    suite.scenario("good")
    result = suite.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["scenarios/good.yaml::good PASSED*"])


def test_an_agent_that_fails_is_failed_without_a_traceback(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed", reason="it promised a refund")
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*it promised a refund*", "FAILED scenarios/bad.yaml::bad - agent: it promised a refund"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*assert_passed*")


def test_trouble_that_is_no_verdict_is_an_error(suite: Suite) -> None:
    suite.scenario("away", outcome="error", reason="the provider is down")
    result = suite.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of away: blame infrastructure, not the agent*",
            "ERROR scenarios/away.yaml::away - infrastructure: the provider is down",
        ]
    )
    result.stdout.no_fnmatch_line("*assert_passed*")


@pytest.mark.parametrize("blame", [one.value for one in Blame if one is not Blame.AGENT])
def test_the_heading_says_who_is_to_blame(suite: Suite, blame: str) -> None:
    suite.scenario("Refund 1.5", outcome="error", blame=blame, reason="it is so")
    shown = suite.run().stdout.str()
    assert f"ERROR at setup of Refund 1.5: blame {blame}, not the agent" in shown
    assert f"ERROR scenarios/Refund 1.5.yaml::Refund 1.5 - {blame}: it is so" in shown


def test_a_heading_changes_no_line_of_progress(suite: Suite) -> None:
    suite.scenario("Refund 1.5", outcome="error", reason="it is so")
    shown = suite.run("-v").stdout.str()
    assert shown.count("scenarios/Refund 1.5.yaml::Refund 1") == 3  # progress, command, short summary


def test_a_missing_target_is_named_in_the_heading(suite: Suite) -> None:
    suite.conftest("@pytest.fixture(scope='session')\ndef convoprobe_target(): return None", target="")
    suite.scenario("one")
    suite.run().stdout.fnmatch_lines(["*ERROR at setup of one: blame infrastructure, not the agent*"])


def test_an_ordinary_tests_heading_says_it_too(suite: Suite) -> None:
    suite.scenario("away", file="inline.yml", outcome="error", blame="judge")
    suite.write("test_it.py", "def test_it(convoprobe):\n    convoprobe.run('inline.yml').assert_passed()\n")
    suite.run("test_it.py").stdout.fnmatch_lines(["*test_it: blame judge, not the agent*"])


def test_a_plain_assertion_on_an_error_says_it_above_the_scenarios_report(suite: Suite) -> None:
    suite.scenario("away", file="inline.yml", outcome="error", blame="judge")
    suite.write("test_it.py", "def test_it(convoprobe):\n    assert convoprobe.run('inline.yml').passed\n")
    suite.run("test_it.py").stdout.fnmatch_lines(["*- convoprobe: away: blame judge, not the agent -*"])


def test_skip_in_the_file_is_skipped_with_its_reason(suite: Suite) -> None:
    suite.scenario("later", skip="not ready yet")
    result = suite.run("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] scenarios/later.yaml: not ready yet"])
    assert suite.log == []


def test_an_inconclusive_scenario_may_be_skipped_at_its_own_place(suite: Suite) -> None:
    suite.scenario("first", file="scenarios/a.yaml")
    suite.scenario("unclear", file="scenarios/a.yaml", outcome="skipped", reason="cannot tell")
    result = suite.run("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] scenarios/a.yaml:11: cannot tell"])


def test_a_run_in_which_nothing_is_decided_is_red(suite: Suite) -> None:
    suite.scenario("unclear", outcome="skipped", blame="judge", reason="the judge cannot tell")
    suite.scenario("later", skip="not ready yet")
    result = suite.run()
    result.assert_outcomes(skipped=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["the judge could not decide 1 scenario, and none passed: the run fails, *"])


def test_names_of_tools_that_no_stored_run_has_seen_are_named(suite: Suite) -> None:
    suite.scenario("one", unmatched_tools=["delete_ordr"])
    suite.run().stdout.fnmatch_lines(["note: no stored run has a call of delete_ordr; *target.tools*"])
    suite.run("--convoprobe-no-results").stdout.no_fnmatch_line("*delete_ordr*")


def test_one_undecided_beside_a_pass_may_be_skipped(suite: Suite) -> None:
    suite.scenario("unclear", outcome="skipped", blame="judge", reason="the judge cannot tell")
    suite.scenario("clear")
    assert suite.run().ret == pytest.ExitCode.OK


def test_a_run_of_skipped_scenarios_alone_is_left_to_pytest(suite: Suite) -> None:
    suite.scenario("later", skip="not ready yet")
    assert suite.run().ret == pytest.ExitCode.OK


def test_tb_line_names_the_scenarios_line_and_the_reason(suite: Suite) -> None:
    suite.scenario("first", file="scenarios/a.yaml")
    suite.scenario("bad", file="scenarios/a.yaml", outcome="failed", reason="it was rude")
    result = suite.run("--tb=line")
    result.stdout.fnmatch_lines(["*scenarios/a.yaml:11: agent: it was rude"])
    result.stdout.no_fnmatch_line("*run again*")


def test_tb_line_has_one_line_for_an_error_too(suite: Suite) -> None:
    suite.scenario("gone", outcome="error", reason="no connection")
    result = suite.run("--tb=line")
    result.stdout.fnmatch_lines(["scenarios/gone.yaml::gone: infrastructure: no connection"])
    result.stdout.no_fnmatch_line("*run again*")


def test_tb_no_shows_the_short_summary_only(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed", reason="it was rude")
    result = suite.run("--tb=no")
    result.stdout.fnmatch_lines(["FAILED scenarios/bad.yaml::bad - agent: it was rude"])
    result.stdout.no_fnmatch_line("*run again*")


def test_the_failure_names_the_command_that_runs_it_again(suite: Suite) -> None:
    suite.scenario("bad one", file="scenarios/a.yaml", outcome="failed")
    result = suite.run()
    result.stdout.fnmatch_lines(["*pytest 'scenarios/a.yaml::bad one'*"])


def test_expected_failures_are_xfailed(suite: Suite) -> None:
    suite.conftest("""
        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.xfail(reason="known"))
        """)
    suite.scenario("bad", outcome="failed")
    suite.scenario("good")
    suite.run().assert_outcomes(xfailed=1, xpassed=1)


def test_xfail_may_be_for_verdicts_only(suite: Suite) -> None:
    suite.conftest("""
        from pytest_convoprobe import ScenarioFailed
        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.xfail(raises=ScenarioFailed))
        """)
    suite.scenario("away", outcome="error")
    suite.scenario("bad", outcome="failed")
    suite.run().assert_outcomes(xfailed=1, errors=1)


def test_no_target_is_one_usage_error_that_says_what_to_write(suite: Suite) -> None:
    suite.conftest("", target="")
    suite.scenario("good")
    suite.scenario("better")
    result = suite.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*does not know what to test*", "*def convoprobe_target*"])


def test_a_target_of_none_is_an_error_that_says_so(suite: Suite) -> None:
    suite.conftest("", target="@pytest.fixture\ndef convoprobe_target(): pass\n")
    suite.scenario("good")
    result = suite.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*`convoprobe_target` gave None*"])


def test_setup_only_and_setup_plan_hold_no_conversation(suite: Suite) -> None:
    suite.scenario("good")
    assert suite.run("--setup-only").ret == 0
    assert suite.run("--setup-plan").ret == 0
    assert suite.log == []


def test_setup_show_shows_the_fixtures(suite: Suite) -> None:
    suite.scenario("good")
    result = suite.run("--setup-show")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*SETUP    S convoprobe_target*"])


def test_pdb_stops_in_the_scenarios_function(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.scenario("bad", outcome="failed", reason="it was rude")
    suite.conftest("""
        import io, sys
        sys.stdin = io.StringIO("p 'name=' + _convoprobe_result.name\\nc\\n")
        """)
    result = suite.run("--pdb", "-s")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*'name=bad'*"])


HOSTILE = "it was\x1b[2J r\u202eude to Zoë ✗"

CHECKS = """
    from pytest_convoprobe.judging.types import CheckResult
    def pytest_convoprobe_checks(item, scenario, transcript):
        return [CheckResult("polite", False, "grüße", "none", 1), CheckResult("short", True, "any", "any", 1)]
    """


@pytest.mark.parametrize("option", ["--tb=short", "-vv", "-q"])
@pytest.mark.parametrize(
    ("encoding", "holds", "fails", "reason"),
    [
        ("utf-8", "✓", "✗", r"it was\x1b[2J r\u202eude to Zoë ✗"),
        ("cp1252", "[ok]", "[x] ", r"it was\x1b[2J r\u202eude to Zo\xeb \u2717"),
        ("ascii", "[ok]", "[x] ", r"it was\x1b[2J r\u202eude to Zo\xeb \u2717"),
    ],
)
def test_a_failure_can_be_read_on_every_terminal(
    suite: Suite, option: str, encoding: str, holds: str, fails: str, reason: str
) -> None:
    suite.conftest(CHECKS)
    suite.scenario("für alle", file="scenarios/a.yaml", outcome="failed", reason=HOSTILE)
    shown = suite.run_on_terminal(encoding, option)
    assert f"  why      {reason}\n" in shown
    assert re.search(r"^FAILED  f(ü|\\xfc)r alle$", shown, re.M)
    assert f"  {holds} short: " in shown
    assert f"  {fails} polite: " in shown
    assert "UnicodeEncodeError" not in shown
    assert shown.replace("\n", "").isprintable()
    assert "1 failed" in shown
