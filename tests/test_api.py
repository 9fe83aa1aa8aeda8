"""`run_scenario`: scenarios without pytest."""

from __future__ import annotations

import asyncio
import sqlite3
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

import pytest_convoprobe
from pytest_convoprobe import Outcome, run_scenario
from pytest_convoprobe.errors import Blame, ScenarioFileError, SettingsError
from pytest_convoprobe.scenario.models import Scenario
from pytest_convoprobe.targets.fake import FakeTarget

from .support.chat_server import ChatServer
from .support.hanging_agents import HangingInEveryWay

SCENARIO: dict[str, Any] = {
    "name": "A talk",
    "description": "Somebody talks.",
    "synthetic_user": {"persona": "Somebody", "initial_query": "Hello", "script": ["And goodbye"]},
    "evaluation": {"correctness_criteria": ["The assistant answers"]},
}
TEXT = """\
name: First
description: One of two.
synthetic_user: {persona: Somebody, initial_query: Hello, max_turns: 1}
evaluation: {correctness_criteria: [The assistant answers]}
---
name: Second
description: The other.
skip: not yet
"""


def settings(server: ChatServer) -> dict[str, Any]:
    return {"llm.model": "openai/fake", "llm.api_base": server.base_url, "llm.api_key": "k" * 20}


def echo(message: str) -> str:
    return f"You said: {message}"


@pytest.mark.parametrize("given", [SCENARIO, Scenario.model_validate(SCENARIO)], ids=["mapping", "object"])
def test_a_scenario_may_be_a_mapping_or_an_object(
    given: Any, tmp_path: Path, chat_server: ChatServer
) -> None:
    result = run_scenario(given, target=echo, settings=settings(chat_server), rootdir=tmp_path)
    assert result.outcome is Outcome.PASSED, result.reason
    assert [turn.user for turn in result.transcript.turns] == ["Hello", "And goodbye"]


def test_a_notebook_may_run_one_in_the_middle_of_its_own_loop(
    tmp_path: Path, chat_server: ChatServer
) -> None:
    async def answer(message: str) -> str:
        await asyncio.sleep(0)
        return f"You said: {message}"

    async def cell() -> list[Outcome]:
        agents = (echo, answer)
        own = settings(chat_server)
        return [run_scenario(SCENARIO, target=one, settings=own, rootdir=tmp_path).outcome for one in agents]

    assert asyncio.run(cell()) == [Outcome.PASSED, Outcome.PASSED]


def test_one_of_several_in_a_file_is_named(tmp_path: Path, chat_server: ChatServer) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TEXT)
    result = run_scenario(f"{file}::First", target=echo, settings=settings(chat_server), rootdir=tmp_path)
    assert (result.name, result.outcome) == ("First", Outcome.PASSED)
    with pytest.raises(ValueError, match=r"has 2 scenarios: name one.* It has: 'First', 'Second'"):
        run_scenario(file, target=echo, rootdir=tmp_path)


def test_a_misspelt_setting_is_named_as_the_settings_of_the_call(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^settings=: run\.turn_timout: .*did you mean `turn_timeout`"):
        run_scenario(SCENARIO, target=echo, settings={"run.turn_timout": 3}, rootdir=tmp_path)


def test_a_skipped_scenario_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(TEXT)
    result = run_scenario(f"{file}::Second", rootdir=tmp_path)
    assert (result.outcome, result.reason) == (Outcome.SKIPPED, "not yet")


def test_a_broken_scenario_is_raised_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ScenarioFileError, match="did you mean `initial_query`"):
        run_scenario(TEXT.replace("initial_query", "initial_qery"), target=echo, rootdir=tmp_path)


def test_without_a_target_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="pass `target=`"):
        run_scenario(SCENARIO, rootdir=tmp_path)


