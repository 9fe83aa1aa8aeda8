"""What a run of pytest leaves in the results folder, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.store import IndexRow, RunState, StoredRun, list_runs
from tests.support import warm_process

from .suite import Suite


def the_run(suite: Suite) -> StoredRun:
    """The only stored run."""
    (found,) = list_runs(suite.path / ".convoprobe")
    return found.open()


def by_name(run: StoredRun) -> dict[str, IndexRow]:
    return {row.name: row for row in run.rows()}


@pytest.fixture
def mixed(suite: Suite) -> Suite:
    suite.scenario("first")
    suite.scenario("good")
    suite.scenario("bad", outcome="failed", reason="it was rude")
    suite.scenario("away", outcome="error", reason="provider down")
    suite.scenario("later", skip="not yet")
    return suite


COUNTS = {"passed": 2, "failed": 1, "error": 1, "skipped": 1}


@pytest.mark.parametrize("workers", [0, 2])
def test_every_scenario_is_stored(mixed: Suite, workers: int) -> None:
    more = [f"-n{workers}"] if workers else []
    mixed.run_process(*more, plugins=["xdist.plugin"] if workers else [])
    run = the_run(mixed)
    rows = by_name(run)
    assert run.info.counts == COUNTS == run.counts
    assert (run.info.state, run.info.exit_status, run.notes) == (RunState.FINISHED, 1, ())
    assert (rows["bad"].reason, rows["later"].reason) == ("it was rude", "not yet")
    assert run.trial(rows["good"]).result.transcript.turns[0].reply.text == "echo hello"
    assert rows["good"].prints == rows["bad"].prints != NO_PRINTS
    assert mixed.path.joinpath(".convoprobe/.gitignore").read_text().endswith("\n*\n")


def test_workers_of_xdist_write_files_of_their_own(mixed: Suite) -> None:
    mixed.run_process("-n2", "--dist=each", plugins=["xdist.plugin"])
    run = the_run(mixed)
    written = sorted(path.name for path in run.path.glob("*"))
    assert written == [
        "index-gw0.jsonl",
        "index-gw1.jsonl",
        "index-main.jsonl",
        "run.json",
        "trials-gw0.jsonl",
        "trials-gw1.jsonl",
        "trials-main.jsonl",
    ]
    assert {row.worker for row in run.rows() if row.outcome is Outcome.SKIPPED} == {"main"}


def test_files_are_named_from_the_rootdir(mixed: Suite) -> None:
    mixed.run("scenarios/good.yaml")
    (row,) = the_run(mixed).rows()
    assert (row.file, row.scenario_id) == ("scenarios/good.yaml", "scenarios/good.yaml::good")


def test_the_description_says_how_it_was_run(mixed: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "CI")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/17/merge")
    mixed.write(
        "convoprobe.yaml", "llm: {model: openai/x, api_key: sk-this-is-the-key-1}\nrun: {concurrency: 3}"
    )
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-qb", "topic"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], cwd=mixed.path, check=True)
    mixed.run("-k", "good", "--convoprobe-judge-model=openai/y")
    run = the_run(mixed)
    info, text = run.info, (run.path / "run.json").read_text()
    assert info.command[-3:] == ("-k", "good", "--convoprobe-judge-model=openai/y")
    assert info.versions["pytest"] == pytest.__version__
    assert {"python", "litellm", "pytest-convoprobe"} <= info.versions.keys()
    assert info.settings["run"]["concurrency"] == 3
    assert info.models == {"synthetic_user": "openai/x", "judge": "openai/y"}
    assert (info.git and (info.git.branch, info.git.dirty)) == ("topic", False)
    assert info.ci
    assert (info.ci.provider, info.ci.pull_request) == ("GitHub Actions", "17")
    assert "sk-this" not in text
    assert info.settings["judge"]["api_key"] == "****"
    assert 0 < info.started <= (info.ended or 0)


def test_no_results_stores_nothing(mixed: Suite) -> None:
    mixed.run("--convoprobe-no-results").assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    assert not (mixed.path / ".convoprobe").exists()


@pytest.mark.parametrize(
    "args",
    [["--collect-only"], ["-k", "later"], ["-k", "nothing"], ["--setup-only"], ["--setup-plan"]],
    ids=str,
)
def test_nothing_is_stored_where_no_scenario_ran(mixed: Suite, args: list[str]) -> None:
    mixed.run(*args)
    assert not (mixed.path / ".convoprobe").exists()


def test_a_suite_without_scenarios_stores_nothing(suite: Suite) -> None:
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.run_process("-n1", plugins=["xdist.plugin"]).assert_outcomes(passed=1)
    assert not (suite.path / ".convoprobe").exists()


def test_the_folder_of_the_settings_is_used(mixed: Suite) -> None:
    mixed.write("convoprobe.yaml", "results: {dir: build/talks}")
    mixed.run("-k", "good")
    assert len(list_runs(mixed.path / "build/talks")) == 1
    assert not (mixed.path / ".convoprobe").exists()


def test_a_scenario_that_met_no_target_is_stored_as_an_error(suite: Suite) -> None:
    suite.conftest(
        "",
        target="""
