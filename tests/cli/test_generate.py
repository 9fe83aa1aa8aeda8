from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer

from .conftest import Convoprobe
from .live import project

TOOLS = '''
def get_order(id: str) -> str:
    """Looks up an order."""
    return id
'''
DRAFT = {
    "name": "Where is it",
    "description": "The agent looks up an order.",
    "persona": "A customer",
    "initial_query": "Where is my order?",
    "required_tools": ["get_order"],
    "correctness_criteria": ["The agent names the day on which the order arrives"],
}


TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]


def answer(body: dict[str, Any]) -> str:
    """What the model writes: personal data, or a scenario."""
    asked = body["messages"][0]["content"]
    return json.dumps({"found": []} if asked.startswith("List the personal data") else DRAFT)


@pytest.fixture
def shop(folder: Path) -> Iterator[Path]:
    with ChatServer(answer, routine=False) as server:
        target = {"type": "model", "model": "openai/fake", "tools": ["shop.py:get_order"]}
        project(folder, server.base_url, target=target)
        (folder / "shop.py").write_text(TOOLS)
        yield folder


def test_scenarios_are_written_and_what_is_dropped_is_listed(shop: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("generate", "--kind", "happy-path", "--count", "2", "-o", "scenarios/made")
    assert result.exit_code == 1, result.output
    assert "scenarios/made/where-is-it.yaml: happy-path, simple" in result.output
    assert "dropped: happy-path, medium" in result.output
    assert "begins like this already" in result.output
    assert result.output.rstrip().endswith("1 scenario written to scenarios/made, 1 dropped")
    assert convoprobe("validate", "scenarios/made").exit_code == 0
    text = (shop / "scenarios" / "made" / "where-is-it.yaml").read_text()
    assert "from 1 tool of the target of the settings: get_order." in text


@pytest.mark.usefixtures("shop")
def test_a_folder_that_pytest_passes_by_is_said(convoprobe: Convoprobe) -> None:
    result = convoprobe("generate", "--count", "1", "-o", "made")
    assert result.exit_code == 0, result.output
    assert "pytest doesn't take the files in made for scenarios" in result.output


@pytest.mark.usefixtures("shop")
def test_where_nothing_can_be_written_no_model_is_asked(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "file").touch()
    result = convoprobe("generate", "-o", "file/made")
    assert result.exit_code == 3
    assert "-o file/made: nothing can be written there: Not a directory" in result.stderr
    assert "asking for" not in result.stderr


def test_words_of_a_model_command_no_terminal(folder: Path, convoprobe: Convoprobe) -> None:
    draft = {**DRAFT, "required_tools": ["no\x1b[2J\n::error::x"]}
    with ChatServer(lambda body: json.dumps(draft), routine=False) as server:
        target = {"type": "model", "model": "openai/fake", "tools": ["shop.py:get_order"]}
        project(folder, server.base_url, target=target)
        (folder / "shop.py").write_text(TOOLS)
        result = convoprobe("generate", "--count", "1", "-o", "scenarios")
    assert result.exit_code == 3, result.output
    assert "dropped: happy-path, simple" in result.stdout
    assert "\x1b" not in result.output
    assert "\n::error" not in result.output


def test_as_json_from_a_conversation(shop: Path, convoprobe: Convoprobe) -> None:
    (shop / "talk.json").write_text(json.dumps(TALK))
    result = convoprobe("generate", "--transcript", "talk.json", "-o", "made", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert [one["what"] for one in data["written"]] == ["a conversation"]
    assert "from talk.json" in (shop / "made" / "where-is-it.yaml").read_text()


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--kind", "happy"], "there is no 'happy'; did you mean"),
        (["--complexity", "hard"], "There are simple, medium, complex"),
        (["--target", "a:b", "--mcp", "x"], "give one of"),
        (["--mcp", ""], "it is empty"),
    ],
)
def test_wrong_words(convoprobe: Convoprobe, words: list[str], complaint: str) -> None:
    result = convoprobe("generate", "-o", "made", *words)
    assert result.exit_code == 2
    assert complaint in result.output


@pytest.mark.usefixtures("shop")
def test_nothing_is_made_without_tools(convoprobe: Convoprobe) -> None:
    result = convoprobe("generate", "-o", "made", "--target", "agent.py:Agent")
    assert result.exit_code == 3
    assert "doesn't say which tools it has" in result.output
