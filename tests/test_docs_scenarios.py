"""Each scenario of docs/examples/scenarios passes with the agent there, and is red for a careless one.

A new example is a file there, an entry in `RED`, and if need be a class in `tests/support/careless_shops.py`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.support.chat_server import ChatServer
from tests.support.warm_process import run

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/examples/scenarios"
CARELESS = ROOT / "tests/support/careless_shops.py"


class Red(NamedTuple):
    """What is wrong with the agent `careless`, in words of the report, whose lines are broken anywhere."""

    careless: str
    lines: tuple[str, ...]


RED = {
    "replies.yaml": Red(
        "AsksForThePassword",
        (
            '*the reply in turn 1 contains "coffee maker" and "Monday"*no "coffee maker" and no "Monday"*',
            '*turn 2 is JSON with*found status is "lost" and price is "89.90", which is not a number*',
            "*the last reply matches /^you're welcome/ (ignoring case): *a reply like that; found*Vielen*",
            '*every reply doesn\'t contain*found 2 of 3 like that; turn 1: "password" in "It is on its way.*',
            "*✗ each reply in turns 1 and 3 is in English*found 1 of 2 like that; turn 3: German*",
            "*every reply has at most 300 characters: *turn 1: 440 characters*",
        ),
    ),
    "tool_arguments.yaml": Red(
        "RefundsHalf", ("*pay_refund: arguments*", "*amount is 44.95*", '*address.city is "Bergen"*')
    ),
    "turn_bound.yaml": Red(
        "CancelsAtOnce", ("*cancel_order: not before turn 2*", "*the first in turn 1: cancel_order*")
    ),
    "latency.yaml": Red(
        "TakesItsTime", ("*latency of each turn: expected at most 2 s; found 2.*in turn 1*",)
    ),
    "history.yaml": Red(
        "ForgetsWhatWasSaid", ("*cancel_order: number of calls*", "*Before the conversation (no evidence)*")
    ),
    "agent_first.yaml": Red(
        "LooksUpWhileItGreets",
        ("*find_order: not before turn 1*", "*the first in turn 0: find_order*", "*in turn 0 contains*"),
    ),
    "call_list.yaml": Red(
        "LooksAfterwards", ("*expected calls (strict)*another order*", "*cancel_order in turn 1 comes*")
    ),
    "own_checks.yaml": Red(
        "OnlySaysSo", ("*checks.py:order_is_cancelled*", "*cancelled: []*", "*checks.py:warehouse_knows*")
    ),
    "code_alone.yaml": Red(
        "ForgetsTheOrder", ("*Criteria: no judge was asked*", "*cancel_order: arguments*A-1002*")
    ),
    "parameters.yaml": Red(
        "ForgetsTheOrder", ("*find_order: arguments*A-1002*", "*Where an order is?A-1001-shipped-Monday?*")
    ),
    "customer_data.yaml": Red(
        "KnowsOnlyItsOwnOrders", ('*contains "desk lamp" and "Friday"*no "desk lamp" and no "Friday"*',)
    ),
    "other_files.yaml": Red("CancelsAtOnce", ("*prohibited tool cancel_order*",)),
}
"""By the name of the file."""


class Project:
    """The folder of the examples, with a judge on loopback who finds every criterion met."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder = folder
        self._server = server
        shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        shutil.copy(CARELESS, folder / "careless.py")

    def run(self, file: str, agent: str = "") -> pytest.RunResult:
        """Run a file with pytest, with the agent of the examples or a careless one."""
        settings = yaml.safe_load((FOLDER / "convoprobe.yaml").read_text(encoding="utf-8"))
        settings["llm"] |= {"api_base": self._server.base_url, "api_key": "sk-not-a-real-key-123"}
        if agent:
            settings["target"]["object"] = f"careless.py:{agent}"
        (self.folder / "convoprobe.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        root = f"--rootdir={self.folder}"
        done = run("pytest", "-c", "/dev/null", root, "--convoprobe-replay=off", file, cwd=self.folder)
        sys.stdout.write(done.stdout + done.stderr)
        return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)


@pytest.fixture
def project(tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Project(tmp_path / "scenarios", chat_server)


def test_each_scenario_has_a_careless_agent() -> None:
    scenarios = {path.name for path in FOLDER.glob("*.yaml")} - {"convoprobe.yaml"}
    assert set(RED) == {name for name in scenarios if not name.startswith("_")}


@pytest.mark.parametrize("file", RED)
def test_the_agent_of_the_examples_passes(project: Project, file: str) -> None:
    result = project.run(file)
    assert result.ret == 0
    assert "passed" in result.outlines[-1]
    assert not {"failed", "errors", "skipped"} & set(result.parseoutcomes())


@pytest.mark.parametrize("file", RED)
def test_a_careless_agent_fails_for_the_right_reason(project: Project, file: str) -> None:
    red = RED[file]
    result = project.run(file, red.careless)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "failed" in result.parseoutcomes()
    assert "errors" not in result.parseoutcomes()
    output = " ".join(" ".join(result.outlines).split())
    assert [line for line in red.lines if not fnmatchcase(output, f"*{line}*")] == []


def test_the_targets_of_the_examples_make_a_table(project: Project) -> None:
    words = ("pytest", "-c", "/dev/null", f"--rootdir={project.folder}", "several_targets")
    done = run(*words, cwd=project.folder)
    result = pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)
    assert result.parseoutcomes() == {"passed": 3, "failed": 1}
    result.stdout.fnmatch_lines_random(
        ["  target:   plain   polite", "  Delivery  passed  passed", "  Manners   0 of 2  passed"]
    )
    chosen = run(*words, "--convoprobe-target=polite", cwd=project.folder)
    assert "2 passed, 2 deselected" in chosen.stdout