@pytest.fixture(scope="session")
def convoprobe_target():
    raise RuntimeError("no database, my password=hunter2xyz")
""",
    )
    suite.scenario("one")
    suite.run().assert_outcomes(errors=1)
    run = the_run(suite)
    (row,) = run.rows()
    assert (row.outcome, row.blame) == (Outcome.ERROR, "infrastructure")
    assert row.reason == "RuntimeError: no database, my password=****"
    assert run.info.counts == {"error": 1}


def test_scenarios_within_tests_are_stored(suite: Suite) -> None:
    suite.scenario("all", file="talks.yaml")
    suite.write(
        "test_it.py",
        """
        def test_two(convoprobe):
            convoprobe.run("talks.yaml")
            convoprobe.run("talks.yaml")
        """,
    )
    suite.run("test_it.py").assert_outcomes(passed=1)
    ids = [row.scenario_id for row in the_run(suite).rows()]
    assert ids == ["test_it.py::test_two::all", "test_it.py::test_two::all[2]"]


def test_each_trial_is_stored(suite: Suite) -> None:
    suite.scenario("one")
    suite.run("--convoprobe-trials=3")
    assert sorted(row.trial for row in the_run(suite).rows()) == [1, 2, 3]


def test_a_rerun_is_stored_beside_what_it_replaces(suite: Suite) -> None:
    suite.scenario("one", outcome="failed", until_run=2)
    suite.run_process("--reruns=3", plugins=["pytest_rerunfailures"]).assert_outcomes(passed=1)
    run = the_run(suite)
    assert [row.outcome.value for row in run.rows()] == ["failed", "failed", "passed"]
    assert run.info.counts == {"passed": 1}
    assert run.info.state is RunState.FINISHED


def test_what_ran_ahead_is_stored_before_its_turn(suite: Suite) -> None:
    """Both talk at once; the second is over long before pytest comes to it."""
    suite.scenario("first", sleep=120, file="scenarios/all.yaml")
    suite.scenario("second", file="scenarios/all.yaml")
    with running(suite) as process:
        wait_for(lambda: "second" in stored_names(suite), process)
        assert stored_names(suite) == {"second"}
        assert the_run(suite).info.state is RunState.RUNNING


def test_stopping_at_the_first_failure_is_told_from_an_interruption(mixed: Suite) -> None:
    mixed.run("-x", "-p", "no:randomly")
    assert the_run(mixed).info.state is RunState.STOPPED


def test_stopping_under_xdist_is_told_too(mixed: Suite) -> None:
    mixed.run_process("-x", "-n2", plugins=["xdist.plugin"])
    assert the_run(mixed).info.state is RunState.STOPPED


@pytest.mark.parametrize(
    ("workers", "number"),
    [
        ([], signal.SIGINT),
        (["-p", "xdist.plugin", "-n2"], signal.SIGINT),
        (["-p", "xdist.plugin", "-n2"], signal.SIGTERM),
    ],
    ids=["alone", "xdist", "xdist-sigterm"],
)
def test_ctrl_c_keeps_what_had_ended(suite: Suite, workers: list[str], number: int) -> None:
    suite.scenario("quick", file="scenarios/all.yaml")
    suite.scenario("slow", file="scenarios/all.yaml", sleep=120)
    with running(suite, *workers) as process:
        wait_for(lambda: "quick" in stored_names(suite) and described(suite), process)
        process.send_signal(number)
        assert process.wait(60) == 2
    run = the_run(suite)
    assert (run.info.state, run.info.counts) == (RunState.INTERRUPTED, {"passed": 1})


def test_kill_9_under_xdist_loses_no_trial_that_had_ended(suite: Suite) -> None:
    """All processes are killed at once while every worker is in the middle of a conversation."""
    # The hook comes once a trial is stored. The log is written at once, with no buffer that a kill empties.
    suite.conftest("""
        def pytest_convoprobe_result(item, result):
            log(f"stored {item.name}")
        """)
    for number in range(40):  # of which the second half never ends, however long we are kept from looking
        suite.scenario(f"s{number}", file="scenarios/all.yaml", sleep=0.05 if number < 20 else 120)
    with running(suite, "-p", "xdist.plugin", "-n2", executable=sys.executable) as process:
        wait_for(lambda: len(told(suite)) >= 9 and described(suite), process)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    run = the_run(suite)
    records = [record.result for record in run.trials()]
    assert told(suite) <= {record.name for record in records}
    assert 9 <= len(records) < 40
    assert all(record.transcript.turns for record in records)
    assert (run.info.state, run.info.ended) == (RunState.BROKEN_OFF, None)


def test_workers_whose_controller_is_killed_stop_and_store_nothing_more(suite: Suite) -> None:
    """Each of the two is in a conversation that would end when the test says so."""
    for number in range(4):
        suite.scenario(f"s{number}", file="scenarios/all.yaml", until="go on")
    with running(suite, "-p", "xdist.plugin", "-n2", executable=sys.executable) as process:
        wait_for(lambda: len(suite.started()) >= 2, process)
        process.kill()
        process.wait()
        wait_for(lambda: sum(line.startswith("cancelled") for line in suite.log) >= 2, None)
        with open(suite.path / "talk.log", "a") as log:
            log.write("go on\n")
        wait_for(lambda: not group_alive(process.pid), None)
    assert not stored_names(suite)


def group_alive(group: int) -> bool:
    """Whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_that_crashes_takes_only_its_running_trial_with_it(suite: Suite) -> None:
    suite.conftest(
        "",
        target="""
import os

@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "echo"

def pytest_convoprobe_settings(item):
    if item.name == "s3":
        os._exit(1)
""",
    )
    for number in range(6):
        suite.scenario(f"s{number}", file="scenarios/all.yaml")
    # The first time, it is reported on the scenario whose turn it is.
    result = suite.run_process("-n1", "--max-worker-restart=2", plugins=["xdist.plugin"])
    blamed = re.findall(r"^FAILED scenarios/all.yaml::(s\d)", result.stdout.str(), re.MULTILINE)
    run = the_run(suite)
    assert {row.name for row in run.rows()} >= {"s1", "s2", "s4", "s5"}
    found = [row for row in run.rows() if row.outcome is Outcome.ERROR]
    assert blamed
    assert [row.name for row in found] == blamed
    assert {(row.blame, row.file) for row in found} == {(Blame.INFRASTRUCTURE, "scenarios/all.yaml")}
    assert re.fullmatch(r"worker 'gw\d' crashed while running 'scenarios/all.yaml::s\d'.*", found[0].reason)
    assert run.info.state is RunState.INTERRUPTED


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "xdist"])
def test_a_disk_that_takes_nothing_is_told_once_and_fails_nothing(suite: Suite, workers: list[str]) -> None:
    suite.write(".convoprobe", "a file where the folder should be")
    for name in ("one", "two"):
        suite.scenario(name)
    result = suite.run_process(*workers, plugins=["xdist.plugin"] if workers else [])
    result.assert_outcomes(passed=2)
    notes = [line for line in result.outlines if line.startswith("note: this run is not stored whole in ")]
    assert len(notes) == 1
    assert "/.convoprobe/runs/" in notes[0]


