"""Greetings and histories in everything that reads conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.calibration.as_job import transcript_of
from pytest_convoprobe.calibration.labelling import labelled_data
from pytest_convoprobe.calibration.labels_file import parse_labels
from pytest_convoprobe.conversation.repetition import goes_in_circles
from pytest_convoprobe.conversation.user import unsaid
from pytest_convoprobe.generate.exported import read_transcripts
from pytest_convoprobe.judging.criteria import criteria_of
from pytest_convoprobe.mutants.making import mutants_of
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.index import IndexRow
from pytest_convoprobe.results.talk_records import read_transcript, transcript_record
from pytest_convoprobe.scenario.models import SyntheticUser
from pytest_convoprobe.transcript import (
    Origin,
    Reply,
    SaidBefore,
    Termination,
    ToolCall,
    Transcript,
    Turn,
    Usage,
)
from tests.cli.stored import passed
from tests.mutants.talks import judged, scenario

from .project import HISTORY, Project, outcome

GREETING = Turn(0, "", Reply("Welcome to the shop!", (), Usage(1, 1)), Origin.GREETING)
ANSWER = Turn(1, "Where is A-7?", Reply("It arrives on 4 May.", (), Usage(2, 2)), Origin.INITIAL)
BEFORE = (
    SaidBefore("Hello?"),
    SaidBefore("Yes?", by_agent=True, tool_calls=(ToolCall("look", {"at": 1}, {"is": 2}, id="earlier_1"),)),
)
TALK = Transcript((GREETING, ANSWER), Termination.USER_DONE, history=BEFORE)


def test_it_is_stored_and_read_as_it_was() -> None:
    assert read_transcript(json.loads(json.dumps(transcript_record(TALK)))) == TALK
    pending = Transcript(pending="", termination=Termination.TIMEOUT)
    assert read_transcript(transcript_record(pending)).awaits_greeting
    assert "history" not in transcript_record(Transcript((ANSWER,)))


def test_the_greeting_counts_for_tokens_and_not_for_turns() -> None:
    assert TALK.usage == Usage(3, 3)
    assert (TALK.user_turns, TALK.last_turn) == ((ANSWER,), 1)
    assert (Transcript(pending="").last_turn, Transcript((GREETING,), pending="x").last_turn) == (0, 1)


def test_an_agent_that_only_greets_is_silent() -> None:
    silent = Turn(1, "Where is A-7?", Reply(""))
    assert Transcript((GREETING, silent)).is_silent
    assert not Transcript((GREETING,)).is_silent


def test_greetings_make_no_circle() -> None:
    turns = [Turn(number, "Again.", Reply("Welcome!")) for number in (1, 2, 3)]
    assert goes_in_circles(turns)
    assert not goes_in_circles(turns[:2])


def test_all_messages_are_unsaid_after_a_greeting_that_ends_it() -> None:
    user = SyntheticUser(persona="p", initial_query="a", script=("b", "c"), first="agent")
    assert [unsaid(user, turns) for turns in (0, 1, 2)] == [3, 2, 1]
    assert unsaid(SyntheticUser(persona="p", first="agent"), 0) == 0


def test_a_labels_file_may_begin_with_the_agent(tmp_path: Path) -> None:
    text = """
id: greeted
history:
  - user: Hello?
  - agent: Yes?
    tool_calls: [{name: look, arguments: {at: 1}, result: {is: 2}}]
turns:
  - agent: Welcome to the shop!
  - user: Where is A-7?
    agent: It arrives on 4 May.
