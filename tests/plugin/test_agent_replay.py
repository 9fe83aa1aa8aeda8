"""Agents that call models themselves, replayed by whole runs of pytest without a provider."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.result import ScenarioResult
from pytest_convoprobe.results.store import list_runs
from tests.support.chat_server import ChatServer
from tests.support.model_server import Gate, ModelServer

from .suite import Suite

# The client is made at import and finds its address in the environment, as in most projects.
AGENT = """
    import datetime, os, uuid
    import openai

    PROMPT = "You are the shop's agent."
    TOOL = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
    CLIENT = openai.OpenAI(api_key=os.environ.get("AGENT_KEY", "none"), max_retries=0)

    class Agent:
        def __init__(self):
            now = datetime.datetime.now(datetime.timezone.utc).isoformat()
            prompt = f"{PROMPT} It is {now}. This is conversation {uuid.uuid4()}."
            self.history = [{"role": "system", "content": prompt}]

        def send(self, message):
            self.history.append({"role": "user", "content": message})
            while True:
                said = self.ask()
                self.history.append(said.model_dump(exclude_none=True))
                for call in said.tool_calls or ():
                    self.history.append({"role": "tool", "tool_call_id": call.id, "content": self.tool()})
                if not said.tool_calls:
                    return said.content

        def tool(self):
            return "on its way"

        def ask(self):
            done = CLIENT.chat.completions.create(model="gpt-4o", messages=self.history, tools=[TOOL])
            return done.choices[0].message

    class Polite(Agent):
        def ask(self):
            try:
                return super().ask()
            except (openai.APIError, ValueError, AttributeError, TypeError):
                return openai.types.chat.ChatCompletionMessage(role="assistant", content="I am sorry.")

    class Impatient(Polite):
        def ask(self):
            global CLIENT
            CLIENT = CLIENT.with_options(timeout=0.5)
            return super().ask()

    class Stubborn(Polite):
        def ask(self):
            global CLIENT
            CLIENT = CLIENT.with_options(max_retries=2)
            return super().ask()

    class Elsewhere(Agent):
        def ask(self):
            client = openai.OpenAI(base_url="https://elsewhere.example/v1", api_key="none", max_retries=0)
            done = client.chat.completions.create(model="gpt-4o", messages=self.history, tools=[TOOL])
            return done.choices[0].message

    class Canned(Agent):
        def ask(self):
            return openai.types.chat.ChatCompletionMessage(role="assistant", content="It is fine.")

    class Early(Agent):
        def ask(self):
            asked = {"model": "gpt-4o", "messages": self.history, "stream": True}
            with CLIENT.chat.completions.create(**asked) as stream:
                said = next(one.choices[0].delta.content for one in stream if one.choices[0].delta.content)
            open("left", "w").close()
            return openai.types.chat.ChatCompletionMessage(role="assistant", content=said)
