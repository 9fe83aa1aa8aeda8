"""Conversations on the terminal while they run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.chat_server import ChatServer

from .suite import Suite

AGENT = """
import pathlib, time, pytest
from pytest_convoprobe import Reply, ToolCall

@pytest.fixture(scope="session")
def convoprobe_target():
    def agent(message):
        while message == "wait" and not pathlib.Path("seen").exists():
            time.sleep(0.02)
        calls = (ToolCall("find_order", {"id": message}, "sk-not-a-real-key-123"),)
        return Reply("You said " + message + chr(27) + "[31m to jane@example.org", calls)
    return agent
"""
SCENARIO = """
name: {name}
description: d
synthetic_user: {{persona: p, initial_query: hello, max_turns: 2, script: [{second}]}}
evaluation:
  correctness_criteria: [{{text: It says fine, about: any, shows: presence, opposite: It never does}}]
"""


@pytest.fixture
def project(suite: Suite) -> Iterator[Suite]:
    suite.write("conftest.py", AGENT)
    with ChatServer() as server:
        model = f"model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123"
        suite.write("convoprobe.yaml", f"llm: {{{model}}}\nresults: {{mask: [email]}}\n")
        yield suite


def scenario(suite: Suite, name: str, second: str = "bye") -> None:
    suite.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name, second=second))


def streamed(text: str) -> list[str]:
    """The lines of conversations before the reports of pytest."""
    before = text.partition("= ERRORS")[0].splitlines()
    return [line.rstrip() for line in before if line.startswith(("── ", "    ", "     "))]


def test_each_message_is_shown_before_the_next_is_answered(project: Suite) -> None:
    scenario(project, "slow", "wait")
    command = [sys.executable, "-m", "pytest", "-p", "no:sugar", "--convoprobe-stream", "scenarios"]
    seen: list[str] = []
    with subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(line.rstrip())
            if line.strip() == "user  │ wait":
                # The agent answers only then: nothing of this could be seen if it were shown at the end.
                (project.path / "seen").touch()
    assert process.returncode == 0
    first, second = (seen.index(f"── scenarios/slow.yaml::slow · turn {turn}") for turn in (1, 2))
    assert [line.strip() for line in seen[first + 1 : second]] == [
        "user  │ hello",
        'tool  │ find_order({"id": "hello"})',
        "│ → ****",
        "agent │ You said hello\\x1b[31m to [email 1]",
    ]
    assert seen[second + 4] == "    agent │ You said wait\\x1b[31m to [email 1]"


def test_one_after_the_other_or_with_headings(project: Suite) -> None:
    for name in "ab":
        scenario(project, name)
    lines = streamed(project.run_process("--convoprobe-stream", "--convoprobe-concurrency=1").stdout.str())
    headings = [line.removeprefix("── scenarios/") for line in lines if line.startswith("── ")]
    assert headings == [
        *("a.yaml::a · turn 1", "a.yaml::a · turn 2"),
        *("b.yaml::b · turn 1", "b.yaml::b · turn 2"),
    ]
    lines = streamed(project.run_process("--convoprobe-stream", "--convoprobe-trials=2").stdout.str())
    assert sum(line.startswith("    user  │ ") for line in lines) == 8
    assert any("::a · trial 2 · turn 1" in line for line in lines)


@pytest.mark.parametrize(("option", "shown"), [("-s", True), ("-v", False), ("--capture=sys", False)])
def test_it_is_shown_where_nothing_is_captured(project: Suite, option: str, shown: bool) -> None:
    scenario(project, "a")
    result = project.run_process(option)
    result.assert_outcomes(passed=1)
    assert bool(streamed(result.stdout.str())) is shown


def test_workers_have_no_terminal(project: Suite) -> None:
    scenario(project, "a")
    result = project.run_process("--convoprobe-stream", "-n2", plugins=["xdist.plugin"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stdout.str() + result.stderr.str()
    assert "those of workers (-n) run in others" in said
    project.run_process("-s", "-n2", plugins=["xdist.plugin"]).assert_outcomes(passed=1)


WAITING = "def test(convoprobe):\n    convoprobe.run('scenarios/_a.yaml').assert_passed()\n"
AWAITING = "async def test(convoprobe):\n    await convoprobe.run_async('scenarios/_a.yaml')\n"


@pytest.mark.parametrize("test", [WAITING, AWAITING])
def test_scenarios_in_python_are_shown_too(project: Suite, test: str) -> None:
    scenario(project, "_a")
    project.write("test_inline.py", test)
    words = ("--convoprobe-stream", "test_inline.py", "-o", "asyncio_mode=auto")
    result = project.run_process(*words, plugins=["asyncio"])
    result.assert_outcomes(passed=1)
    assert sum("user  │ " in line for line in result.stdout.lines) == 2


def test_the_report_of_a_terminal_that_knows_no_such_letters(project: Suite) -> None:
    scenario(project, "a")
    shown = project.run_on_terminal("ascii", "--convoprobe-stream")
    assert "-- scenarios/a.yaml::a - turn 1" in shown
    assert "    user  | hello" in shown