criteria: [{text: The agent greets., truth: true}]
"""
    (labelled,) = parse_labels(text).conversations
    found = transcript_of(labelled.conversation, tmp_path)
    assert [(turn.number, turn.user, turn.reply.text) for turn in found.turns] == [
        (0, "", "Welcome to the shop!"),
        (1, "Where is A-7?", "It arrives on 4 May."),
    ]
    assert found.history == BEFORE
    data = labelled_data(
        IndexRow("r", "w", 0, 1, "s", "n", "f", 1, 1, Outcome.PASSED), passed("Talk", transcript=TALK), []
    )
    assert data["turns"][0] == {"agent": "Welcome to the shop!"}
    assert data["history"][1]["tool_calls"] == [{"name": "look", "arguments": {"at": 1}, "result": {"is": 2}}]


def test_only_the_first_labelled_turn_may_be_the_agents() -> None:
    text = "id: x\nturns: [{user: a, agent: b}, {agent: c}]\ncriteria: [{text: It greets., truth: true}]\n"
    with pytest.raises(Exception, match="Only the first turn may have none"):
        parse_labels(text)


def test_a_changed_conversation_keeps_its_greeting() -> None:
    made = scenario(["The agent says that it arrives on 4 May."], {"required_tools": ["look"]})
    called = Turn(1, ANSWER.user, Reply(ANSWER.reply.text, (ToolCall("look", {"at": 1}),)))
    talk = Transcript((GREETING, called), Termination.USER_DONE)
    mutants = mutants_of(judged(made, talk, {"c1": ("It arrives on 4 May.", 1)}, None), made)
    kinds = {mutant.kind.value: mutant for mutant in mutants}
    assert kinds
    for mutant in mutants:
        numbers = [turn.number for turn in mutant.transcript.turns]
        assert numbers == list(range(len(numbers)))
        assert mutant.transcript.turns[0].is_greeting
    assert kinds["claim_without_call"].turn == 1
    assert criteria_of(made.evaluation)


def test_a_conversation_that_happened_may_begin_with_the_agent(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [
        {"role": "system", "content": "You help."},
        {"role": "assistant", "content": "Welcome!"},
        {"role": "user", "content": "Where is A-7?"},
        {"role": "assistant", "content": "On its way."},
    ]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(said))
    (found,) = read_transcripts(file)
    assert [(turn.number, turn.origin, turn.user, turn.reply.text) for turn in found.turns] == [
        (0, Origin.GREETING, "", "Welcome!"),
        (1, Origin.SIMULATED, "Where is A-7?", "On its way."),
    ]
    file.write_text(json.dumps([said[0], *said[2:]]))
    (found,) = read_transcripts(file)
    assert [turn.number for turn in found.turns] == [1]


def test_a_rerun_greets_again_and_repeats_the_user(project: Project) -> None:
    script = ["And a lion.", "And a bear."]
    project.scenario({"first": "agent", "initial_query": "A zebra.", "script": script, "max_turns": 3})
    assert outcome(project.run()) == {"passed": 1}
    assert project.command("rerun", "latest", "Begins", "--from-turn", "2").ret == 0
    assert project.command("rerun", "latest", "Begins", "--from-turn", "4").ret == 0
    too_far = project.command("rerun", "latest", "Begins", "--from-turn", "5")
    assert "choose one from 1 to 4" in " ".join((*too_far.outlines, *too_far.errlines))


def test_the_stream_shows_a_greeting(project: Project) -> None:
    project.scenario({"first": "agent", "initial_query": "A zebra.", "max_turns": 1})
    result = project.run("--convoprobe-stream")
    result.stdout.fnmatch_lines(["*turn 0*", "*agent*Welcome to the shop*", "*turn 1*", "*user*A zebra.*"])


def test_each_of_several_targets_greets_in_its_own_way(project: Project) -> None:
    del project.settings["target"]
    project.settings["targets"] = {
        "cued": {"type": "python", "object": "agent.py:Plain", "greeting_cue": "Ring!"},
        "greets": {"type": "python", "object": "agent.py:Greeter"},
    }
    project.scenario({"first": "agent", "initial_query": "A zebra.", "max_turns": 1})
    assert outcome(project.run()) == {"passed": 2}
    greetings = [trial["transcript"]["turns"][0]["reply"] for trial in project.report()["trials"]]
    assert sorted(greetings) == ["Welcome to the shop, what can I do?", "You said: Ring!"]


def test_histories_with_workers(project: Project) -> None:
    project.target(type="python", object="agent.py:with_history")
    for number in range(4):
        user = {"initial_query": f"And {number}?", "history": HISTORY, "max_turns": 1}
        project.scenario(user, name=f"Continues {number}", file=f"continues_{number}.yaml")
    assert outcome(project.run("-n", "2")) == {"passed": 4}