"""
CRITERION = {"text": "It says fine", "about": "any", "shows": "presence", "opposite": "It never does"}
MESSAGES = ('call lookup {"order": 7}', "When was 2026-11-02?", "Thanks")


class Project:
    """A project whose agent calls `provider`, with a judge of its own."""

    def __init__(self, suite: Suite, provider: ModelServer, judge: ChatServer) -> None:
        self.suite = suite
        suite.write("conftest.py", "")
        suite.write("agent.py", AGENT)
        self._llm = {"model": "openai/fake", "api_base": judge.base_url, "api_key": "sk-not-a-real-key-123"}
        self._target = {"type": "python", "models": {"openai": f"{provider.url}/v1"}}
        self.settings()
        self.scenario()

    def settings(self, agent: str = "Agent", **target: Any) -> None:
        target = {**self._target, "object": f"agent.py:{agent}", **target}
        self.suite.write("convoprobe.yaml", json.dumps({"llm": self._llm, "target": target}))

    def scenario(self, name: str = "order", *messages: str) -> None:
        first, *others = messages or MESSAGES
        script = {"persona": "p", "initial_query": first, "script": others, "max_turns": len(others) + 1}
        known = {
            "name": name,
            "description": "d",
            "synthetic_user": script,
            "evaluation": {"correctness_criteria": [CRITERION]},
        }
        self.suite.write(f"scenarios/{name}.yaml", yaml.safe_dump(known))

    def change(self, old: str, new: str) -> None:
        path = self.suite.path / "agent.py"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def results(self, *options: str) -> list[ScenarioResult]:
        plugins = ("xdist",) if "-n" in options else ()
        self.shown = self.suite.run_process("-rA", *options, plugins=plugins).stdout.str()
        stored = list_runs(self.suite.path / ".convoprobe")[0].open()
        return [stored.trial(row).result for row in stored.rows()]

    def run(self, *options: str) -> ScenarioResult:
        (result,) = self.results(*options)
        return result

    @property
    def recordings(self) -> list[Path]:
        return sorted((self.suite.path / "scenarios" / "_recordings").rglob("*.json"))

    @property
    def recorded(self) -> dict[str, Any]:
        (path,) = self.recordings
        recorded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return recorded


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def judge() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def project(
    suite: Suite, provider: ModelServer, judge: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> Project:
    monkeypatch.setenv("AGENT_KEY", "kk-4711-of-the-agent")
    project = Project(suite, provider, judge)
    assert project.run("--convoprobe-replay=record").passed, project.shown
    monkeypatch.delenv("AGENT_KEY")
    return project


def said(result: ScenarioResult) -> list[str]:
    return [turn.reply.text for turn in result.transcript.turns]


def test_a_replay_calls_nobody_and_needs_no_key(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as judge:
        project = Project(suite, provider, judge)
        recorded = project.run("--convoprobe-replay=record")
        assert len(provider.requests) == 4
    replayed = project.run("--convoprobe-replay=only")

    assert replayed.passed
    assert said(replayed) == said(recorded)
    assert [call["role"] for call in project.recorded["calls"]].count("agent") == 4


@pytest.mark.parametrize("agent", ["Elsewhere", "Canned"])
def test_a_replay_in_which_no_recorded_call_came_is_an_error_of_the_recording(
    project: Project, provider: ModelServer, agent: str
) -> None:
    project.change("https://elsewhere.example", provider.url)
    project.settings(agent)
    result = project.run("--convoprobe-replay=only")

    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "recording")
    assert (
        "the recording has 4 model calls of the agent in this trial, but none came through" in result.reason
    )
    assert "the agent no longer uses the gateway" in result.reason
    assert "doesn't use `{{ model_url }}`" in result.reason
    assert "record again: pytest" in project.shown


@pytest.mark.parametrize("mode", ["auto", "record"])
def test_where_calls_may_be_made_none_is_only_a_note(project: Project, mode: str) -> None:
    project.settings("Canned")
    assert project.run(f"--convoprobe-replay={mode}").passed
    assert "note: in 1 of 1 conversation, the agent made no call of a model" in project.shown


@pytest.mark.parametrize(
    ("agent", "fault", "words"),
    [
        ("Polite", "503", "status 503"),
        ("Polite", "401", "status 401"),
        ("Polite", "cut", "`target.models.openai` gave no whole answer"),
        ("Polite", "garbage", ""),
        ("Impatient", "hang", "the agent did not wait for the answer"),
    ],
)
def test_a_call_that_could_not_be_recorded_is_named(suite: Suite, agent: str, fault: str, words: str) -> None:
    with ModelServer(faults=[None, fault]) as provider, ChatServer() as judge:
        project = Project(suite, provider, judge)
        project.settings(agent)
        project.scenario("order", "Say something fine", "And more", "Thanks")
        recorded = project.run("--convoprobe-replay=record")
        assert recorded.passed, project.shown
        note = f"note: order: 1 model call of the agent was not recorded: turn 2, {words}"
        assert note in project.shown
        assert "; `only` will not find it" in project.shown
        replayed = project.run("--convoprobe-replay=only")
    assert (replayed.outcome.value, replayed.blame and replayed.blame.value) == ("error", "recording")
    assert "turn 2" in replayed.reason
    assert "was not recorded" not in project.shown


def test_a_failure_after_which_the_next_attempt_is_recorded_is_not_named(suite: Suite) -> None:
    with ModelServer(faults=[None, "503"]) as provider, ChatServer() as judge:
        project = Project(suite, provider, judge)
        project.settings("Stubborn")
        project.scenario("order", "Say something fine", "And more", "Thanks")
        for mode in ("auto", "only"):
            assert project.run(f"--convoprobe-replay={mode}").passed, project.shown
            assert "not recorded" not in project.shown
        assert len(provider.requests) == 4


class UntilLeft(Gate):
    """Holds a stream's later events back until the agent has left it."""

    def __init__(self, left: Path) -> None:
        super().__init__()
        self.release(3)
        self._left = left

    async def passed(self) -> None:
        if self._left.exists():
            self.open()
        waiting = asyncio.ensure_future(super().passed())
        while not waiting.done():
            if self._left.exists():
                self.open()
            await asyncio.sleep(0.002)


