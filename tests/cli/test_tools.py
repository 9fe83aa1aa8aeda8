from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_convoprobe.cli import main
from tests.support.chat_server import ChatServer

TOOLS = '''
def look_up(order: str, limit: int = 3) -> str:
    """Looks up an order.

    Args:
        order: Its number.
    """
    return order


def lookup(order):
    pass
'''
MODEL = "target: {type: model, model: openai/x, tools: ['shop.py:look_up', 'shop.py:lookup']}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shop.py").write_text(TOOLS)
    (tmp_path / "convoprobe.yaml").write_text(MODEL)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tools(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["tools", *arguments])


@pytest.mark.usefixtures("project")
def test_tools_are_listed_and_reviewed() -> None:
    result = tools()
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[1].split("  ")[0] == "look_up"
    assert "order: string, [limit: integer]" in lines[1]
    assert "look_up: a model can't tell it from `lookup`: the names differ in case and signs only" in lines
    assert "lookup: its description only repeats its name" in lines
    assert "lookup: the parameter `order` has no type" in lines
    assert "    low undocumented-parameter: say what it is, in which form and unit" in lines
    assert lines[-1].startswith("2 tools reviewed: ")


@pytest.mark.usefixtures("project")
def test_as_json_and_with_rules_left_out() -> None:
    ignored = [
        word
        for rule in ("alike", "no-description", "untyped-parameter", "undocumented-parameter")
        for word in ("--ignore", rule)
    ]
    result = tools("--json", *ignored)
    assert result.exit_code == 0
    data = json.loads(result.output)
    assert [tool["name"] for tool in data["tools"]] == ["look_up", "lookup"]
    assert data["suggestions"] == []


@pytest.mark.usefixtures("project")
def test_an_unknown_rule_is_a_usage_error() -> None:
    result = tools("--ignore", "alikes")
    assert result.exit_code == 2
    assert "did you mean" in result.output


def test_names_alone_are_not_enough(project: Path) -> None:
    text = "target: {type: python, object: 'shop.py:lookup', tools: [lookup]}\n"
    (project / "convoprobe.yaml").write_text(text)
    result = tools()
    assert result.exit_code == 3
    assert "only the names of the tools are known" in result.output


def test_a_target_that_does_not_say_its_tools_is_not_a_good_one(project: Path) -> None:
    (project / "convoprobe.yaml").write_text("target: {type: python, object: 'shop.py:lookup'}\n")
    result = tools()
    assert result.exit_code == 3
    assert "doesn't say which tools it has" in result.output


def with_judge(project: Path, url: str) -> None:
    judge = (
        f"judge: {{model: openai/judge, api_base: '{url}', api_key: sk-test-0123456789, max_attempts: 1}}\n"
    )
    (project / "convoprobe.yaml").write_text(MODEL + judge)


def test_a_models_suggestions(project: Path) -> None:
    def answer(body: dict[str, Any]) -> str:
        shown = body["messages"][-1]["content"]
        assert "| look_up\n| Looks up an order." in shown
        said = {"issue": "No\x1b[2J form.", "suggestion": "Name\nthe form.", "severity": "HIGH"}
        about = [("`look_up`", "Parameters!"), ("delete_all", "name")]
        return json.dumps({"suggestions": [{**said, "tool": tool, "category": word} for tool, word in about]})

    with ChatServer(answer) as server:
        with_judge(project, server.base_url)
        result = tools("--llm", "--json")
        shown = tools("--llm")
        assert len(server.requests) == 2
    assert (result.exit_code, shown.exit_code) == (1, 1)
    data = json.loads(result.stdout)
    assert data["suggestions"][-1] == {
        "category": "parameters",
        "tool": "look_up",
        "issue": "No\\x1b[2J form.",
        "suggestion": "Name the form.",
        "severity": "high",
        "source": "model",
    }
    assert data["notes"] == ["left out: 1 suggestion about tools that the agent doesn't have"]
    assert "    high parameters: the model suggests: Name the form." in shown.stdout
    assert "1 call, " in shown.stderr


def test_a_model_that_gives_no_answer_is_trouble(project: Path) -> None:
    with ChatServer(lambda body: "no JSON") as server:
        with_judge(project, server.base_url)
        result = tools("--llm")
    assert result.exit_code == 3
    assert "look_up: a model can't tell it from `lookup`" in result.stdout
    assert "no opinion: The judge's model openai/judge gave no usable reply" in result.stderr


HOSTILE = """
from pytest_convoprobe.llm.port import ToolSpec
from pytest_convoprobe.targets.port import Description


class Agent:
    name = "own"

    async def start(self, context):
        return self

    async def send(self, message):
        return message

    async def aclose(self):
        pass

    def describe(self):
        schema = {"required": ["\\n::x"]}
        return Description(tools=(ToolSpec("bad\\x1b[2J\\n::error::x", "Says\\u202e it", schema),))
"""


def test_names_of_tools_command_no_terminal_and_no_ci(project: Path) -> None:
    (project / "agent.py").write_text(HOSTILE)
    (project / "convoprobe.yaml").write_text("target: {type: python, object: 'agent.py:Agent'}\n")
    result = tools()
    assert result.exit_code == 1, result.output
    assert not {"\x1b", "\u202e"} & set(result.output)
    assert not [line for line in result.output.splitlines() if line.startswith("::")]
    assert "bad\\x1b[2J" in result.output
