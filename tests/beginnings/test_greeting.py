"""Scenarios in which the agent speaks first."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from pytest_convoprobe.reports.json_report import schema
from tests.support.agent_server import AgentServer, Request

from .project import Project, outcome

FIRST = {"first": "agent", "initial_query": "I want to buy a zebra.", "max_turns": 1}

QUIET = """
from pytest_convoprobe import Reply, ToolCall

class Quiet:
    def greet(self):
        return TEXT
    def send(self, message):
        return f"You said: {message}"
"""


def test_the_greeting_is_turn_0_and_counts_as_no_turn(project: Project) -> None:
    limits = {"max_conversation_turns": 1, "max_tool_calls": 1}
    usage = {"required_tools": ["open_shop"]}
    project.scenario({**FIRST}, efficiency=limits, tool_usage=usage)
    assert outcome(project.run()) == {"passed": 1}
    greeting, answer = project.report()["trials"][0]["transcript"]["turns"]
    assert (greeting["number"], greeting["origin"], greeting["user"]) == (0, "greeting", "")
    assert greeting["reply"] == "Welcome to the shop, what can I do?"
    assert (answer["number"], answer["origin"], answer["user"]) == (1, "initial", "I want to buy a zebra.")


def test_a_tool_call_of_the_greeting_is_found_against_the_agent(project: Project) -> None:
    project.scenario({**FIRST}, tool_usage={"prohibited_tools": ["open_shop"]})
    result = project.run()
    assert outcome(result) == {"failed": 1}
    result.stdout.fnmatch_lines(
        ["*turn 0 (the agent speaks first)*", "*open_shop*", "*agent*Welcome to the shop*"]
    )
    assert "(nothing)" not in "\n".join(result.outlines)


def test_a_user_without_a_first_message_answers_the_greeting(project: Project) -> None:
    project.scenario({"first": "agent", "max_turns": 2})
    assert outcome(project.run()) == {"passed": 1}
    turns = project.report()["trials"][0]["transcript"]["turns"]
    assert [(turn["number"], turn["origin"]) for turn in turns] == [
        (0, "greeting"),
        (1, "simulated"),
        (2, "simulated"),
    ]
    first = next(one for one in project.server.requests if "You play a person" in one.prompt)
    assert "The assistant writes first." in first.contents[0]
    assert "Welcome to the shop" in first.contents[-1]
    assert "Write your first message" in first.contents[-1]
    assert [message["role"] for message in first.body["messages"]] == ["system", "user"]


def test_the_script_goes_on_after_the_answer_to_the_greeting(project: Project) -> None:
    project.scenario({"first": "agent", "script": ["And a lion."], "max_turns": 5})
    assert outcome(project.run()) == {"passed": 1}
    transcript = project.report()["trials"][0]["transcript"]
    assert [turn["origin"] for turn in transcript["turns"]] == ["greeting", "simulated", "script"]
    assert transcript["termination"] == "user_done"


def test_an_agent_that_ends_with_its_greeting(project: Project) -> None:
    project.target(type="python", object="agent.py:Closing")
    project.scenario(
        {**FIRST, "max_turns": 5, "script": ["Then two."]}, tool_usage={"required_tools": ["sell"]}
    )
    result = project.run()
    assert outcome(result) == {"failed": 1}
    shown = " ".join(result.stdout.str().split())
    assert (
        "the agent ended the conversation with 2 scripted messages unsaid, after the agent's greeting"
        in shown
    )
    transcript = project.report()["trials"][0]["transcript"]
    assert (transcript["unsaid"], transcript["termination"]) == (2, "agent_ended")


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_agent_that_was_to_greet_and_says_nothing_fails(project: Project, text: str) -> None:
    project.write("quiet.py", QUIET.replace("TEXT", repr(text)))
    project.target(type="python", object="quiet.py:Quiet")
    project.scenario(FIRST)
    result = project.run()
    assert outcome(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["*the agent speaks first: *found an empty*"])
    assert project.command("rejudge", "latest").ret == 0
    assert "the agent speaks first" in json.dumps(project.report())


def test_a_tool_call_is_a_greeting_too(project: Project) -> None:
    project.write(
        "quiet.py", QUIET.replace("TEXT", "Reply('', tool_calls=[ToolCall('open_shop', {}, 'ok')])")
    )
    project.target(type="python", object="quiet.py:Quiet")
    project.scenario(FIRST)
    assert outcome(project.run()) == {"passed": 1}


def test_a_crash_in_the_greeting_is_the_agents_failure(project: Project) -> None:
    project.target(type="python", object="agent.py:Crashing")
    project.scenario(FIRST)
    result = project.run()
    assert outcome(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["*no greeting today*"])
    transcript = project.report()["trials"][0]["transcript"]
    assert (transcript["pending"], transcript["turns"]) == ("", [])


def test_a_greeting_that_takes_too_long_names_turn_0(project: Project) -> None:
    project.target(type="python", object="agent.py:Slow")
    project.settings["run"] = {"turn_timeout": 0.5}
    project.scenario(FIRST)
    result = project.run()
    assert outcome(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["*turn 0*"])


@pytest.mark.parametrize(
    "target",
    [
        {"type": "python", "object": "agent.py:Plain"},
        {"type": "python", "object": "agent.py:with_history"},
        {"type": "http", "url": "http://127.0.0.1:9/chat"},
    ],
)
def test_an_agent_that_cannot_greet_is_an_error_with_the_remedy(
    project: Project, target: dict[str, Any]
) -> None:
    project.target(**target)
    project.scenario(FIRST)
    result = project.run()
    assert outcome(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["*`first: agent`: this *has no way to speak first*"])
    assert "greeting_cue" in "".join(result.outlines)


def test_a_cue_makes_any_agent_greet(project: Project) -> None:
    project.target(type="python", object="agent.py:Plain", greeting_cue="(The call begins.)")
    project.scenario(FIRST)
    assert outcome(project.run()) == {"passed": 1}
    turns = project.report()["trials"][0]["transcript"]["turns"]
    assert [turn["reply"] for turn in turns] == [
        "You said: (The call begins.)",
        "You said: I want to buy a zebra.",
    ]
    assert turns[0]["user"] == ""


def test_a_model_is_called_with_its_system_prompt_alone(project: Project) -> None:
    project.target(type="model", model="openai/agent", system_prompt="You sell zebras.")
    project.scenario(FIRST)
    assert outcome(project.run()) == {"passed": 1}
    first, second = (one.body["messages"] for one in project.asked)
    assert first == [{"role": "system", "content": "You sell zebras."}]
    assert [one["role"] for one in second] == ["system", "assistant", "user"]


def test_a_service_greets_in_the_answer_that_opens_a_session(project: Project) -> None:
    def answer(request: Request) -> Any:
        if request.path == "/sessions":
            return {"id": "s1", "welcome": {"text": "Hello from the service."}}
        return {"text": f"{request.json['session']}: {request.json['messages']}"}

    with AgentServer(answer) as server:
        project.target(
            type="http",
            url=f"{server.url}/chat",
            body={"session": "{{ session.id }}", "messages": "{{ messages }}"},
            start={"url": "/sessions", "text": "welcome.text"},
        )
        project.scenario(FIRST)
        assert outcome(project.run()) == {"passed": 1}
        assert [one.path for one in server.requests] == ["/sessions", "/chat"]
        assert server.requests[1].json["messages"][0] == {
            "role": "assistant",
            "content": "Hello from the service.",
        }
    turns = project.report()["trials"][0]["transcript"]["turns"]
    assert turns[0]["reply"] == "Hello from the service."


def test_a_service_whose_greeting_is_not_where_the_settings_say(project: Project) -> None:
    with AgentServer(lambda _: {"id": "s1"}) as server:
        project.target(type="http", url=f"{server.url}/chat", start={"url": "/sessions", "text": "welcome"})
        project.scenario(FIRST)
        result = project.run()
    assert outcome(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["*`start.text: welcome` finds no text*"])


def test_every_report_shows_the_greeting(project: Project) -> None:
    project.scenario({**FIRST, "first": "agent"}, tool_usage={"prohibited_tools": ["open_shop"]})
    project.run("--convoprobe-html=page.html", "--junitxml=j.xml", "-vv")
    jsonschema.validate(project.report(), schema())
    page = (project.folder / "page.html").read_text(encoding="utf-8")
    assert "the agent speaks first" in page
    markdown = "\n".join(project.command("report", "--md").outlines)
    assert "> Turn 0<br>" in markdown
    assert "_user:_" not in markdown.partition("> Turn 0")[2].partition("\n")[0]
    project.command("show", "latest", "Begins").stdout.fnmatch_lines(["*turn 0 (the agent speaks first)*"])


def test_stored_conversations_are_judged_and_changed_as_any_other(project: Project) -> None:
    project.scenario(FIRST, tool_usage={"required_tools": ["open_shop"]})
    project.run()
    assert project.command("rejudge", "latest").ret == 0
    assert project.command("mutate", "latest").ret in (0, 1)
    project.command("report").stdout.no_fnmatch_line("*error*")


def test_a_replay_needs_no_model(project: Project) -> None:
    project.target(type="model", model="openai/agent", system_prompt="You sell zebras.")
    project.scenario({"first": "agent", "max_turns": 2})
    assert outcome(project.run("--convoprobe-replay=auto")) == {"passed": 1}
    before = len(project.server.requests)
    assert outcome(project.run("--convoprobe-replay=only")) == {"passed": 1}
    assert len(project.server.requests) == before
    recorded = json.loads(next((project.folder / "_recordings").rglob("*.json")).read_text(encoding="utf-8"))
    assert recorded