@pytest.mark.parametrize(
    "messages", [("Say something fine", "And more of it", "Thanks"), ("Something fine",)]
)
def test_a_stream_that_the_agent_stops_reading_is_recorded_whole(
    suite: Suite, messages: tuple[str, ...]
) -> None:
    gate = UntilLeft(suite.path / "left")
    with ModelServer(["It is a fine day, isn't it?"], gate=gate) as provider, ChatServer() as judge:
        project = Project(suite, provider, judge)
        project.settings("Early")
        project.scenario("order", *messages)
        recorded = project.run("--convoprobe-replay=record")
    replayed = project.run("--convoprobe-replay=only")

    assert recorded.passed, project.shown
    assert replayed.passed, project.shown
    assert said(replayed) == said(recorded)
    assert said(recorded)[0] != "It is a fine day, isn't it?"
    assert "isn't it?" in project.recordings[0].read_text(encoding="utf-8")
    assert recorded.transcript.turns[0].reply.wire is not None
    assert recorded.transcript.turns[0].reply.wire.calls[0].problem


def test_neither_key_nor_address_is_in_any_file(project: Project, provider: ModelServer) -> None:
    sent = provider.requests[0].headers
    assert "kk-4711-of-the-agent" in sent["authorization"]
    written = [path for path in project.suite.path.rglob("*") if path.is_file()]
    assert not [path for path in written if b"kk-4711" in path.read_bytes()]
    assert not re.search(r"127\.0\.0\.1:\d+/\w{16}", project.recordings[0].read_text(encoding="utf-8"))


def test_a_changed_prompt_is_an_error_of_the_recording(project: Project, provider: ModelServer) -> None:
    made = len(provider.requests)
    project.change("the shop's agent", "a pirate")
    result = project.run("--convoprobe-replay=only")

    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "recording")
    assert "no reply is recorded for a model call of the agent in turn 1:" in result.reason
    assert "the system prompt changed: the agent's prompt, or what it puts there" in result.reason
    assert "record again: pytest" in project.shown
    assert len(provider.requests) == made


def test_an_agent_that_hides_the_error_has_no_verdict_either(project: Project) -> None:
    project.settings("Polite")
    project.change("the shop's agent", "a pirate")
    result = project.run("--convoprobe-replay=only")

    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "recording")


def test_a_tool_that_returns_something_else_is_named(project: Project) -> None:
    project.change("on its way", "lost")
    result = project.run("--convoprobe-replay=only")

    assert "message 4 (tool) changed: what a tool of the agent returned" in result.reason


