"""`convoprobe judge`: exports of real conversations, with a judge on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.generate.exported import read_export
from pytest_convoprobe.transcript import Reply, Termination, Transcript, Turn
from tests.support.chat_server import ChatServer

from .conftest import Convoprobe
from .stored import passed, store

RULES = """
name: Refund rules
description: Refunds need a receipt.
evaluation:
  correctness_criteria: [{text: It answers the question, about: any, shows: presence, opposite: It does not}]
"""
CHECKS = """
name: No refunds
description: Refunds are for people.
evaluation:
  tool_usage: {prohibited_tools: [refund]}
"""


def said(user: str, agent: str | None, *calls: str) -> list[dict[str, Any]]:
    """The messages of one turn; `agent` is None where no reply came."""
    asked: list[dict[str, Any]] = [{"role": "user", "content": user}]
    for number, name in enumerate(calls):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        asked.append({"role": "assistant", "content": None, "tool_calls": [call]})
        asked.append({"role": "tool", "tool_call_id": f"c{number}", "content": "done"})
    return asked if agent is None else [*asked, {"role": "assistant", "content": agent}]


@pytest.fixture
def judge(folder: Path) -> Iterator[ChatServer]:
    with ChatServer() as server:
        model = f"{{model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123}}"
        (folder / "convoprobe.yaml").write_text(
            f"llm: {model}\nrun: {{replay: only}}\nresults: {{mask: [email]}}\n"
        )
        (folder / "_rules.yaml").write_text(RULES)
        (folder / "_checks.yaml").write_text(CHECKS)
        yield server


def export(folder: Path, *conversations: list[dict[str, Any]], name: str = "export.jsonl") -> str:
    lines = [json.dumps({"id": f"talk-{n}", "messages": one}) for n, one in enumerate(conversations, start=1)]
    (folder / name).write_text("\n".join(lines))
    return name


def test_each_conversation_has_a_verdict_and_the_run_is_stored(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer
) -> None:
    talks = [said("Where is my parcel?", "On its way"), said("Hi", "Hello jane@shop.example")]
    result = convoprobe("judge", export(folder, *talks), "--by", "_rules.yaml", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.output)
    assert [one["conversation"] for one in report["verdicts"]] == [
        "export.jsonl: conversation 1 talk-1",
        "export.jsonl: conversation 2 talk-2",
    ]
    assert {one["scenario_id"] for one in report["verdicts"]} == {
        "_rules.yaml::Refund rules[real conversations]"
    }
    assert len(judge.requests) == 2
    # What is stored and sent has no personal data; each command reads the run like any other.
    stored = "".join(path.read_text() for path in (folder / ".convoprobe").rglob("*.jsonl"))
    assert "[email 1]" in stored
    assert "jane@shop.example" not in stored + json.dumps(judge.requests, default=str)
    shown = convoprobe("show", "latest", "Refund", "--trial", "1")
    assert "Where is my parcel?" in shown.output
    later = export(folder, said("Where is it?", "Here"), name="later.jsonl")
    assert convoprobe("judge", later, "--by", "_rules.yaml").exit_code == 0
    compared = convoprobe("compare", "latest~1", "latest")
    assert compared.exit_code == 0
    assert "changed between the runs" not in compared.output
    assert convoprobe("report", "latest", "--html", "-o", "page.html").exit_code == 0
    assert convoprobe("rejudge", "latest").exit_code == 0


def test_checks_by_code_ask_nobody(folder: Path, convoprobe: Convoprobe, judge: ChatServer) -> None:
    name = export(folder, said("Money back", "Done", "refund"), said("Money back", "No", "find"))
    result = convoprobe("judge", name, "--by", "_checks.yaml")
    assert result.exit_code == 1
    assert "failed  export.jsonl: conversation 1 talk-1" in result.output
    assert (
        "No refunds [real conversations]: prohibited tool refund: expected no call, found 1 call"
        in result.output
    )
    assert "No refunds [real conversations]: 1 passed, 1 failed" in result.output
    assert judge.requests == []


def test_calls_that_an_export_does_not_name_are_not_known(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer
) -> None:
    name = export(folder, said("Money back", "No"))
    result = convoprobe("judge", name, "--by", "_checks.yaml")
    assert result.exit_code == 3
    assert (
        "no call of a tool is named in 1 conversation, so nothing is known about calls there" in result.output
    )
    assert convoprobe("judge", name, "--by", "_checks.yaml", "--all-calls").exit_code == 0


def test_a_conversation_that_is_not_over_has_no_verdict(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer
) -> None:
    name = export(folder, said("Hi", "Hello") + said("Are you there?", None))
    result = convoprobe("judge", name, "--by", "_rules.yaml")
    assert result.exit_code == 3
    assert "the conversation ends with a message of the user that has no reply" in result.output
    again = convoprobe("rejudge", "latest")
    assert "the conversation broke off (infrastructure error): only a complete one" in again.output
    assert judge.requests == []
    assert "run again" not in convoprobe("show", "latest", "Refund").output


def test_a_stored_trial_that_broke_off_has_no_verdict(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer
) -> None:
    talk = Transcript((Turn(1, "Hi", Reply("Hello", ())),), Termination.TIMEOUT)
    store(folder, 1, [passed("refund", transcript=talk), passed("parcel")])
    (stored,) = (folder / ".convoprobe").rglob("trials-*.jsonl")
    result = convoprobe("judge", str(stored), "--by", "_rules.yaml")
    assert "the conversation broke off (timeout): only a complete one can be judged" in result.output
    assert "1 passed, 1 error" in result.output


def test_what_is_left_out_is_said(folder: Path, convoprobe: Convoprobe, judge: ChatServer) -> None:
    name = export(folder, *[said(f"Question {number}", "Answer") for number in range(4)])
    with (folder / name).open("a") as file:
        file.write('\n{"id": "x", "messages": []}\n')
    result = convoprobe("judge", name, "--by", "_rules.yaml", "--limit", "1")
    assert result.exit_code == 0
    assert "3 of 4 conversations were left out (--limit)" in result.output
    assert "export.jsonl: 1 record without a message of a user" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export.jsonl", "--by", "_rules.yml"], "_rules.yml: there is no such file"),
        (["export.jsonl", "--by", "_rules.yaml::Other"], "_rules.yaml has no 'Other'; it has Refund rules"),
        (
            ["export.jsonl", "--by", "_bad.yaml"],
            "_bad.yaml:3:1: evaluaton: unknown key; did you mean `evaluation`?",
        ),
        (["empty.json", "--by", "_rules.yaml"], "empty.json: no message of a user was found"),
        (["broken.json", "--by", "_rules.yaml"], "broken.json: it is not JSON"),
        (["folder", "--by", "_rules.yaml"], "folder cannot be read: Is a directory"),
    ],
)
def test_what_is_asked_wrongly(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer, words: list[str], message: str
) -> None:
    export(folder, said("Hi", "Hello"))
    (folder / "_bad.yaml").write_text("name: n\ndescription: d\nevaluaton: {}\n")
    (folder / "empty.json").write_text("[]")
    (folder / "broken.json").write_text("[{")
    (folder / "folder").mkdir()
    result = convoprobe("judge", *words)
    assert result.exit_code == 2
    assert message in result.output


OWN = """
import json
def polite(transcript):
    return "please" in transcript.turns[-1].reply.text
