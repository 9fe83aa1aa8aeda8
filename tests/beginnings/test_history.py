"""Scenarios with messages from before the conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_convoprobe.reports.json_report import schema
from tests.support.agent_server import AgentServer, Request
from tests.support.chat_server import ChatServer

from .project import HISTORY, ROOT, Project, outcome

CONTINUED = {"initial_query": "And today?", "history": HISTORY, "max_turns": 1}
CHAT = [
    {"role": "user", "content": "Where is my parcel Zebra-7?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "earlier_1",
                "type": "function",
                "function": {"name": "track", "arguments": '{"parcel": "Zebra-7"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "earlier_1", "content": '{"place": "depot"}'},
    {"role": "assistant", "content": "It left the depot yesterday."},
]


def replies(project: Project) -> list[str]:
    return [turn["reply"] for turn in project.report()["trials"][0]["transcript"]["turns"]]


def test_a_model_gets_it_as_messages(project: Project) -> None:
    project.target(type="model", model="openai/agent", system_prompt="You help.")
    project.scenario(CONTINUED)
    assert outcome(project.run()) == {"passed": 1}
    (asked,) = project.asked
    system, *before, last = asked.body["messages"]
    assert (system["role"], last) == ("system", {"role": "user", "content": "And today?"})
    assert [{**one, "content": one["content"] or ""} for one in before] == CHAT


def test_messages_of_openai_are_the_same_history(project: Project) -> None:
    project.target(type="model", model="openai/agent")
    project.scenario({**CONTINUED, "history": CHAT})
    assert outcome(project.run()) == {"passed": 1}
    before = project.asked[0].body["messages"][:-1]
    assert [{**one, "content": one["content"] or ""} for one in before] == CHAT


def test_the_agent_may_answer_what_the_user_wrote_before(project: Project) -> None:
    project.target(type="model", model="openai/agent")
    project.scenario({"first": "agent", "history": HISTORY[:1], "max_turns": 1})
    assert outcome(project.run()) == {"passed": 1}
    assert project.asked[0].body["messages"] == CHAT[:1]


def test_a_function_gets_it_as_its_history(project: Project) -> None:
    project.target(type="python", object="agent.py:with_history")
    project.scenario(CONTINUED)
    assert outcome(project.run()) == {"passed": 1}
    assert replies(project) == [f"4 before; {CHAT!r}"]


def test_a_class_reads_it_from_its_context(project: Project) -> None:
    project.target(type="python", object="agent.py:ReadsContext")
    project.scenario(CONTINUED)
    assert outcome(project.run()) == {"passed": 1}
    said = [(False, HISTORY[0]["user"], []), (True, HISTORY[1]["agent"], ["track"])]
    assert replies(project) == [repr(said)]


@pytest.mark.parametrize("made", ["class Agent(Base):\n    pass", "def Agent():\n    return Base()"])
def test_who_gets_no_context_cannot_read_it_there(project: Project, made: str) -> None:
    base = "class Base:\n    takes_history = True\n    def send(self, message):\n        return 'yes'\n"
    project.write("agent.py", f"{base}\n{made}\n")
    project.target(type="python", object="agent.py:Agent")
    project.scenario(CONTINUED)
    result = project.run()
    assert outcome(result) == {"errors": 1}
    assert "is made without a `context`" in " ".join(line.strip() for line in result.outlines)
    project.write("agent.py", f"{base}\ndef Agent(context):\n    return Base()\n")
    assert outcome(project.run()) == {"passed": 1}


def test_a_target_of_ones_own(project: Project) -> None:
    project.write(
        "conftest.py",
        """
import pytest
from pytest_convoprobe import Reply

class Target:
    name = "mine"
    takes_history = True
    async def start(self, context):
        return Talk(context)
    async def aclose(self): ...

class Talk:
    def __init__(self, context):
        self.before = [one.text for one in context.history]
    async def greet(self):
        return Reply(f"welcome back {self.before}", tool_calls=[])
    async def send(self, message):
        return Reply("yes", tool_calls=[])
    async def aclose(self): ...

@pytest.fixture
def convoprobe_target():
    return Target()
