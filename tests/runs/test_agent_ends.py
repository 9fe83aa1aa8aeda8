"""An agent that closes the conversation: what was said until then is judged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.reports.failure import ending, render_failure
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.transcript import Reply, Termination, ToolCall
from tests.support.scripted_llm import FakeLLM

GOODBYE = "I am passing you to a colleague. Goodbye!"
SCRIPT = ["And then?", {"simulate": 1}, "Thanks"]


class Closing:
    """Hands over in its first turn, and takes no message afterwards."""

    reply = Reply(GOODBYE, (ToolCall("transfer_to_human", {}, "ok"),))

    def __init__(self) -> None:
        self.over = False

    def __call__(self, message: str) -> Reply:
        if self.over:
            raise RuntimeError("conversation is closed")
        self.over = True
        return self.reply


class SaysSo(Closing):
    reply = Reply(GOODBYE, ended=True)


def judged(request: LLMRequest) -> LLMReply:
    found = {"finding": "seen", "quote": "Goodbye!", "turn": 1, "absence": False, "verdict": "met"}
    return LLMReply(json.dumps({"answers": [{"id": "c1", **found}]}))


def run(tmp_path: Path, agent: object, **user: Any) -> ScenarioResult:
    scenario = {
        "name": "A hand-over",
        "description": "The agent hands over.",
        "synthetic_user": {"persona": "Somebody", "initial_query": "Help!", **user},
        "evaluation": {"correctness_criteria": ["The agent hands over"]},
    }
    settings = load_settings(tmp_path, overrides={"llm.model": "openai/fake"}, environ={})
    (loaded,) = parse_scenarios(json.dumps(scenario), str(tmp_path / "talk.yaml"))
    job = Job(loaded, "talk.yaml::talk", as_target(agent), scenario_settings(settings, None))
    return asyncio.run(Runner(settings, llm=FakeLLM(judged)).run(job))


@pytest.mark.parametrize(
    ("agent", "user"),
    [
        (SaysSo, {}),
        (Closing, {"ends_with_tools": ["transfer_to_human"]}),
        (Closing, {"ends_with_tools": ["hang_up", "transfer_*"]}),
        (lambda message: {"text": GOODBYE, "ended": True}, {}),
    ],
    ids=["reply", "tool", "pattern", "mapping"],
)
def test_it_gets_no_further_message_and_is_judged(tmp_path: Path, agent: object, user: Any) -> None:
    result = run(tmp_path, agent, **user)
    assert (result.outcome, result.transcript.termination) == (Outcome.PASSED, Termination.AGENT_ENDED)
    assert len(result.transcript.turns) == 1


@pytest.mark.parametrize("name", ["transferToHuman", "transfer_to_humn", "tranfer_*"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_misspelt_tool_that_ends_is_an_error_of_the_scenario(
    tmp_path: Path, name: str, closed: bool
) -> None:
    """Whether the agent refuses to talk on, or answers."""
    agent = Closing if closed else lambda message: Closing.reply
    result = run(tmp_path, agent, script=["And then?"], ends_with_tools=[name])
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.SCENARIO)
    assert f"ends_with_tools: `{name}` matches no tool that the agent called" in result.reason


def test_scripted_messages_that_were_not_sent_are_counted(tmp_path: Path) -> None:
    result = run(tmp_path, SaysSo, script=SCRIPT)
    assert result.transcript.unsaid == 2
    assert ending(result) == "the agent ended the conversation with 2 scripted messages unsaid, after 1 turn"
    page = render_failure(result, verbosity=0, width=100, rerun_command="", ascii_only=True)
    assert "2 scripted messages unsaid" in page


def test_it_is_stored_and_read_again(tmp_path: Path) -> None:
    result = run(tmp_path, SaysSo, script=SCRIPT)
    stored = json.loads(json.dumps(to_record(result, NO_PRINTS)))
    assert (stored["transcript"]["unsaid"], stored["transcript"]["turns"][0]["ended"]) == (2, True)
    assert from_record(stored).result.transcript == result.transcript


def test_a_conversation_that_the_user_ends_is_stored_as_before(tmp_path: Path) -> None:
    result = run(tmp_path, lambda message: GOODBYE, script=["Bye"])
    stored = to_record(result, NO_PRINTS)["transcript"]
    assert "unsaid" not in stored
    assert all("ended" not in turn for turn in stored["turns"])


@pytest.mark.parametrize(
    ("agent", "termination"),
    [(SaysSo, Termination.AGENT_ENDED), (lambda message: GOODBYE, Termination.MAX_TURNS)],
    ids=["ends", "goes on"],
)
def test_ending_says_more_than_the_limit_of_turns(
    tmp_path: Path, agent: object, termination: Termination
) -> None:
    assert run(tmp_path, agent, max_turns=1).transcript.termination is termination


def test_a_user_that_is_done_with_the_same_message_was_done(tmp_path: Path) -> None:
    def agent(message: str) -> Reply:
        return Reply(GOODBYE, ended=message == "Bye")

    transcript = run(tmp_path, agent, script=["Bye"]).transcript
    assert (transcript.termination, transcript.unsaid) == (Termination.USER_DONE, 0)


def test_a_hand_over_that_failed_ends_nothing(tmp_path: Path) -> None:
    def agent(message: str) -> Reply:
        return Reply(GOODBYE, (ToolCall("transfer_to_human", error="nobody is there"),))

    result = run(tmp_path, agent, script=["Oh"], ends_with_tools=["transfer_to_human"])
    assert (len(result.transcript.turns), result.transcript.termination) == (2, Termination.USER_DONE)
