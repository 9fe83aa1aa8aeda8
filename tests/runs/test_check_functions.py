"""Functions of the project that a scenario names as checks: `evaluation.checks`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe import Outcome, Reply, ToolCall, run_scenario
from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import ScenarioResult
from tests.support.warm_process import run

SCENARIO: dict[str, Any] = {
    "name": "Order",
    "description": "An order is cancelled.",
    "synthetic_user": {"persona": "A customer", "initial_query": "Cancel it", "max_turns": 1},
}


class Shop:
    """An agent with a state."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []
        self.closed = False

    def send(self, message: str) -> Reply:
        self.cancelled.append(message)
        return Reply("Done", tool_calls=(ToolCall("cancel", {"order": "7"}),))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(folder: Path, source: str, *names: str, target: object = Shop, **more: Any) -> ScenarioResult:
    """A conversation with a scenario whose only checks are these of a file."""
    file = folder / f"checks_{abs(hash((source, str(folder))))}.py"
    file.write_text(source)
    evaluation = {
        "checks": [f"{file.name}:{name}" for name in names or ("check",)],
        **more.pop("evaluation", {}),
    }
    settings = {"run.turn_timeout": 2, **more.pop("settings", {})}
    given = {**SCENARIO, "evaluation": evaluation, **more.pop("scenario", {})}
    return run_scenario(given, target=target, rootdir=folder, settings=settings, **more)


def found(result: ScenarioResult) -> list[tuple[bool, str, str]]:
    return [(check.holds, check.expected, check.found) for check in result.checks]


@pytest.mark.parametrize(
    ("body", "holds", "words"),
    [
        ("return True", True, "the function returned True"),
        ("return False", False, "the function returned False"),
        ("assert transcript.turns", True, "no assertion failed"),
        ("assert not transcript.turns, 'it spoke'", False, "it spoke (checks_"),
        (
            "assert transcript.turns[0].user == 'Hi'",
            False,
            "assert transcript.turns[0].user == 'Hi' (checks_",
        ),
        ("raise AssertionError('no')", False, "no (checks_"),
        ("import pytest; pytest.fail('so it is')", False, "so it is (checks_"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_a_function_finds(folder: Path, kind: str, body: str, holds: bool, words: str) -> None:
    result = checked(folder, f'{kind} check(transcript):\n    """It is cancelled."""\n    {body}\n')
    assert result.outcome is (Outcome.PASSED if holds else Outcome.FAILED), result.reason
    ((held, expected, said),) = found(result)
    assert (held, expected) == (holds, "It is cancelled.")
    assert said.startswith(words)
    assert result.checks[0].name.startswith("check checks_")
    assert result.blame is (None if holds else Blame.AGENT)


def test_results_of_its_own_keep_their_names(folder: Path) -> None:
    source = """
from pytest_convoprobe.judging.types import CheckResult as Found
def check(scenario, transcript):
    yield Found("first", True, scenario.name, "so")
    yield Found("second", False, "b", "c", 1)
"""
    result = checked(folder, source)
    assert result.outcome is Outcome.FAILED
    assert found(result) == [(True, "Order", "so"), (False, "b", "c")]
    assert [check.name.partition(":check: ")[2] for check in result.checks] == ["first", "second"]
    assert result.checks[1].turn == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def check(transcript): transcript.turns[0].user == 'x'", "it returned nothing and has no `assert`"),
        ("def check(): return []", "it found nothing to check"),
        ("def check(): return 'all is well'", "it returned"),
        ("def check(): return 1", "it returned"),
        ("def check(): return [True]", "a check has to be a CheckResult, not bool"),
        ("def check(): raise KeyError('gizmo')", "raised KeyError: 'gizmo'"),
        ("async def check(): raise KeyError('gizmo')", "raised KeyError: 'gizmo'"),
        ("def check(conversation): pass", "asks for `conversation`; a check gets what its parameters name"),
        ("def check(transcript, /): return True", "has parameters without names"),
        ("def check(**given): return all(given.values())", "names none of its parameters (`**given`)"),
        ("def check(*given): return all(given)", "names none of its parameters (`*given`)"),
        ("import pytest\n@pytest.fixture\ndef check(): return True", "is a fixture, and a check is a plain"),
        ("import pytest\ndef check(): pytest.skip('later')", "raised Skipped: later"),
        ("import unittest\ndef check(): raise unittest.SkipTest('later')", "raised SkipTest: later"),
        ("import sys\ndef check(): sys.exit(0)", "raised SystemExit: 0"),
        ("import sys\nasync def check(): sys.exit(0)", "raised SystemExit: 0"),
        ("async def check():\n    assert True\n    yield True", "it returned <async_generator"),
        ("check = 3", "is not a function"),
        ("def chek(): return True", "did you mean `chek`?"),
        ("import no_such_module_here", "No module named 'no_such_module_here'"),
        ("def check(state): return True", "asks for `state`, and nothing gives one"),
        ("def check():\n    while True: pass", "took longer than 2 s"),
        ("async def check():\n    import asyncio; await asyncio.sleep(60)", "took longer than 2 s"),
    ],
)
def test_what_is_no_answer_is_an_error_of_the_scenario(folder: Path, source: str, words: str) -> None:
    result = checked(folder, source)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO), result.reason
    assert words in result.reason