""",
    )
    project.scenario({**CONTINUED, "first": "agent"})
    assert outcome(project.run()) == {"passed": 1}
    assert replies(project)[0].startswith("welcome back ['Where is my parcel Zebra-7?'")
    project.write(
        "conftest.py", (project.folder / "conftest.py").read_text().replace("    takes_history = True\n", "")
    )
    result = project.run()
    assert outcome(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["*`history`: `Target` can't begin with what was said before*"])


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"type": "python", "object": "agent.py:Plain"}, "*give its function a parameter `history`*"),
        ({"type": "http", "url": "http://127.0.0.1:9/chat"}, "*`{{ messages }}` or `{{ history }}`*"),
        (
            {"type": "http", "preset": "a2a", "url": "http://127.0.0.1:9"},
            "*`{{ messages }}` or `{{ history }}`*",
        ),
        ({"type": "http", "preset": "langserve", "url": "http://127.0.0.1:9"}, "*`{{ earlier }}`*"),
        ({"type": "http", "preset": "openai-responses", "url": "http://127.0.0.1:9"}, "*`{{ earlier }}`*"),
    ],
)
def test_a_target_that_would_not_read_it_is_an_error(
    project: Project, target: dict[str, Any], why: str
) -> None:
    project.target(**target)
    project.scenario(CONTINUED)
    result = project.run()
    assert outcome(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["*`history`:*"])
    text = " ".join(line.strip() for line in result.outlines)
    assert why.strip("*") in text


def test_calls_that_templates_leave_out_are_an_error(project: Project) -> None:
    body = {"before": "{% for one in history %}{{ one.content }}\n{% endfor %}", "message": "{{ message }}"}
    with AgentServer(lambda _: {"text": "yes"}) as server:
        project.target(type="http", url=f"{server.url}/chat", body=body)
        project.scenario({**CONTINUED, "history": [*HISTORY, {"user": "?"}]})
        result = project.run()
        # The results of tools are messages too, and are there.
        assert outcome(result) == {"passed": 1}
        body["before"] = "{% for one in history if one.role != 'tool' %}{{ one.content }}{% endfor %}"
        project.target(type="http", url=f"{server.url}/chat", body=body)
        result = project.run()
        assert outcome(result) == {"errors": 1}
        assert "no place for the `tool_calls`" in " ".join(line.strip() for line in result.outlines)
        project.scenario({**CONTINUED, "history": [{"user": "Hello?"}]})
        assert outcome(project.run()) == {"passed": 1}


@pytest.mark.parametrize(
    ("messages", "missing"),
    [
        ("{{ messages[-2:] }}", "message 1 of the history, which the user wrote"),
        ("{{ (history | list)[:1] }}", "message 2 of the history, which the agent wrote"),
        (
            "{{ messages | selectattr('role', 'equalto', 'user') | list }}",
            "message 2 of the history, which the agent wrote",
        ),
        (
            "{{ earlier | rejectattr('role', 'equalto', 'user') | list }}",
            "message 1 of the history, which the",
        ),
    ],
)
def test_a_part_of_it_is_not_enough(project: Project, messages: str, missing: str) -> None:
    with AgentServer(lambda _: {"text": "yes"}) as server:
        body = {"messages": messages, "message": "{{ message }}"}
        project.target(type="http", url=f"{server.url}/chat", body=body)
        said = [{"user": "Where is it?"}, {"agent": "On its way."}, {"user": "Where is it now?"}]
        project.scenario({**CONTINUED, "history": said})
        result = project.run()
        assert outcome(result) == {"errors": 1}
        assert missing in " ".join(line.strip() for line in result.outlines)
        assert server.requests == []


@pytest.mark.parametrize("name", ["messages", "earlier"])
def test_a_service_that_greets_gets_it_before(project: Project, name: str) -> None:
    start = {"url": "/sessions", "text": "welcome"}
    with AgentServer(lambda _: {"text": "yes", "welcome": "Hello again."}) as server:
        body = {"before": f"{{{{ {name} }}}}", "message": "{{ message }}"}
        project.target(type="http", url=f"{server.url}/chat", body=body, start=start)
        project.scenario({**CONTINUED, "first": "agent"})
        result = project.run()
        assert outcome(result) == {"errors": 1}
        assert "`{{ earlier }}` in `target.start.body`" in " ".join(line.strip() for line in result.outlines)
        assert server.requests == []
        told = {**start, "body": {"before": "{{ earlier }}"}}
        project.target(type="http", url=f"{server.url}/chat", body=body, start=told)
        assert outcome(project.run()) == {"passed": 1}
        assert server.requests[0].json["before"] == CHAT


def test_services_get_it_in_their_requests(project: Project) -> None:
    def answer(request: Request) -> Any:
        return {"choices": [{"message": {"role": "assistant", "content": "It is here."}}]}

    with AgentServer(answer) as server:
        project.target(type="http", preset="openai-chat", url=f"{server.url}/v1")
        project.scenario(CONTINUED)
        assert outcome(project.run()) == {"passed": 1}
        assert server.requests[0].json["messages"] == [*CHAT, {"role": "user", "content": "And today?"}]


def test_a_service_that_remembers_gets_it_once(project: Project) -> None:
    body = {"messages": "{{ earlier + [{'role': 'user', 'content': message}] }}"}
    with AgentServer(lambda _: {"text": "yes"}) as server:
        project.target(type="http", url=f"{server.url}/chat", body=body)
        project.scenario({**CONTINUED, "max_turns": 2, "script": ["And tomorrow?"]})
        assert outcome(project.run()) == {"passed": 1}
        first, second = (request.json["messages"] for request in server.requests)
    assert first[:-1] == CHAT
    assert second == [{"role": "user", "content": "And tomorrow?"}]


def test_calls_in_it_are_not_the_agents(project: Project) -> None:
    def answer(request: Request) -> Any:
        said = request.json["messages"]
        return {"messages": [*said, {"role": "assistant", "content": "Yes.", "tool_calls": []}]}

    with AgentServer(answer) as server:
        project.target(
            type="http",
            url=f"{server.url}/chat",
            body={"messages": "{{ messages }}"},
            text="messages",
            tool_calls="messages",
            history_in_answer=True,
        )
        usage = {"required_tools": ["track"]}
        project.scenario({**CONTINUED, "max_turns": 2, "script": ["Ok?"]}, tool_usage=usage)
        result = project.run()
    assert outcome(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["*required tool track*found no call*"])
    assert [turn["tool_calls"] for turn in project.report()["trials"][0]["transcript"]["turns"]] == [[], []]


def test_the_user_knows_what_was_said(project: Project) -> None:
    project.target(type="python", object="agent.py:with_history")
    project.scenario({**CONTINUED, "max_turns": 2})
    project.run()
    asked = next(one for one in project.server.requests if "You play a person" in one.prompt)
    system = asked.contents[0]
    assert "- You: Where is my parcel Zebra-7?\n- The assistant: It left the depot yesterday.\n" in system
    assert "track" not in system


def judged(project: Project) -> str:
    prompts = (
        one.prompt for one in project.server.requests if "You examine a finished conversation" in one.prompt
    )
    return next(prompts)


def test_the_judge_sees_it_apart_from_the_conversation(project: Project) -> None:
    project.target(type="python", object="agent.py:with_history")
    project.scenario(CONTINUED)
    project.run()
    text = judged(project)
    before, _, talk = text.partition("The conversation itself begins here.")
    assert "it proves nothing, don't quote it" in before
    assert "earlier, agent:\n  | It left the depot yesterday." in before
    assert "agent calls a tool:" not in before.partition("<<<conversation")[2]
    assert "Turn 1" in talk


def test_a_quote_from_it_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(body: Mapping[str, Any]) -> Any:
        found = {
            "finding": "It says where the parcel is.",
            "quote": "It left the depot yesterday.",
            "turn": 1,
            "absence": False,
            "verdict": "met",
        }
        return json.dumps({"c1": found})

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with ChatServer(judge) as server:
        project = Project(tmp_path / "project", server)
        project.target(type="python", object="agent.py:answer")
        project.write("agent.py", "def answer(message, history):\n    return 'I will see.'\n")
        project.scenario(CONTINUED)
        result = project.run()
    assert outcome(result) == {"errors": 1}
    asked = [one.prompt for one in server.requests]
    assert any("is from before the conversation, which proves nothing" in prompt for prompt in asked)


def test_every_report_shows_it_apart(project: Project) -> None:
    project.target(type="python", object="agent.py:with_history")
    project.scenario(CONTINUED, tool_usage={"required_tools": ["track"]})
    result = project.run("--convoprobe-html=page.html", "-v")
    result.stdout.fnmatch_lines(
        [
            "Before the conversation (no evidence)",
            "*user *Where is my parcel Zebra-7?",
            "*tool *track(*",
            "Conversation",
        ]
    )
    report = project.report()
    jsonschema.validate(report, schema())
    before = report["trials"][0]["transcript"]["history"]
    assert [next(iter(one.items())) for one in before] == [
        ("user", "Where is my parcel Zebra-7?"),
        ("agent", "It left the depot yesterday."),
    ]
    assert before[1]["tool_calls"][0]["result"] == {"place": "depot"}
    assert "Before the conversation (no evidence)" in (project.folder / "page.html").read_text(
        encoding="utf-8"
    )
    assert project.command("rejudge", "latest").ret == 0


def test_secrets_in_it_are_masked(project: Project) -> None:
    key = project.settings["llm"]["api_key"]
    project.target(type="python", object="agent.py:ReadsContext")
    project.scenario({**CONTINUED, "history": [{"user": f"My key is {key}"}]})
    result = project.run("-vv", "--convoprobe-html=page.html")
    assert key not in "\n".join(result.outlines)
    for path in (project.folder / ".convoprobe").rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes()
    assert key not in (project.folder / "page.html").read_text(encoding="utf-8")


def test_personal_data_in_it_is_masked(project: Project) -> None:
    project.settings["results"] = {"mask": ["email"]}
    project.target(type="python", object="agent.py:ReadsContext")
    project.scenario({**CONTINUED, "history": [{"user": "I am greta.olsson@shop.se"}]})
    assert outcome(project.run("--convoprobe-html=page.html")) == {"passed": 1}
    assert "greta.olsson" not in judged(project)
    kept = [path for path in (project.folder / ".convoprobe").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"greta.olsson" in path.read_bytes() for path in kept)
    assert "greta.olsson" not in (project.folder / "page.html").read_text(encoding="utf-8")
    assert project.command("rejudge", "latest").ret == 0