def test_a_running_loop_calls_it_in_a_thread(tmp_path: Path, chat_server: ChatServer) -> None:
    async def main() -> Outcome:
        given = {"target": echo, "settings": settings(chat_server), "rootdir": tmp_path}
        return (await asyncio.to_thread(run_scenario, SCENARIO, **given)).outcome

    assert asyncio.run(main()) is Outcome.PASSED


def test_a_target_of_the_callers_is_left_open(tmp_path: Path, chat_server: ChatServer) -> None:
    target = FakeTarget("Good day")
    for _ in range(2):
        run_scenario(SCENARIO, target=target, settings=settings(chat_server), rootdir=tmp_path)
    assert not target.closed


@pytest.mark.parametrize("how", ["swallows", "sleeps", "waits"])
def test_an_agent_that_never_comes_back_is_an_error(how: str) -> None:
    talk = {**SCENARIO, "synthetic_user": {"persona": "Somebody", "initial_query": how, "max_turns": 1}}
    limits = {"run.turn_timeout": 1, "run.scenario_timeout": 2, "run.replay": "only"}
    result = run_scenario(talk, target=HangingInEveryWay, settings=limits)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert result.reason.startswith("tests/support/hanging_agents.py:")


class Remembering:
    """An agent with a state that its test looks at."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.closed = False

    def reply(self, message: str) -> str:
        self.heard.append(message)
        return f"I heard {len(self.heard)} messages"

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("of", [lambda agent: agent, lambda agent: agent.reply], ids=["object", "method"])
def test_the_object_given_is_the_one_that_talks(of: Any, tmp_path: Path, chat_server: ChatServer) -> None:
    agent = Remembering()
    result = run_scenario(SCENARIO, target=of(agent), settings=settings(chat_server), rootdir=tmp_path)
    assert result.outcome is Outcome.PASSED, result.reason
    assert (agent.heard, agent.closed) == (["Hello", "And goodbye"], False)


def test_an_object_in_settings_would_be_shared(tmp_path: Path) -> None:
    (tmp_path / "agent_in_settings.py").write_text(
        "class Agent:\n    def reply(self, message): ...\nagent = Agent()"
    )
    chosen = {"target.type": "python", "target.object": "agent_in_settings.py:agent", "run.replay": "only"}
    result = run_scenario(SCENARIO, settings=chosen, rootdir=tmp_path)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "`agent_in_settings.py:agent` is one object" in result.reason


def same_thread(**more: Any) -> dict[str, Any]:
    """Settings whose target runs on the caller's thread; a target that is given is used instead of theirs."""
    return {"target.type": "python", "target.object": "nowhere:agent", "target.thread": "same", **more}


def test_an_agent_may_run_on_the_thread_that_waits_for_it(tmp_path: Path, chat_server: ChatServer) -> None:
    database = sqlite3.connect(":memory:")  # belongs to this thread

    class Agent:
        def __init__(self) -> None:
            database.execute("create table if not exists said (message)")

        def __call__(self, message: str) -> str:
            database.execute("insert into said values (?)", [message])
            return f"You said: {message}"

        def close(self) -> None:
            database.execute("insert into said values ('closed')")

    chosen = same_thread(**settings(chat_server))
    result = run_scenario(SCENARIO, target=Agent, settings=chosen, rootdir=tmp_path)
    assert result.outcome is Outcome.PASSED, result.reason
    said = [message for (message,) in database.execute("select message from said")]
    assert said == ["Hello", "And goodbye", "closed"]


def test_its_module_is_imported_on_that_thread_too(tmp_path: Path, chat_server: ChatServer) -> None:
    (tmp_path / "agent_with_connection.py").write_text(
        "import sqlite3\n"
        "database = sqlite3.connect(':memory:')\n"
        "def reply(message):\n"
        "    return f'You said: {message}' if database.execute('select 1').fetchone() else ''\n"
    )
    chosen = same_thread(**settings(chat_server)) | {"target.object": "agent_with_connection.py:reply"}
    for _ in range(2):
        result = run_scenario(SCENARIO, settings=chosen, rootdir=tmp_path)
        assert result.outcome is Outcome.PASSED, result.reason


