"""The hooks of a project's own, and results where other plug-ins look."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from .suite import Suite


def test_checks_of_the_project_count(suite: Suite) -> None:
    suite.conftest("""
        from pytest_convoprobe.judging.types import CheckResult
        def pytest_convoprobe_checks(item, scenario, transcript):
            said = transcript.turns[0].reply.text
            return [CheckResult("no echo", "echo" not in said, "no echo", said, 1)]
        """)
    suite.scenario("one")
    result = suite.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no echo*"])


def test_hooks_of_a_folder_see_its_scenarios_only(suite: Suite) -> None:
    suite.scenario("a", file="scenarios/a.yaml")
    suite.scenario("b", file="scenarios/deep/b.yaml")
    suite.write(
        "scenarios/deep/conftest.py",
        "def pytest_convoprobe_result(item, result): print('saw', item.name, result.outcome.value)",
    )
    result = suite.run("-s")
    result.stdout.fnmatch_lines(["*saw b passed"])
    result.stdout.no_fnmatch_line("*saw a*")


def test_the_result_is_there_in_makereport(suite: Suite) -> None:
    suite.conftest("""
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            if report.when == "call":
                print("made", item.convoprobe_result.outcome.value)
            return report
        """)
    suite.scenario("one")
    suite.run("-s").stdout.fnmatch_lines(["*made passed"])


def test_junit_has_properties_and_the_scenarios_own_time(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed", score=0.5, duration=12.5)
    suite.run("--junitxml=out.xml", "-o", "junit_family=xunit1").assert_outcomes(failed=1)
    case = ET.parse(suite.path / "out.xml").getroot().find(".//testcase")
    assert case is not None
    properties = {prop.get("name"): prop.get("value") for prop in case.iter("property")}
    assert properties == {
        "convoprobe_outcome": "failed",
        "convoprobe_score": "0.5",
        "convoprobe_blame": "agent",
        "convoprobe_cost": "0.002",
        "convoprobe_tokens": "120",
    }
    assert 12.5 <= float(case.get("time", "0")) < 25
    failure = case.find("failure")
    assert failure is not None
    assert failure.get("message") == "agent: as it was told"


def test_durations_are_those_of_the_conversations(suite: Suite) -> None:
    suite.scenario("quick", file="scenarios/all.yaml", duration=70)
    suite.scenario("slow", file="scenarios/all.yaml", duration=900)
    result = suite.run("--durations=2")
    result.stdout.fnmatch_lines(["9??.??s call*::slow", "7?.??s call*::quick"])


def test_the_summary_counts_and_adds_up(suite: Suite) -> None:
    suite.scenario("a")
    suite.scenario("b", outcome="failed")
    result = suite.run()
    result.stdout.fnmatch_lines(
        ["=* convoprobe =*", "2 scenarios: 1 passed, 1 failed (agent)", "spent: $0.0040*"]
    )


def test_there_is_no_summary_without_scenarios_or_when_quiet(suite: Suite) -> None:
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.run().stdout.no_fnmatch_line("*= convoprobe =*")
    suite.scenario("a")
    suite.run("-q").stdout.no_fnmatch_line("*= convoprobe =*")


OLD = "llm:\n  model: openai/a\norchestrator:\n  workers: 2\n"


def test_what_the_settings_set_aside_is_said_once_before_the_run(suite: Suite) -> None:
    suite.write("mcprobe.yaml", OLD)
    suite.scenario("a")
    result = suite.run()
    result.stdout.fnmatch_lines(["note: *orchestrator*", "*scenarios/a.yaml*"])
    assert str(result.stdout).count("note:") == 1


def test_what_the_settings_set_aside_is_said_at_the_end_where_only_a_test_has_used_them(suite: Suite) -> None:
    suite.write("mcprobe.yaml", OLD)
    suite.scenario("a", file="one.yaml")
    suite.write("test_it.py", "def test_it(convoprobe): convoprobe.run('one.yaml')")
    suite.run("test_it.py").stdout.fnmatch_lines(["=* convoprobe =*", "note: *orchestrator*"])


def test_what_the_settings_set_aside_is_said_under_xdist(suite: Suite) -> None:
    suite.write("mcprobe.yaml", OLD)
    suite.scenario("a")
    result = suite.run_process("-n1", plugins=["xdist.plugin"])
    result.stdout.fnmatch_lines(["note: *orchestrator*"])
    assert str(result.stdout).count("note:") == 1


def test_what_was_set_aside_stands_beside_the_missing_target(suite: Suite) -> None:
    suite.write("mcprobe.yaml", "llm:\n  model: openai/a\nagent:\n  type: custom\n  factory: agent.py\n")
    suite.conftest("", target="")
    suite.scenario("a")
    suite.run().stderr.fnmatch_lines(
        ["*does not know what to test*", "note: mcprobe.yaml:3: *", "*object: agent.py:create_agent"]
    )