def saved(agent):
    return agent.saved
"""


@pytest.mark.parametrize("criteria", ["", "correctness_criteria: [It answers the question]"])
def test_checks_of_the_project_are_called(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer, criteria: str
) -> None:
    (folder / "own.py").write_text(OWN)
    rules = "name: Own\ndescription: d\nevaluation:\n  checks: ['own.py:{}']\n  {}\n"
    (folder / "_own.yaml").write_text(rules.format("polite", criteria))
    name = export(folder, said("Hi", "Yes please"), said("Hi", "No"))
    result = convoprobe("judge", name, "--by", "_own.yaml", "--json")
    assert [one["outcome"] for one in json.loads(result.output)["verdicts"]] == ["passed", "failed"]
    # The agent that talked is somewhere else: nobody knows what it has saved.
    (folder / "_own.yaml").write_text(rules.format("saved", criteria))
    result = convoprobe("judge", name, "--by", "_own.yaml")
    assert result.exit_code == 3
    assert "`own.py:saved` looks at the agent or its state, which is gone" in result.output


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_what_was_judged_is_stored_however_it_ends(
    folder: Path, convoprobe: Convoprobe, end: signal.Signals
) -> None:
    """The judge answers two questions, and then never again."""
    answered = ["hang" if number > 1 else None for number in range(50)]
    with ChatServer(faults=answered) as server:
        model = f"{{model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123}}"
        (folder / "convoprobe.yaml").write_text(f"llm: {model}\nrun: {{concurrency: 1, replay: 'off'}}\n")
        (folder / "_rules.yaml").write_text(RULES)
        name = export(folder, *[said(f"Question {number}", "Answer") for number in range(5)])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "pytest_convoprobe.cli", "judge", name, "--by", "_rules.yaml"]
        with subprocess.Popen(
            command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            deadline = time.monotonic() + 60
            while len(server.requests) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
            process.send_signal(end)
            said_last = process.stderr.read()
            assert process.wait(60) != 0
    assert ("what was judged until now is stored: convoprobe show " in said_last) is (end == signal.SIGINT)
    checked = convoprobe("check", "latest")
    assert checked.exit_code == 1
    assert "2 passed" in checked.output


def test_they_are_no_past_of_a_gate(folder: Path, convoprobe: Convoprobe, judge: ChatServer) -> None:
    """Nor are they trials of the same thing, of which some fail by chance."""
    talks = [said("Money back", "Done", *(["refund"] if number % 2 else ["find"])) for number in range(6)]
    export(folder, *talks)
    assert convoprobe("judge", "export.jsonl", "--by", "_checks.yaml").exit_code == 1
    updated = convoprobe("baseline", "update")
    assert "6 conversations left out: they really happened" in updated.output
    assert not (folder / "_baseline.json").exists()
    assert "no scenario with 5 trials or more has varying outcomes" in convoprobe("flaky").output
    audited = convoprobe("audit", "--dry-run")
    assert "real conversations" not in audited.output


def test_names_of_files_and_ids_are_personal_too(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer
) -> None:
    name = "jane@shop.example.jsonl"
    talk = {"id": "for-bob@shop.example", "messages": said("Hi", "Hello")}
    broken = {"id": "ann@shop.example", "messages": [*said("Hi", None), {"role": "tool", "content": "x"}]}
    (folder / name).write_text(f"{json.dumps(talk)}\n{json.dumps(broken)}\n")
    result = convoprobe("judge", name, "--by", "_rules.yaml", "--json")
    assert [one["conversation"] for one in json.loads(result.output)["verdicts"]] == [
        "[email]: conversation 1 [email]",
        "[email]: conversation 2 [email]",
    ]
    kept = "".join(path.read_text() for path in (folder / ".convoprobe").rglob("*.json*"))
    assert "[email]" in kept
    assert "shop.example" not in kept.replace("for-", "") + result.output


def test_one_that_cannot_be_read_leaves_the_others(
    folder: Path, convoprobe: Convoprobe, judge: ChatServer
) -> None:
    silent = [*said("Hi", None), {"role": "bot", "content": "Hello"}]
    nameless = [*said("Hi", None), {"role": "assistant", "content": "", "tool_calls": [None]}]
    name = export(folder, said("Hi", "Hello"), silent, nameless, said("Where?", "Here"))
    result = convoprobe("judge", name, "--by", "_rules.yaml")
    assert result.exit_code == 3
    assert "Refund rules [real conversations]: 2 passed, 2 error" in result.output
    assert "error   export.jsonl: conversation 2 talk-2" in result.output
    assert "a message of the agent can't be read: its messages have none with the role" in result.output
    assert "a message of the agent can't be read: a tool call has no name" in result.output


def run(trace: str, asked: list[Any], answer: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": f"run-{trace}-{len(asked)}",
        "trace_id": trace,
        "run_type": "llm",
        "inputs": {"messages": [asked]},
        "outputs": {"generations": [[{"message": answer}]]},
        **more,
    }


ONE, TWO = said("One?", "1"), said("Two?", "2")
TEXTS = {"input": "One?", "output": "1"}
TOOL_RUN = {
    "id": "t",
    "trace_id": "a",
    "run_type": "tool",
    "parent_run_id": "run-a-1",
    "inputs": {"query": "Three?"},
    "outputs": {"output": "3"},
}
THREAD = {"extra": {"metadata": {"thread_id": "thread"}}}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ([ONE, TWO], [("", 1), ("", 1)]),
        ([{"id": "x", "messages": ONE}, {"id": "y", "messages": TWO}], [("x", 1), ("y", 1)]),
        # LangSmith: a trace with a tool's run; two traces; two of a thread, with and without what was said.
        ([run("a", ONE[:1], ONE[1]), TOOL_RUN], [("a", 1)]),
        ({"runs": [run("a", ONE[:1], ONE[1]), run("b", TWO[:1], TWO[1])]}, [("a", 1), ("b", 1)]),
        (
            [run("b", [*ONE, TWO[0]], TWO[1], **THREAD), run("a", ONE[:1], ONE[1], **THREAD)],
            [("thread", 2)],
        ),
        ([run("a", ONE[:1], ONE[1], **THREAD), run("b", TWO[:1], TWO[1], **THREAD)], [("thread", 2)]),
        # Langfuse: traces of an API, of a session, a downloaded trace, plain texts.
        (
            {"data": [{"id": "a", **TEXTS}, {"id": "b", "input": "Two?", "output": "2"}], "meta": {}},
            [("a", 1), ("b", 1)],
        ),
        (
            [
                {"id": "b", "sessionId": "s", "timestamp": "2026-01-02", "input": "Two?", "output": "2"},
                {"id": "a", "sessionId": "s", "timestamp": "2026-01-01", **TEXTS},
            ],
            [("s", 2)],
        ),
        (
            {"id": "s", "traces": [{"id": "a", **TEXTS}, {"id": "b", "input": "Two?", "output": "2"}]},
            [("s", 2)],
        ),
        (
            {
                "trace": {"id": "t", "sessionId": "s", **TEXTS},
                "observations": [{"type": "GENERATION", "traceId": "t", "input": [ONE[0]], "output": ONE[1]}],
            },
            [("s", 1)],
        ),
    ],
)
def test_the_conversations_of_an_export(tmp_path: Path, value: Any, found: list[tuple[str, int]]) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps(value))
    conversations = read_export(file).conversations
    assert [(one.id, len(one.transcript.turns)) for one in conversations] == found
    users = [turn.user for one in conversations for turn in one.transcript.turns]
    assert users == ["One?", "Two?"][: len(users)]
