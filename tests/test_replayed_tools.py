"""A model with a tool, recorded and replayed by real `pytest` processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support.chat_server import ChatServer
from .support.warm_process import run
from .test_gate import Project

TOOLS = """\
def look_up(order: int) -> dict:
    \"\"\"Look an order up.\"\"\"
    return {"order": order, "state": "sent"}
"""

SCENARIO = """\
name: order
description: A customer asks for an order.
synthetic_user:
  persona: A customer
  initial_query: 'Please call look_up {"order": 7}'
  script: [Thanks]
evaluation:
  correctness_criteria: [The assistant looks the order up]
  tool_usage: {required_tools: [look_up]}
"""

KEEP_CALLS = """\
def pytest_convoprobe_result(item, result):
    calls = [call for turn in result.transcript.turns for call in turn.reply.tool_calls or ()]
    print("called:", [(call.name, dict(call.arguments), call.result, call.error) for call in calls])
"""


@pytest.fixture
def project(tmp_path: Path, chat_server: ChatServer) -> Project:
    made = Project(tmp_path, chat_server.base_url)
    made.set(target={"type": "model", "tools": ["shop.py:look_up"]})
    (tmp_path / "shop.py").write_text(TOOLS)
    (tmp_path / "conftest.py").write_text(KEEP_CALLS)
    (tmp_path / "scenarios" / "order.yaml").write_text(SCENARIO)
    return made


def test_tool_calls_are_replayed_without_a_request(project: Project, chat_server: ChatServer) -> None:
    first = project.pytest("--convoprobe-replay=record", "-s")
    assert first.returncode == 0, first.stdout
    requests = len(chat_server.requests)
    second = project.pytest("--convoprobe-replay=only", "-s")
    assert second.returncode == 0, second.stdout
    assert len(chat_server.requests) == requests > 0
    assert called(first.stdout) == called(second.stdout)
    assert "('look_up', {'order': 7}" in called(first.stdout)


def called(output: str) -> str:
    (line,) = (line for line in output.splitlines() if "called:" in line)
    return line


def test_a_replay_says_nothing_about_latency(project: Project) -> None:
    file = project.folder / "scenarios" / "order.yaml"
    file.write_text(SCENARIO + "  efficiency: {max_turn_latency: 60}\n")
    first = project.pytest("--convoprobe-replay=record")
    assert first.returncode == 0, first.stdout
    again = run("pytest_convoprobe.cli", "rejudge", "latest", cwd=project.folder)
    assert again.returncode == 0, again.stdout
    second = project.pytest("--convoprobe-replay=only")
    assert second.returncode == 1
    assert "calls of the agent's model were answered from a recording" in second.stdout
    assert "1 error" in second.stdout
    # What is stored of a replay is no measurement either.
    once_more = run("pytest_convoprobe.cli", "rejudge", "latest", cwd=project.folder)
    assert once_more.returncode != 0
    assert "answered from a recording" in once_more.stdout