def test_a_defect_in_storing_is_told_and_fails_nothing(suite: Suite) -> None:
    suite.conftest("""
        from pytest_convoprobe.results import writer

        def broken(*args, **kwargs):
            raise TypeError("what is this?")

        @pytest.fixture(autouse=True, scope="session")
        def break_it():
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(writer, "to_record", broken)
                yield
        """)
    suite.scenario("one")
    result = suite.run_process()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: this run is not stored whole: TypeError: what is this?*"])


def test_the_run_is_described_before_others_write_their_summary(suite: Suite) -> None:
    suite.conftest("""
        from pytest_convoprobe.plugin.storing import recorder_of

        def pytest_terminal_summary(terminalreporter, config):
            store = recorder_of(config)
            terminalreporter.line(f"stored: {(store.folder / 'run.json').read_text()}")
        """)
    suite.scenario("one")
    suite.run("-s").stdout.fnmatch_lines(['*"state": "finished",*'])


@contextmanager
def running(suite: Suite, *args: str, executable: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A pytest in a session of its own."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [executable or warm_process.executable(), "-m", "pytest", "-p", "convoprobe", *args]
    with open(suite.path / "output.txt", "wb") as output:
        process = subprocess.Popen(
            command, cwd=suite.path, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(
    happened: Callable[[], bool], process: subprocess.Popen[Any] | None, seconds: float = 60
) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert process is None or process.poll() is None, "pytest ended before"
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def stored_names(suite: Suite) -> set[str]:
    return {row.name for run in list_runs(suite.path / ".convoprobe") for row in run.open().rows()}


def told(suite: Suite) -> set[str]:
    """The scenarios whose results the project's own hook has seen."""
    return {line.removeprefix("stored ") for line in suite.log if line.startswith("stored ")}


def described(suite: Suite) -> bool:
    return any(suite.path.glob(".convoprobe/runs/*/run.json"))


def test_settings_may_say_that_nothing_is_stored(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("mcprobe.yaml", "results: {save: false}\n")
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: this run is not stored: results.save is false (mcprobe.yaml:1*"])
    assert not (suite.path / ".convoprobe").exists()
    refused = suite.run("--convoprobe-baseline=latest")
    refused.stderr.fnmatch_lines(["ERROR: --convoprobe-baseline compares stored runs, and results.save is*"])