def test_what_it_changes_is_neither_evidence_nor_another_checks(folder: Path) -> None:
    source = """
def first(transcript, scenario):
    ((_, call),) = transcript.tool_calls
    scenario.metadata["customers"].append("C-2")
    return call.arguments.pop("order") == "7"

def second(transcript, scenario):
    ((_, call),) = transcript.tool_calls
    assert (call.arguments, scenario.metadata) == ({"order": "7"}, {"customers": ["C-1"]})
"""
    facts = {"tool": "cancel", "assertions": [{"args": {"order": "7"}}]}
    evaluation = {"tool_usage": {"tool_call_criteria": [facts]}}
    metadata = {"customers": ["C-1"]}
    result = checked(
        folder, source, "first", "second", evaluation=evaluation, scenario={"metadata": metadata}
    )
    assert result.outcome is Outcome.PASSED, result.reason
    assert result.transcript.tool_calls[0][1].arguments == {"order": "7"}
    assert metadata == {"customers": ["C-1"]}


def test_a_crash_has_its_trace_and_no_secret(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "hunter2-hunter2-hunter2")
    result = checked(folder, "import os\ndef check():\n    raise KeyError(os.environ['SHOP_API_KEY'])\n")
    assert "in check" in result.trace
    assert "hunter2" not in result.reason + result.trace


def test_what_is_misspelt_costs_no_conversation(folder: Path) -> None:
    result = checked(folder, "def chek(): return True")
    assert result.transcript.turns == ()


def test_a_finding_against_the_agent_comes_before_an_error(folder: Path) -> None:
    source = "def crash(): raise KeyError('gizmo')\ndef check(): return False\n"
    result = checked(folder, source, "crash", "check")
    assert result.outcome is Outcome.FAILED
    by_code = checked(folder, source, "crash", evaluation={"tool_usage": {"required_tools": ["refund"]}})
    assert by_code.outcome is Outcome.FAILED


# The agent


def test_it_sees_the_object_that_talked_before_it_is_closed(folder: Path) -> None:
    source = """
def check(agent):
    assert agent.cancelled == ["Cancel it"]
    assert not agent.closed
"""
    for target in (Shop, Shop(), lambda: Shop()):
        assert checked(folder, source, target=target).outcome is Outcome.PASSED


def test_a_function_is_what_talked(folder: Path) -> None:
    def answer(message: str) -> str:
        answer.heard = message  # type: ignore[attr-defined]
        return "Done"

    result = checked(folder, "def check(agent): return agent.heard == 'Cancel it'", target=answer)
    assert result.outcome is Outcome.PASSED, result.reason


