"""With a chat-completions server on loopback: a user that speaks German, and one that holds a fact back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

from .suite import TARGET, Suite

GOODBYE = "Vielen Dank, das war alles. Auf Wiedersehen!"
SCENARIO = """\
name: {name}
description: The agent books a room.
synthetic_user:
  persona: Somebody in a hurry
  initial_query: {opening}
  max_turns: 6
  clarification_behavior:
    known_facts: ["Das Zimmer ist Edelweiss"]
evaluation:
  correctness_criteria: [The agent answers]
  efficiency: {{max_conversation_turns: 3}}
"""


def answer(body: Mapping[str, Any]) -> Any:
    """By what the system prompt is about: the user, the guard's question, the review, else the default."""
    system = str(body["messages"][0]["content"])
    last = str(body["messages"][-1]["content"])
    if system.startswith("You check one message"):
        before = GOODBYE in last.partition("The assistant's last reply")[0]
        return {"by_assistant": False, "takes_leave": GOODBYE in last, "took_leave_before": before}
    if system.startswith("You play a person"):
        vague = "Somebody vague" in system
        words = f"Ach, irgendein Zimmer eben, zum {len(body['messages'])}. Mal" if vague else GOODBYE
        return {"message": words, "status": "continue"}
    if system.startswith("You examine the user's side"):
        question = {"fact": "fact 1", "turn": 2, "question": "Which room do you want?"}
        return {"finding": "Vague.", "withheld": [question], "explains": ["check 1"]}
    return default_answer(body)


@pytest.fixture
def live(suite: Suite) -> Iterator[Suite]:
    with ChatServer(answer) as server:
        suite.write(
            "conftest.py", "import pytest\n" + TARGET.replace("echo ", "Which room do you want? You said: ")
        )
        settings = {"model": "openai/fake", "api_base": server.base_url, "api_key": "sk-not-a-real-key-123"}
        suite.write("convoprobe.yaml", json.dumps({"llm": settings, "run": {"now": "2026-11-28T14:30:00Z"}}))
        yield suite


def test_goodbyes_in_german_end_the_conversation(live: Suite) -> None:
    live.write("scenarios/a.yaml", SCENARIO.format(name="German", opening="Ich brauche ein Zimmer"))
    result = live.run_process("--convoprobe-replay=record")
    result.assert_outcomes(passed=1)
    again = live.run_process("--convoprobe-replay=only")
    again.assert_outcomes(passed=1)


def test_a_user_that_holds_a_fact_back_is_an_error_of_the_simulator(live: Suite) -> None:
    text = SCENARIO.format(name="Vague", opening="Ich brauche ein Zimmer")
    live.write("scenarios/a.yaml", text.replace("Somebody in a hurry", "Somebody vague"))
    result = live.run_process()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*blame *simulator*",
            '*never said "Das Zimmer ist Edelweiss", although*',
            "*known facts never said: Das Zimmer ist Edelweiss*",
            "*Saturday, 28 November 2026, 14:30 (UTC)*",
        ]
    )
