from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn
from tests.results.support import PRINTS, trial, writer
from tests.support.agent_server import AgentServer
from tests.support.chat_server import ChatServer

from .conftest import Convoprobe
from .live import project

AGENT = """\
from pytest_convoprobe import Reply

def answer(message):
    return Reply("It is done.", tool_calls=())
"""


def names(folder: Path, url: str, usage: str, tools: list[str] | None = None) -> Path:
    """A project whose scenario names tools, and whose agent may say which it has."""
    target = {"type": "python", "object": "agent.py:answer", **({"tools": tools} if tools else {})}
    file = project(folder, url, target=target)
    (folder / "agent.py").write_text(AGENT)
    file.write_text(file.read_text().replace("evaluation:", f"evaluation:\n  tool_usage: {usage}"))
    return file


def test_validate_compares_names_with_the_tools_of_the_target(folder: Path, convoprobe: Convoprobe) -> None:
    names(folder, "http://127.0.0.1:9", "{prohibited_tools: [deleteOrder, fly]}", ["delete_order"])
    assert convoprobe("validate", "scenarios").exit_code == 0
    result = convoprobe("validate", "scenarios", "--with-target")
    assert result.exit_code == 1
    assert "no tool `deleteOrder`; did you mean `delete_order`?" in result.output
    assert "no tool `fly`, so this can't fail" in result.output


def test_validate_compares_the_tools_of_faults_too(folder: Path, convoprobe: Convoprobe) -> None:
    file = names(folder, "http://127.0.0.1:9", "{}", ["delete_order"])
    file.write_text(f"{file.read_text()}faults: [{{tool: deleteOrder, kind: empty}}]\n")
    settings = folder / "convoprobe.yaml"
    settings.write_text(
        settings.read_text().replace("target:", "target:\n  faults: [{tool: find_ordr, kind: empty}]", 1)
    )
    result = convoprobe("validate", "scenarios", "--with-target")
    assert result.exit_code == 1, result.output
    assert "faults: the target has no tool `deleteOrder`; did you mean `delete_order`?" in result.output
    assert "faults: the target has no tool `find_ordr`" in result.output


def test_validate_says_that_faults_of_models_are_out_of_reach(folder: Path, convoprobe: Convoprobe) -> None:
    file = names(folder, "http://127.0.0.1:9", "{}")
    file.write_text(f"{file.read_text()}faults: [{{model: gpt-4o, kind: empty}}]\n")
    assert convoprobe("validate", "scenarios").exit_code == 0
    result = convoprobe("validate", "scenarios", "--with-target")
    assert result.exit_code == 1, result.output
    assert "no faults can be injected into calls of the model `gpt-4o`" in result.output
    settings = folder / "convoprobe.yaml"
    upstreams = "target:\n  models: {openai: https://api.openai.com/v1}"
    settings.write_text(settings.read_text().replace("target:", upstreams, 1))
    assert convoprobe("validate", "scenarios", "--with-target").exit_code == 0


CALLS_MODELS = """\
import os
import anthropic, openai

CLIENT = openai.OpenAI()

class Agent:
    def __init__(self):
        self.client = anthropic.Anthropic(api_key=os.environ["ANTHROPIC_API_KEY"])

    def send(self, message):
        raise AssertionError("no message is sent")
"""


@pytest.mark.parametrize("known", [None, "", "kk-4711-of-the-agent"])
def test_an_agent_whose_clients_want_a_key_can_be_started_without_one(
    folder: Path, convoprobe: Convoprobe, monkeypatch: pytest.MonkeyPatch, known: str | None
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
        if known is not None:
            monkeypatch.setenv(variable, known)
    models = {"openai": "http://127.0.0.1:9/v1", "anthropic": "http://127.0.0.1:9"}
    target = {"type": "python", "object": "agent.py:Agent", "models": models}
    project(folder, "http://127.0.0.1:9", target=target)
    (folder / "agent.py").write_text(CALLS_MODELS)
    result = convoprobe("validate", "scenarios", "--with-target")
    assert result.exit_code == 0, result.output
    assert "note: the target doesn't say which tools it has" in result.output
    assert os.environ.get("OPENAI_API_KEY") == known


def test_validate_says_that_the_target_does_not_know_its_tools(folder: Path, convoprobe: Convoprobe) -> None:
    names(folder, "http://127.0.0.1:9", "{required_tools: [fly]}")
    result = convoprobe("validate", "scenarios", "--with-target")
    assert result.exit_code == 0
    assert "note: the target doesn't say which tools it has" in result.output


@pytest.mark.parametrize(
    ("tools", "line"),
    [
        (["delete_order"], "✗ tools: scenarios/talk.yaml:"),
        (["delete_ordr"], "✓ tools: the target has the tools that scenarios name"),
    ],
)
def test_doctor_compares_names_too(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer, tools: list[str], line: str
) -> None:
    names(folder, chat_server.base_url, "{prohibited_tools: [delete_ordr]}", tools)
    result = convoprobe("doctor")
    assert line in result.output.replace("\\", "/").replace(f"{folder}/", "")
    assert result.exit_code == (1 if line[0] == "✗" else 0)


def test_doctor_says_that_faults_of_models_are_out_of_reach(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    file = names(folder, chat_server.base_url, "{}")
    file.write_text(f"{file.read_text()}faults: [{{model: gpt-4o, kind: empty}}]\n")
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "no faults can be injected into calls of the model `gpt-4o`" in result.output


def test_doctor_names_what_no_stored_run_has_seen(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    names(folder, chat_server.base_url, "{prohibited_tools: [delete_ordr], required_tools: [pay]}")
    stored = writer(folder / ".convoprobe")
    stored.add(trial(transcript=Transcript((Turn(1, "Hi", Reply("Done", (ToolCall("pay"),))),))), PRINTS)
    stored.close()
    result = convoprobe("doctor")
    assert "- tools: no stored run has a call of `delete_ordr` (prohibited_tools)" in result.output
    assert result.exit_code == 0


def test_doctor_says_what_a_misspelt_path_finds(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    answer = {"answer": {"text": "Hi", "tools": [{"name": "pay", "arguments": {}}]}}
    with AgentServer(lambda request: answer) as server:
        target = {"type": "http", "url": server.url, "text": "answer.text", "tool_calls": "answer.toolz"}
        project(folder, chat_server.base_url, target=target)
        result = convoprobe("doctor")
    assert result.exit_code == 1
    assert "[doesn't report tool calls, and no tokens]" in result.output
    assert (
        "✗ target: `target.tool_calls: answer.toolz` finds nothing in the answer, which has" in result.output
    )
    assert "`answer.tools[0].name`" in result.output
