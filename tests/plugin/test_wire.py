"""Agents that call models themselves, in whole runs of pytest: evidence, blame, budget, reports."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.result import ScenarioResult
from pytest_convoprobe.results.store import list_runs
from tests.support import warm_process
from tests.support.chat_server import ChatServer, Completion
from tests.support.model_server import ModelServer

from .suite import Suite

AGENT = """
    import openai

    TOOL = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}

    class Agent:
        retries = 0

        def __init__(self, context):
            self.client = openai.OpenAI(
                base_url=context.model_url + "/v1", api_key="sk-of-the-agent-1234", max_retries=self.retries
            )
            self.history = []

        def answer(self):
            done = self.client.chat.completions.create(model="gpt-4o", messages=self.history, tools=[TOOL])
            said = done.choices[0].message
            self.history.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls or ():
                self.history.append({"role": "tool", "tool_call_id": call.id, "content": "on its way"})
            return self.answer() if said.tool_calls else said.content

        def send(self, message):
            self.history.append({"role": "user", "content": message})
            return self.answer()

    class Polite(Agent):
        def answer(self):
            try:
                return super().answer()
            except openai.APIStatusError:
                return "I am sorry, I can't look that up at the moment."

    class Careless(Agent):
        def answer(self):
            try:
                return super().answer()
            except openai.APIStatusError as error:
                raise ValueError("no answer") from None

    class Elsewhere:
        def __init__(self, context):
            pass

        def send(self, message):
            return "It is on its way."
"""
FOUND = """
    import openai

    client = openai.OpenAI(api_key="sk-of-the-agent-1234")

    class Found:
        def send(self, message):
            history = [{"role": "user", "content": message}]
            return client.chat.completions.create(model="gpt-4o", messages=history).choices[0].message.content
