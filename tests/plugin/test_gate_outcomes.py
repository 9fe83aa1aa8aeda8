"""What the gate makes of scenarios in pytest: one item each, several conversations where one failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_convoprobe.gate.types import Decision, Word
from pytest_convoprobe.results.run_gate import suite_of
from pytest_convoprobe.results.store import open_run

from .suite import Suite


@pytest.fixture
def gated(suite: Suite) -> Suite:
    """A project whose gate is the default one, as in a live run without a baseline."""
    suite.gate = "auto"
    return suite


def decisions(suite: Suite) -> dict[str, Decision]:
    """Of the newest run, by the name of the scenario."""
    run = open_run(sorted(Path(suite.path, ".convoprobe", "runs").iterdir())[-1])
    return {name.rpartition("::")[2]: one for name, one in run.decisions().items()}


def test_what_is_decided_of_each(gated: Suite) -> None:
    gated.scenario("good")
    gated.scenario("broken", outcomes=["failed"], reason="it never answers")
    gated.scenario("flaky", outcomes=["failed", "passed"])
    gated.scenario("down", outcomes=["failed", "error"])
    result = gated.run("-rx", "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, failed=1, xfailed=1, errors=1)
    assert result.ret == 1
    assert {name: one.word for name, one in decisions(gated).items()} == {
        "good": Word.GREEN,
        "broken": Word.RED,
        "flaky": Word.GREEN,
    }
    result.stdout.fnmatch_lines(
        [
            "gate (confirm): 4 conversations, and at most 8 more",
            "gate: 2 of 2 failed: confirmed. One of the conversations:",
            "gate (confirm): red. 3 scenarios, 6 conversations (compared with no baseline), *, 1 not *",
            "  broken: 2 of 2 failed: confirmed",
            "  flaky: 1 of 3 failed: not confirmed",
            "XFAIL scenarios/flaky.yaml::flaky - 1 of 3 failed: not confirmed",
        ]
    )
    cases = {case.get("name"): case for case in ET.parse(gated.path / "junit.xml").iter("testcase")}
    found = {one.get("name"): one.get("value") for one in cases["broken"].iter("property")}
    assert found["convoprobe_gate"] == "red"
    assert found["convoprobe_decision"] == "2 of 2 failed: confirmed"
    assert found["convoprobe_tokens"] == "240"


def test_first_conversations_run_at_the_same_time_and_ahead(gated: Suite) -> None:
    gated.scenario("one", until="start scenarios/two.yaml::two 1")
    gated.scenario("two", outcomes=["failed", "passed"])
    gated.run().assert_outcomes(passed=1, xfailed=1)
    assert sorted(line for line in gated.log if line.startswith("start")) == [
        "start scenarios/one.yaml::one 1",
        "start scenarios/two.yaml::two 1",
        "start scenarios/two.yaml::two 2",
        "start scenarios/two.yaml::two 3",
    ]


def test_what_may_not_block_does_not_as_a_trial_either(suite: Suite) -> None:
    suite.scenario("one", outcome="failed", gate={"mode": "report", "reason": "#123"})
    suite.scenario("two", outcome="error", gate={"mode": "report"})
    result = suite.run("-rx")
    result.assert_outcomes(xfailed=1, errors=1)
    result.stdout.fnmatch_lines(["XFAIL *::one - failed; only reported: #123, so it blocks nothing"])


def test_x_stops_at_what_is_red_and_not_at_what_is_not(gated: Suite) -> None:
    gated.scenario("a", outcomes=["failed", "passed"])
    gated.scenario("b", outcomes=["failed"])
    gated.scenario("c")
    result = gated.run("-x")
    result.assert_outcomes(xfailed=1, failed=1)
    assert set(decisions(gated)) == {"a", "b"}


def test_lf_repeats_what_was_red_or_an_error_and_not_what_is_expected(gated: Suite) -> None:
    gated.scenario("broken", outcomes=["failed"])
    gated.scenario("down", outcomes=["error"])
    gated.scenario("flaky", outcomes=["failed", "passed"])
    gated.run().assert_outcomes(failed=1, errors=1, xfailed=1)
    result = gated.run("--lf")
    result.assert_outcomes(failed=1, errors=1)
    result.stdout.fnmatch_lines(["  broken: 2 of 2 failed: confirmed"])


def test_a_rerun_does_not_turn_red_into_green(gated: Suite) -> None:
    """It would pass if its conversations were counted from the beginning again."""
    gated.scenario("one", outcomes=["failed"], until_run=2)
    result = gated.run_process("--reruns=2", plugins=["pytest_rerunfailures"])
    result.assert_outcomes(failed=1)
    assert gated.started() == ["one", "one"]
    assert decisions(gated)["one"].talks == 2


def test_a_rerun_goes_on_after_an_outage(gated: Suite) -> None:
    """The verdict of before counts, and the conversation that broke off is repeated."""
    gated.scenario("one", outcomes=["failed", "error"], until_run=2)
    result = gated.run_process("--reruns=1", plugins=["pytest_rerunfailures"])
    result.assert_outcomes(xfailed=1)
    starts = [line.rpartition(" ")[2] for line in gated.log if line.startswith("start")]
    assert starts == ["1", "2", "2", "3"]
    found = decisions(gated)["one"]
    assert (found.word, found.failed, found.talks) == (Word.GREEN, 1, 3)


def test_an_object_that_can_talk_once_is_decided_by_one_conversation(gated: Suite) -> None:
    gated.conftest(
        "",
        target="""