def test_auto_makes_only_the_calls_that_are_new(project: Project, provider: ModelServer) -> None:
    made = len(provider.requests)
    project.scenario("order", *MESSAGES[:2], "Goodbye")
    result = project.run("--convoprobe-replay=auto")

    assert result.passed
    assert len(provider.requests) == made + 1
    assert said(result)[2].endswith("Goodbye")
    assert project.run("--convoprobe-replay=only").passed


def test_a_date_that_the_user_names_is_no_clock(project: Project) -> None:
    project.scenario("order", MESSAGES[0], "When was 2026-11-03?", MESSAGES[2])
    result = project.run("--convoprobe-replay=only")

    assert result.blame is not None
    assert result.blame.value == "recording"
    assert "turn 2" in result.reason


def test_a_recording_without_the_agents_calls_says_how_to_record(project: Project) -> None:
    (path,) = project.recordings
    data = project.recorded
    data["calls"] = [call for call in data["calls"] if call["role"] != "agent"]
    path.write_text(json.dumps({**data, "digest": "", "version": 1}), encoding="utf-8")
    result = project.run("--convoprobe-replay=only")

    assert "no model call of the agent is recorded in this trial" in result.reason
    assert "record again: pytest" in project.shown


def test_what_the_settings_name_makes_no_difference(
    project: Project, provider: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.change("It is {now}", "This is build {os.environ['BUILD']}")
    volatile = {"texts": [r"build \w+"], "fields": ["messages.*.name"]}
    project.settings(model_volatile=volatile)
    monkeypatch.setenv("BUILD", "a1b2c3")
    assert project.run("--convoprobe-replay=record").passed
    made = len(provider.requests)

    monkeypatch.setenv("BUILD", "f9e8d7")
    assert project.run("--convoprobe-replay=only").passed
    assert len(provider.requests) == made
    project.settings()
    assert not project.run("--convoprobe-replay=only").passed


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_many_conversations_at_once_replay_each_its_own(
    project: Project, provider: ModelServer, workers: tuple[str, ...]
) -> None:
    for number in range(8):
        project.scenario(
            f"order-{number}", f"Where is {number}?", f'call lookup {{"order": {number}}}', "Thanks"
        )
    recorded = project.results("--convoprobe-replay=record", *workers)
    made = len(provider.requests)
    replayed = project.results("--convoprobe-replay=only", *workers)

    assert len(recorded) == 9
    assert all(result.passed for result in (*recorded, *replayed))
    assert {one.name: said(one) for one in replayed} == {one.name: said(one) for one in recorded}
    assert len(provider.requests) == made


def test_each_trial_has_its_own_answers(project: Project, provider: ModelServer) -> None:
    recorded = project.results("--convoprobe-replay=record", "--convoprobe-trials=3")
    made = len(provider.requests)
    replayed = project.results("--convoprobe-replay=only", "--convoprobe-trials=3")

    assert sorted(one.trial for one in replayed) == [1, 2, 3]
    assert all(one.passed for one in (*recorded, *replayed))
    assert len(provider.requests) == made
    assert {call["trial"] for call in project.recorded["calls"] if call["role"] == "agent"} == {1, 2, 3}


def test_personal_data_is_masked_in_the_recording_and_put_back(project: Project) -> None:
    path = project.suite.path / "convoprobe.yaml"
    settings = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**settings, "results": {"mask": ["email"]}}), encoding="utf-8")
    project.scenario("order", "I am ann@example.com", "Write to ann@example.com and to bob@example.org")
    assert project.run("--convoprobe-replay=record").passed
    assert "example.com" not in project.recordings[0].read_text(encoding="utf-8")

    project.change(
        "return said.content", "open('seen', 'a').write(said.content + '\\\\n'); return said.content"
    )
    assert project.run("--convoprobe-replay=only").passed
    seen = (project.suite.path / "seen").read_text(encoding="utf-8")
    assert "I am ann@example.com" in seen
    assert "[email" not in seen