def test_an_import_that_hangs_on_this_thread_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "agent_that_waits.py").write_text("import time\nwhile True:\n    time.sleep(0.01)\n")
    # Time enough to reach the import, on a machine that is busy with other tests.
    limit = {"run.replay": "only", "run.scenario_timeout": 2, "run.turn_timeout": 2}
    chosen = same_thread(**limit) | {"target.object": "agent_that_waits.py:reply"}
    result = run_scenario(SCENARIO, settings=chosen, rootdir=tmp_path)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "agent_that_waits.py" in result.reason


def test_in_a_thread_of_its_own_the_error_says_what_to_set(tmp_path: Path) -> None:
    database = sqlite3.connect(":memory:")
    result = run_scenario(
        SCENARIO,
        target=lambda message: database.execute("select 1"),
        settings={"run.replay": "only"},
        rootdir=tmp_path,
    )
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "`target.thread: same`" in result.reason


@pytest.mark.parametrize("how", ["sleeps", "computes"])
def test_an_agent_that_hangs_on_this_thread_is_interrupted(how: str, tmp_path: Path) -> None:
    def agent(message: str) -> str:
        while how == "computes":
            pass
        time.sleep(3600)
        return message

    limits = {"run.turn_timeout": 1, "run.scenario_timeout": 2, "run.replay": "only"}
    result = run_scenario(SCENARIO, target=agent, settings=same_thread(**limits), rootdir=tmp_path)
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert "test_api.py" in result.reason


def test_ctrl_c_reaches_the_thread_that_it_was_meant_for(tmp_path: Path) -> None:
    def agent(message: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_scenario(SCENARIO, target=agent, settings=same_thread(**{"run.replay": "only"}), rootdir=tmp_path)


def test_what_the_agent_raises_there_is_its_own(tmp_path: Path) -> None:
    def agent(message: str) -> str:
        raise SystemExit(3)

    chosen = same_thread(**{"run.replay": "only"})
    result = run_scenario(SCENARIO, target=agent, settings=chosen, rootdir=tmp_path)
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)


def test_an_error_of_a_target_has_no_secret_in_its_words_nor_in_its_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "convoprobe.yaml").write_text(
        "llm: {model: openai/x, api_key: any-key-1}\n"
        "target: {type: http, url: 'http://host/${CANARY}', text: 'a[[${CANARY}'}\n"
    )
    monkeypatch.setenv("CANARY", "a-value-of-ours")
    with pytest.raises(SettingsError) as caught:
        run_scenario(SCENARIO, rootdir=tmp_path)
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert "`a[[****` is not a JMESPath expression" in str(caught.value)
    assert "a-value-of-ours" not in "".join(shown.format())


def test_every_name_of_the_package_can_be_imported() -> None:
    assert {"Target", "TargetCrashed", "TargetStartError", "PendingRequest"} <= set(pytest_convoprobe.__all__)
    assert [name for name in pytest_convoprobe.__all__ if not hasattr(pytest_convoprobe, name)] == []


def test_a_target_may_be_named_where_the_settings_have_several(tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text("def fast(m): return 'fast'\ndef slow(m): return 'slow'\n")
    (tmp_path / "convoprobe.yaml").write_text(
        "targets:\n  fast: {type: python, object: 'agents.py:fast'}\n"
        "  slow: {type: python, object: 'agents.py:slow'}\n"
    )
    with ChatServer() as server:
        result = run_scenario(SCENARIO, target="slow", settings=settings(server), rootdir=tmp_path)
        assert result.transcript.turns[0].reply.text == "slow"
        assert (result.name, result.target_name) == ("A talk [slow]", "slow")
        for target, said in ((None, "several targets"), ("slwo", "did you mean `slow`")):
            with pytest.raises(SettingsError, match=said):
                run_scenario(SCENARIO, target=target, settings=settings(server), rootdir=tmp_path)