class Agent:
    def send(self, message):
        return "echo " + message

@pytest.fixture
def convoprobe_target():
    return Agent()
""",
    )
    gated.scenario("one", outcomes=["failed"])
    result = gated.run()
    result.assert_outcomes(failed=1)
    assert gated.started() == ["one"]
    assert decisions(gated)["one"].policy == "each"
    result.stdout.fnmatch_lines(
        ["  note: one: decided by one conversation: the fixture gives a single object*"]
    )


def test_a_class_has_as_many_conversations_as_are_needed(gated: Suite) -> None:
    gated.conftest(
        """
        @pytest.fixture(params=["a", "b"])
        def convoprobe_target(request):
            return lambda message: request.param + message
        """,
        target="",
    )
    gated.scenario("one", outcomes=["failed"])
    gated.run().assert_outcomes(failed=2)
    assert {name: one.talks for name, one in decisions(gated).items()} == {"one[a]": 2, "one[b]": 2}


def test_what_is_made_for_each_test_allows_one_conversation(gated: Suite) -> None:
    """A second one would meet what the first one left in the database."""
    gated.conftest("""
        @pytest.fixture(autouse=True)
        def fresh_database():
            pass
        """)
    gated.scenario("one", outcomes=["failed"])
    result = gated.run()
    result.assert_outcomes(failed=1)
    assert gated.started() == ["one"]
    result.stdout.fnmatch_lines(
        [
            "gate (confirm): 1 conversation, and none more",
            "  note: one: decided by one conversation: what has function scope is made once (fresh_database)",
        ]
    )


def test_trials_of_the_ini_file_that_the_policy_does_not_use_are_named(gated: Suite) -> None:
    gated.write("pytest.ini", "[pytest]\nconvoprobe_trials = 4\n")
    gated.scenario("one")
    result = gated.run("--convoprobe-gate=confirm")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: convoprobe_trials = 4 is not used: the gate is confirm, which*"])
    result = gated.run()
    result.assert_outcomes(passed=4)
    assert "is not used" not in result.stdout.str()


def test_asking_for_trials_or_for_recordings_makes_each_an_item(gated: Suite) -> None:
    gated.scenario("one", outcomes=["failed", "passed"])
    gated.run("--convoprobe-trials=2").assert_outcomes(failed=1, passed=1)
    gated.run("--convoprobe-replay=only").assert_outcomes(failed=1)
    gated.run("--convoprobe-gate=confirm", "--convoprobe-replay=only").assert_outcomes(xfailed=1)


def test_what_the_judge_never_decides_is_its_error_and_not_a_decision(gated: Suite) -> None:
    gated.scenario("one", outcomes=["error"], blame="judge")
    gated.scenario("two")
    result = gated.run()
    result.assert_outcomes(errors=1, passed=1)
    assert gated.started().count("one") == 3
    assert set(decisions(gated)) == {"two"}
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of one: blame judge, not the agent*",
            "gate (confirm): undecided. 1 scenario, *, 1 not decided because of an error",
        ]
    )
    run = open_run(sorted(Path(gated.path, ".convoprobe", "runs").iterdir())[-1])
    stored = suite_of(run)
    assert stored is not None
    assert (stored.word, stored.broken) == (Word.UNDECIDED, 1)


def test_a_scenario_without_a_conversation_is_counted_beside_the_decisions(gated: Suite) -> None:
    gated.scenario("one")
    gated.scenario("two")
    gated.conftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def database(request):
            assert request.node.name != "two", "the database is down"
        """
    )
    result = gated.run()
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["gate (*): undecided. 1 scenario, *, 1 not decided because of an error"])


def test_scenarios_that_the_judge_never_decides_are_counted_once(gated: Suite) -> None:
    gated.scenario("one", outcomes=["skipped"], blame="judge")
    result = gated.run()
    result.assert_outcomes(skipped=1)
    assert gated.started().count("one") == 3
    result.stdout.fnmatch_lines(["the judge could not decide 1 scenario, and none passed: the run fails, *"])
