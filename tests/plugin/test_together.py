"""Beside other plug-ins, each in a process of its own."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from .suite import Suite


@pytest.fixture
def mixed(suite: Suite) -> Suite:
    suite.scenario("good")
    suite.scenario("bad", outcome="failed", reason="it was rude")
    suite.scenario("away", outcome="error", reason="provider down")
    suite.scenario("later", skip="not yet")
    suite.write("test_plain.py", "def test_plain(): pass")
    return suite


COUNTS = {"passed": 2, "failed": 1, "errors": 1, "skipped": 1}


@pytest.mark.parametrize(
    ("plugins", "args"),
    [
        (("xdist.plugin",), ("-n2", "--dist=worksteal")),
        (("xdist.plugin",), ("-n2", "--dist=loadfile")),
        (("pytest_randomly", "pytest_cov"), ("--cov=.", "-p", "no:cacheprovider")),
        (
            ("pytest_timeout", "pytest_asyncio.plugin", "anyio.pytest_plugin"),
            ("--timeout=60", "-o", "asyncio_mode=auto"),
        ),
        (
            ("pytest_sugar", "pytest_metadata.plugin", "pytest_html.plugin"),
            ("--html=out.html", "--self-contained-html"),
        ),
        ((), ("-p", "no:cacheprovider", "-p", "no:capture", "-p", "no:terminal")),
    ],
    ids=lambda value: " ".join(value),
)
def test_outcomes_are_the_same(mixed: Suite, plugins: tuple[str, ...], args: tuple[str, ...]) -> None:
    result = mixed.run_process("--junitxml=out.xml", *args, plugins=plugins)
    _assert_same_outcomes(mixed, result)


def _assert_same_outcomes(mixed: Suite, result: pytest.RunResult) -> None:
    suite = ET.parse(mixed.path / "out.xml").getroot().find("testsuite")
    assert suite is not None
    found = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    assert found == {"tests": 5, "failures": 1, "errors": 1, "skipped": 1}
    assert result.ret == 1


def test_everything_at_once(mixed: Suite) -> None:
    result = mixed.run_with_all_plugins("-n2", "--timeout=60", "--cov=.", "--reruns=0", "--html=out.html")
    result.assert_outcomes(**COUNTS)


def test_xdist_shows_reasons_summary_and_properties(mixed: Suite) -> None:
    result = mixed.run_process("-n2", "--junitxml=out.xml", plugins=["xdist.plugin"])
    _assert_same_outcomes(mixed, result)
    result.assert_outcomes(**COUNTS)
    result.stdout.fnmatch_lines(["*run again: pytest scenarios/bad.yaml::bad*"])
    result.stdout.fnmatch_lines(["3 scenarios: 1 passed, 1 failed (agent), 1 error (infrastructure)"])
    result.stdout.fnmatch_lines_random(
        [
            "FAILED scenarios/bad.yaml::bad - agent: it was rude",
            "ERROR scenarios/away.yaml::away - infrastructure: provider down",
        ]
    )
    assert 'name="convoprobe_blame" value="agent"' in (mixed.path / "out.xml").read_text()


def test_xdist_talks_once_for_each_scenario_of_a_tag(suite: Suite) -> None:
    for number in range(12):
        suite.scenario(f"s{number}", sleep=0.02, tags=["smoke"])
    suite.scenario("another")
    result = suite.run_process("-n2", "-m", "smoke", "--strict-markers", plugins=["xdist.plugin"])
    result.assert_outcomes(passed=12)
    assert sorted(suite.started()) == sorted(f"s{number}" for number in range(12))


def test_xdist_reports_broken_settings_without_a_crash(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "jugde: {}\n")
    suite.scenario("one")
    result = suite.run_process("-n1", plugins=["xdist.plugin"])
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*convoprobe.yaml:1:1*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_rerun_talks_again_and_its_money_is_in_the_summary(suite: Suite) -> None:
    suite.scenario("flaky", outcome="failed", until_run=1)
    suite.scenario("other")
    suite.scenario("bad", outcome="failed")
    result = suite.run_process("--reruns=2", plugins=["pytest_rerunfailures"])
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["3 scenarios: 2 passed, 1 failed (agent)", "spent: $0.0120*in 6 calls*"])
    result.stdout.fnmatch_lines(["*1 failed, 2 passed, 3 rerun*"])
    assert suite.started().count("flaky") == 2
    assert suite.started().count("other") == 1


def test_reruns_under_xdist(suite: Suite) -> None:
    suite.scenario("flaky", outcome="failed", until_run=1)
    result = suite.run_process("-n1", "--reruns=2", plugins=["xdist.plugin", "pytest_rerunfailures"])
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["passed   flaky (attempt 2 of 2)", "spent: *in 2 calls*"])


def test_repeat_counts_as_trials(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("test_plain.py", "def test_plain(): pass")
    result = suite.run_process("--count=3", "-v", plugins=["pytest_repeat"])
    result.assert_outcomes(passed=6)
    assert suite.log.count("start scenarios/one.yaml::one 3") == 1


def test_repeat_counts_as_trials_where_pytest_found_it_by_itself(suite: Suite) -> None:
    suite.scenario("one")
    suite.scenario("flaky", outcome="failed", until_run=1)
    suite.write("test_plain.py", "def test_plain(): pass")
    result = suite.run_with_all_plugins("--count=2", "--reruns=1", "--timeout=60", "--cov=.")
    result.assert_outcomes(passed=6)


@pytest.mark.parametrize("method", ["signal", "thread"])
def test_timeout_ends_a_scenario_that_hangs(suite: Suite, method: str) -> None:
    suite.scenario("hangs", sleep=600)
    result = suite.run_process("--timeout=1", f"--timeout-method={method}", plugins=["pytest_timeout"])
    assert result.ret != 0
    assert "Timeout" in result.stdout.str() + result.stderr.str()


def test_a_timeout_cancels_its_own_conversation_only(suite: Suite) -> None:
    suite.scenario("a", sleep=600)
    suite.scenario("b")
    # Long enough for a slow machine to begin the first and to hold the second.
    result = suite.run_process("--timeout=5", plugins=["pytest_timeout"])
    result.assert_outcomes(errors=1, passed=1)
    assert "cancelled scenarios/a.yaml::a" in suite.log


def test_an_async_fixture_as_target(suite: Suite) -> None:
    suite.conftest(
        "",
        target="""
import pytest_asyncio

@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def convoprobe_target():
    async def agent(message):
        return "async"
    yield agent
""",
    )
    suite.scenario("one")
    suite.scenario("two")
    strict = ("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")
    suite.run_process(*strict, plugins=["pytest_asyncio.plugin"]).assert_outcomes(passed=2)