"""
CRITERION = {"text": "It says fine", "about": "any", "shows": "presence", "opposite": "It never does"}
PRICE = {"input_cost_per_token": 0.0001, "output_cost_per_token": 0.0001}


class Project:
    """A project with one agent of `AGENT`, its provider, and a judge."""

    def __init__(self, suite: Suite, agent: str, provider: ModelServer, judge: ChatServer) -> None:
        self._suite = suite
        suite.write("conftest.py", "")
        suite.write("agent.py", AGENT)
        llm = {
            "model": "openai/fake",
            "api_base": judge.base_url,
            "api_key": "sk-not-a-real-key-123",
            **PRICE,
        }
        target = {"type": "python", "object": f"agent.py:{agent}", "models": {"openai": f"{provider.url}/v1"}}
        suite.write("convoprobe.yaml", json.dumps({"llm": llm, "target": target}))

    def scenario(
        self, says: str = 'call lookup {"order": 7}', faults: Iterable[Any] = (), **evaluation: Any
    ) -> None:
        known = {
            "name": "order",
            "description": "d",
            "synthetic_user": {"persona": "p", "initial_query": says, "max_turns": 1},
            "evaluation": {"correctness_criteria": [CRITERION], **evaluation},
            **({"faults": list(faults)} if faults else {}),
        }
        self._suite.write("scenarios/order.yaml", yaml.safe_dump(known))

    def run(self, *options: str) -> tuple[ScenarioResult, str]:
        """The result, and what pytest printed."""
        shown = self._suite.run_process("-rA", *options).stdout.str()
        stored = list_runs(self._suite.path / ".convoprobe")[0].open()
        (row,) = stored.rows()
        return stored.trial(row).result, shown

    @property
    def written(self) -> Iterable[Path]:
        return (one for one in self._suite.path.rglob("*") if one.is_file())


def test_checks_rest_on_what_was_seen_and_reports_show_it(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Agent", provider, of_judge)
        usage = {"required_tools": ["lookup"], "prohibited_tools": ["refund"]}
        project.scenario(tool_usage=usage, efficiency={"max_llm_tokens": 3})
        result, shown = project.run()
    assert [(one.name, one.holds) for one in result.checks] == [
        ("required tool lookup", True),
        ("prohibited tool refund", True),
        ("tokens of the agent", False),
    ]
    assert all(one.found.endswith(" (seen on the wire)") for one in result.checks)
    assert "(seen on the wire) lookup({" in shown
    assert "model │ 2 calls of gpt-4o, " in shown
    assert "agent (seen on the wire)  2 calls, " in shown
    assert result.spending[Role.AGENT].calls == 2
    assert not any(
        b"sk-of-the-agent" in path.read_bytes()
        for path in project.written
        if path.name.partition(".")[0] != "agent"  # compiled, it has the key too
    )


@pytest.mark.parametrize("agent", ["Polite", "Careless", "Agent"])
def test_a_provider_that_is_away_makes_an_error_whatever_the_agent_makes_of_it(
    suite: Suite, agent: str
) -> None:
    with ModelServer(faults=["500"] * 5) as provider, ChatServer() as of_judge:
        project = Project(suite, agent, provider, of_judge)
        project.scenario(tool_usage={"required_tools": ["lookup"]})
        result, _ = project.run()
    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "infrastructure")
    if agent != "Agent":
        assert "turn 1: the provider failed in the agent's call of `gpt-4o` (status 500" in result.reason


def test_an_agent_that_recovers_is_judged(suite: Suite) -> None:
    with ModelServer(faults=["500"]) as provider, ChatServer() as of_judge:
        project = Project(suite, "Agent", provider, of_judge)
        suite.write("agent.py", AGENT.replace("retries = 0", "retries = 2"))
        project.scenario(tool_usage={"prohibited_tools": ["lookup"]})
        result, _ = project.run()
    assert (result.outcome.value, result.blame and result.blame.value) == ("failed", "agent")


def test_an_agent_that_calls_elsewhere_is_named_at_the_end_of_a_green_run(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Elsewhere", provider, of_judge)
        project.scenario()
        result, shown = project.run("--convoprobe-replay=record")
        assert result.passed
        assert "note: in 1 of 1 conversation, the agent made no call of a model through its gateway" in shown
        result, shown = project.run("--convoprobe-replay=only")
        assert "note: in 1 of 1 conversation, the agent made no call of a model through its gateway" in shown


def test_a_service_that_was_not_started_by_the_gateway_gets_advice(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Elsewhere", provider, of_judge)
        project.scenario(tool_usage={"prohibited_tools": ["refund"]})
        _, shown = project.run()
    words = " ".join(shown.split())
    assert "wasn't started by `convoprobe gateway -- COMMAND` and doesn't use `{{ model_url }}`" in words


@pytest.mark.parametrize("changed", ["lost", "late"])
def test_a_call_that_no_recording_answers_costs_nothing(suite: Suite, changed: str) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Agent", provider, of_judge)
        project.scenario()
        project.run("--convoprobe-replay=record")
        suite.write("agent.py", AGENT.replace("on its way", changed))
        result, shown = project.run("--convoprobe-replay=only")
    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "recording")
    assert "model │ 2 calls of gpt-4o (1 of them replayed), " in shown
    # The reason, and the summary; in CI that of pytest too, which is cut elsewhere.
    assert " ".join(shown.split()).count("message 3 (tool) changed") in (2, 3)
    assert "\nspent: nothing\n" in shown
    assert result.spending[Role.AGENT].calls == result.spending[Role.AGENT].replayed == 1


def test_a_fault_in_place_of_an_answer_costs_nothing(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Agent", provider, of_judge)
        suite.write("agent.py", AGENT.replace("retries = 0", "retries = 2"))
        project.scenario(faults=[{"model": "*", "call": 1, "kind": "error"}])
        result, _ = project.run("--convoprobe-replay=record")
        assert (result.outcome.value, result.spending[Role.AGENT].calls) == ("passed", 2)
        result, shown = project.run("--convoprobe-replay=only")
    assert "\nspent: nothing\n" in shown
    calls = [call for _, seen in result.transcript.wire for call in seen.calls]
    assert [bool(call.fault) for call in calls] == [True, False, False]


def test_calls_that_nobody_answered_are_not_taken_for_an_agent_that_was_not_seen(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Polite", provider, of_judge)
        project.scenario(faults=[{"model": "*", "kind": "error"}])
        result, shown = project.run()
    assert result.spending[Role.AGENT].calls == 0
    assert "without the agent" not in shown


def test_no_tool_was_called_can_not_be_checked_where_nothing_was_seen(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Elsewhere", provider, of_judge)
        project.scenario(tool_usage={"prohibited_tools": ["refund"]})
        result, _ = project.run()
    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "scenario")
    assert (
        "What its gateway saw is not enough: no call of a model came through it in this turn" in result.reason
    )


def test_a_replay_has_the_same_evidence_and_costs_nothing(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Agent", provider, of_judge)
        project.scenario(tool_usage={"required_tools": ["lookup"]})
        recorded, _ = project.run("--convoprobe-replay=record")
    replayed, shown = project.run("--convoprobe-replay=only", "--convoprobe-max-tokens=1")
    assert replayed.passed
    assert [one.reply.tool_calls for one in replayed.transcript.turns] == [
        one.reply.tool_calls for one in recorded.transcript.turns
    ]
    spent = replayed.spending[Role.AGENT]
    assert (spent.replayed, spent.usage) == (2, recorded.spending[Role.AGENT].usage)
    assert "spent: nothing" in shown


def test_a_stored_trial_is_shown_and_judged_again_with_the_same_evidence(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Agent", provider, of_judge)
        project.scenario(tool_usage={"required_tools": ["lookup"]})
        project.run()
        asked = len(provider.requests)
        shown = warm_process.run("pytest_convoprobe.cli", "show", "latest", "order", cwd=suite.path).stdout
        again = warm_process.run("pytest_convoprobe.cli", "rejudge", "latest", cwd=suite.path)
        assert len(provider.requests) == asked
    assert "(seen on the wire) lookup" in shown
    assert "2 calls of gpt-4o, " in shown
    assert again.returncode == 0, again.stdout + again.stderr


def test_an_agent_that_finds_the_address_in_its_environment_is_seen_too(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Found", provider, of_judge)
        suite.write("agent.py", FOUND)
        project.scenario(says="hello")
        result, _ = project.run()
    assert result.spending[Role.AGENT].calls == 1
    assert result.transcript.turns[0].reply.usage is not None


def test_the_budget_stops_an_agent(suite: Suite) -> None:
    with ModelServer([Completion(None, (("lookup", {}),))] * 9) as provider, ChatServer() as of_judge:
        project = Project(suite, "Careless", provider, of_judge)
        project.scenario()
        result, _ = project.run("--convoprobe-max-tokens=5")
        assert len(provider.requests) == 1
    assert (result.outcome.value, result.blame and result.blame.value) == ("error", "budget")
    assert len(result.transcript.pending_calls) == 1


@pytest.mark.parametrize("agent", ["Careless", "Agent"])
def test_an_agent_that_crashes_after_an_injected_fault_has_failed(suite: Suite, agent: str) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, agent, provider, of_judge)
        project.scenario(faults=[{"model": "gpt-4o", "kind": "error"}])
        result, shown = project.run()
        assert provider.requests == []
    assert (result.outcome.value, result.blame and result.blame.value) == ("failed", "agent")
    assert "model │ call 1: injected: " in shown
    assert "agent (seen on the wire)  nothing" in shown


def test_an_agent_that_bears_an_injected_fault_is_judged(suite: Suite) -> None:
    with ModelServer() as provider, ChatServer() as of_judge:
        project = Project(suite, "Polite", provider, of_judge)
        project.scenario(faults=[{"model": "gpt-4o", "kind": "rate_limit"}])
        result, _ = project.run()
    assert result.passed
