"""When a stored run is called finished: all that was selected was reported, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_convoprobe.cli import main
from pytest_convoprobe.results.run_info import RunState, Selection
from pytest_convoprobe.results.store import StoredRun, list_runs

from .suite import Suite

BROKEN = """
def pytest_runtest_logreport(report):
    if "two" in report.nodeid:
        raise RuntimeError("a defect of another plug-in")
"""

CTRL_C = """
def pytest_runtest_setup(item):
    if item.name == "two":
        raise KeyboardInterrupt
"""

CTRL_C_TWICE = (
    CTRL_C
    + """
def pytest_keyboard_interrupt():
    raise KeyboardInterrupt
"""
)

EXIT = """
def pytest_runtest_setup(item):
    if item.name == "two":
        pytest.exit("enough", returncode=0)
"""


@pytest.fixture
def three(suite: Suite) -> Suite:
    for name in ("one", "two", "zoo"):
        suite.scenario(name, file="scenarios/all.yaml")
    return suite


def newest(suite: Suite) -> StoredRun:
    return list_runs(suite.path / ".convoprobe")[0].open()


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "xdist"])
def test_all_that_was_selected_was_reported(three: Suite, workers: list[str]) -> None:
    three.run_process("--convoprobe-trials=2", *workers, plugins=["xdist"] if workers else [])
    info = newest(three).info
    assert (info.state, info.selection) == (RunState.FINISHED, Selection(3, 3, 6, 3))


@pytest.mark.parametrize(
    "words",
    [
        ["-k", "one"],
        ["scenarios/all.yaml::one"],
        ["--deselect", "scenarios/all.yaml::two"],
        ["scenarios/b.yaml"],
    ],
    ids=" ".join,
)
def test_a_part_is_known_as_a_part(three: Suite, words: list[str]) -> None:
    three.scenario("more", file="scenarios/b.yaml")
    three.run(*words)
    info = newest(three).info
    assert info.state is RunState.FINISHED
    assert info.selection is not None
    assert info.selection.partial


def test_a_project_has_what_its_testpaths_have(three: Suite) -> None:
    three.write("pytest.ini", "[pytest]\ntestpaths = pack*/scenarios")
    three.scenario("inside", file="package/scenarios/a.yaml")
    three.run()
    assert newest(three).info.selection == Selection(1, 1, 1, 1)
    three.scenario("beside", file="package/scenarios/b.yaml")
    three.run("package/scenarios/a.yaml")
    assert newest(three).info.selection == Selection(1, 2, 1, 1)


def test_a_test_that_runs_scenarios_counts_like_one(three: Suite) -> None:
    three.write("test_it.py", "def test_a(convoprobe): pass\ndef test_b(convoprobe): pass\n")
    three.run("-k", "not test_b")
    assert newest(three).info.selection == Selection(4, 5, 3, 3)


@pytest.mark.parametrize(
    ("body", "state"), [("pass", "finished"), ("raise KeyboardInterrupt", "interrupted")]
)
def test_scenarios_in_tests_alone(suite: Suite, body: str, state: str) -> None:
    """The hooks come with the first use of the fixture, when other tests have run already."""
    suite.scenario("all", file="talks.yaml")
    suite.write(
        "test_it.py",
        f"""
        def test_plain(): pass
        def test_one(convoprobe): convoprobe.run("talks.yaml")
        def test_two(convoprobe): {body}
        def test_three(): pass
        """,
    )
    suite.run_process("test_it.py")
    info = newest(suite).info
    assert (info.state.value, info.selection) == (state, None)


def test_the_last_failure_stops_nothing(three: Suite) -> None:
    """With -x a run is stopped only if something was left to do."""
    three.scenario("last", file="scenarios/all.yaml", outcome="failed")
    three.run("-x")
    assert newest(three).info.state is RunState.FINISHED
    three.scenario("later", file="scenarios/all.yaml")
    three.run("-x")
    assert newest(three).info.state is RunState.STOPPED


@pytest.mark.parametrize(
    ("hooks", "status"),
    [(BROKEN, 3), (CTRL_C, 2), (CTRL_C_TWICE, None), (EXIT, 0)],
    ids=["internal error", "ctrl-c", "ctrl-c twice", "pytest.exit"],
)
def test_what_broke_in_the_middle_is_not_finished(three: Suite, hooks: str, status: int | None) -> None:
    three.run()
    base = newest(three)
    three.conftest(hooks)
    result = three.run_process("-p", "no:cacheprovider")
    assert status is None or result.ret == status
    run = newest(three)
    assert run.id != base.id
    assert run.info.state is RunState.INTERRUPTED
    found = CliRunner().invoke(main, ["compare", str(base.path), str(run.path)])
    assert found.exit_code == 1
    assert "removed" not in found.output
    assert "this run did not come to its end" in found.output


def test_a_file_that_could_not_be_collected_leaves_the_run_unfinished(three: Suite) -> None:
    three.run()
    three.scenario("more", file="scenarios/b.yaml")
    (three.path / "scenarios/all.yaml").write_text("evaluation: [")
    three.run("--continue-on-collection-errors")
    assert newest(three).info.state is RunState.INTERRUPTED


def test_an_agent_that_ends_the_process(three: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest's exit status is 0 and there is no report: only the stored run knows."""
    three.run()
    three.conftest(
        "",
        target="""
import os

@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: os._exit(0)
""",
    )
    result = three.run_process()
    assert result.ret == 0
    run = newest(three)
    assert json.loads((run.path / "run.json").read_text())["state"] == "running"
    assert run.info.state is RunState.BROKEN_OFF
    monkeypatch.chdir(three.path)
    checked = CliRunner().invoke(main, ["check", "latest"])
    assert checked.exit_code == 1
    assert "the run broke off: its process ended without a word" in checked.output
    compared = CliRunner().invoke(main, ["compare", "latest~1", "latest", "--fail-on", "none"])
    assert compared.exit_code == 1
    reported = CliRunner().invoke(main, ["report", "latest", "--md", "-o", "report.md"])
    assert reported.exit_code == 1
    assert "**The run did not finish: it was broken off.**" in Path("report.md").read_text(encoding="utf-8")