class Database:
    """An agent whose connection works in its own thread only."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")
        self.connection.execute("create table orders (state text)")

    def send(self, message: str) -> str:
        self.connection.execute("insert into orders values ('cancelled')")
        return "Done"


def test_it_runs_where_the_agent_runs(folder: Path) -> None:
    source = (
        "def check(agent): return list(agent.connection.execute('select * from orders')) == [('cancelled',)]"
    )
    assert checked(folder, source, target=Database).outcome is Outcome.PASSED


class Loop:
    """An asynchronous agent that keeps to its event loop."""

    async def send(self, message: str) -> str:
        import asyncio

        self.loop = asyncio.get_running_loop()
        return "Done"


def test_an_asynchronous_check_runs_on_the_agents_loop(folder: Path) -> None:
    source = "import asyncio\nasync def check(agent): return agent.loop is asyncio.get_running_loop()\n"
    assert checked(folder, source, target=Loop).outcome is Outcome.PASSED


class Port:
    """A target as the port has it."""

    name = "port"

    async def start(self, context: Any) -> Port:
        return self

    async def send(self, message: str) -> Reply:
        self.heard = message
        return Reply("Done")

    async def aclose(self) -> None: ...


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_target_of_the_projects_own_shows_its_conversation(folder: Path, kind: str) -> None:
    result = checked(folder, f"{kind} check(agent): return agent.heard == 'Cancel it'", target=Port())
    assert result.outcome is Outcome.PASSED, result.reason


def test_an_agent_elsewhere_is_no_object(folder: Path, chat_server: Any) -> None:
    model = {"target.type": "model", "target.model": "openai/fake", "target.api_base": chat_server.base_url}
    settings = {**model, "target.api_key": "k" * 20}
    result = checked(folder, "def check(agent): return True", target=None, settings=settings)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert "the target isn't an object in this process" in result.reason
    assert chat_server.requests == []
    for kind in ("def", "async def"):
        fine = checked(folder, f"{kind} check(transcript): return True", target=None, settings=settings)
        assert fine.outcome is Outcome.PASSED, fine.reason


def test_a_state_is_given(folder: Path) -> None:
    state = {"orders": ["cancelled"]}
    result = checked(folder, "def check(state): return state['orders'] == ['cancelled']", state=state)
    assert result.outcome is Outcome.PASSED


# Stored conversations


def stored(folder: Path, checks: list[str]) -> None:
    (folder / "agent.py").write_text("class Agent:\n    def send(self, message):\n        return 'Done'\n")
    (folder / "convoprobe.yaml").write_text("target: {type: python, object: 'agent.py:Agent'}\n")
    evaluation = {"checks": [f"checks.py:{name}" for name in checks]}
    (folder / "a.scenario.yaml").write_text(yaml.safe_dump({**SCENARIO, "evaluation": evaluation}))


def test_a_conversation_that_is_over_is_checked_again(folder: Path) -> None:
    file = folder / "checks.py"
    file.write_text("def said(transcript): return True\ndef state(agent): return True\n")
    stored(folder, ["said", "state"])
    done = run("pytest", "-c", "/dev/null", "--rootdir=.", cwd=folder)
    assert "1 passed" in done.stdout, done.stdout
    # The one that looks at the agent keeps what it found; the other is called again.
    file.write_text("def said(transcript): return False\ndef state(agent): return False\n")
    again = run("pytest_convoprobe.cli", "rejudge", "latest", cwd=folder)
    assert "passed → failed" in again.stdout, again.stdout + again.stderr
    assert "check checks.py:said\n      holds → doesn't hold: the function returned False" in again.stdout
    assert "checks.py:state" not in again.stdout
    stored(folder, ["said", "state", "other"])
    file.write_text("def said(transcript): return True\ndef state(agent): ...\ndef other(agent): ...\n")
    more = run("pytest_convoprobe.cli", "rejudge", "latest", cwd=folder)
    assert "`checks.py:other` looks at the agent or its state, which is gone" in more.stdout


# Names that are wrong


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("checks.py:cancelld", "there is no `cancelld` in checks.py; did you mean `cancelled`?"),
        ("cheks.py:cancelled", "there is no file"),
        ("checks:cancelld", "did you mean `cancelled`?"),
    ],
)
def test_a_misspelt_name_is_found_before_anything_runs(folder: Path, name: str, words: str) -> None:
    stored(folder, ["cancelled"])
    (folder / "checks.py").write_text("raise SystemExit\ndef cancelled(transcript): return True\n")
    file = folder / "a.scenario.yaml"
    file.write_text(file.read_text().replace("checks.py:cancelled", name))
    for command in (
        ("pytest", "-c", "/dev/null", "--rootdir=."),
        ("pytest_convoprobe.cli", "validate", "a.scenario.yaml"),
    ):
        done = run(*command, cwd=folder)
        assert done.returncode not in (0, 3)
        assert words in done.stdout + done.stderr
        assert "a.scenario.yaml:1: evaluation.checks[0]" in done.stdout + done.stderr


def test_names_that_only_an_import_shows_are_left_alone(folder: Path) -> None:
    stored(folder, ["made"])
    (folder / "checks.py").write_text("globals()['made'] = lambda: True\ndef __getattr__(name): ...\n")
    assert "all good" in run("pytest_convoprobe.cli", "validate", ".", cwd=folder).stdout
