"""`rejudge` and `rerun`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

from .conftest import Convoprobe
from .live import project


def strict(body: dict[str, Any]) -> Any:
    """The default answers, but the first criterion is never met."""
    text = default_answer(body)
    return text.replace('"met"', '"not_met"', 1) if isinstance(text, str) else text


def undecided(body: dict[str, Any]) -> Any:
    """The default answers, but the judge cannot tell of any criterion."""
    text = default_answer(body)
    return text.replace('"met"', '"cannot_tell"') if isinstance(text, str) else text


def judged_by(server: ChatServer, folder: Path) -> None:
    """Let the project of the folder call this server from now on."""
    settings = folder / "convoprobe.yaml"
    text = settings.read_text()
    start = text.index("http://")
    settings.write_text(text[:start] + server.base_url + text[text.index("\n", start) :])


@pytest.fixture
def stored(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> Path:
    """A project with one stored run of one passed talk; the scenario's file."""
    file = project(folder, chat_server.base_url)
    assert convoprobe("stability", "scenarios/talk.yaml", "--trials", "1").exit_code == 0
    return file


def test_nothing_changed(stored: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    before = len(chat_server.requests)
    result = convoprobe("rejudge", "latest")
    assert result.exit_code == 0
    assert result.output == "1 judged again: no verdict changed; price unknown\n"
    assert len(chat_server.requests) == before + 1


def test_a_verdict_changed_and_why(stored: Path, folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(strict) as server:
        judged_by(server, folder)
        result = convoprobe("rejudge", "latest")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0] == "passed → failed  scenarios/talk.yaml::Talk"
    assert lines[1] == "    The agent counts"
    assert lines[2].startswith("      met → not met: ")
    assert lines[-1].startswith("1 judged again: 1 passed → failed; ")


@pytest.mark.parametrize("inconclusive", ["error", "skip"])
def test_a_judge_that_cannot_decide_explains_the_status(
    stored: Path, folder: Path, convoprobe: Convoprobe, inconclusive: str
) -> None:
    with ChatServer(undecided) as server:
        judged_by(server, folder)
        with (folder / "convoprobe.yaml").open("a") as settings:
            settings.write(f"run: {{inconclusive: {inconclusive}}}\n")
        result = convoprobe("rejudge", "latest")
    assert result.exit_code == 3, result.output
    last = result.output.splitlines()[-1]
    assert last == "exit status 3: 1 of 1 have no verdict now: c1 cannot tell: The agent counts (+1 more: c2)"


def test_todays_criteria(stored: Path, convoprobe: Convoprobe) -> None:
    stored.write_text(stored.read_text().replace("The agent repeats", "The agent is polite"))
    result = convoprobe("rejudge", "latest")
    assert result.exit_code == 0
    assert "    The agent is polite\n      not asked → met: " in result.output
    assert "    The agent repeats\n      met → not asked\n" in result.output


def test_another_judge(stored: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    convoprobe("rejudge", "latest", "--judge-model", "openai/better")
    assert chat_server.requests[-1].body["model"] == "better"


@pytest.mark.parametrize(("expression", "status"), [("smoke and talk", 0), ("not talk", 2), ("talk and", 2)])
def test_only_what_fits(stored: Path, convoprobe: Convoprobe, expression: str, status: int) -> None:
    assert convoprobe("rejudge", "latest", "-k", expression).exit_code == status


def test_a_scenario_that_is_gone(stored: Path, convoprobe: Convoprobe) -> None:
    stored.unlink()
    result = convoprobe("rejudge", "latest")
    assert result.exit_code == 3
    assert "its file scenarios/talk.yaml is not there any more" in result.output
    assert "0 judged again: no verdict changed, 1 not judged; " in result.output
    assert "\nexit status 3: 1 of 1 have no verdict now: its file scenarios/talk.yaml is not" in result.output


def test_json_of_rejudge(stored: Path, convoprobe: Convoprobe) -> None:
    (found,) = json.loads(convoprobe("rejudge", "latest", "--json").stdout)["trials"]
    assert (found["changed"], found["old"]["outcome"], found["new"]["outcome"]) == (False, "passed", "passed")


def test_going_on_from_a_turn(stored: Path, folder: Path, convoprobe: Convoprobe) -> None:
    # Under another name: this process has loaded the first one already.
    (folder / "agent2.py").write_text((folder / "agent.py").read_text().replace("I heard", "Now I heard"))
    settings = folder / "convoprobe.yaml"
    settings.write_text(settings.read_text().replace("agent.py", "agent2.py"))
    result = convoprobe("rerun", "latest", "Talk", "--from-turn", "2")
    assert result.exit_code == 0, result.output
    assert "agent │ Now I heard 1 messages, the last was: Hello, what about trains?" in result.output
    assert "agent │ Now I heard 3 messages" in result.output
    assert len(json.loads(convoprobe("runs", "--json").stdout)) == 1


def test_a_turn_that_never_was(stored: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("rerun", "latest", "Talk", "--from-turn", "9")
    assert result.exit_code == 2
    assert "the conversation cannot continue from turn 9: the stored one has 3 turns" in result.output


def test_json_of_rerun(stored: Path, convoprobe: Convoprobe) -> None:
    found = json.loads(convoprobe("rerun", "latest", "Talk", "--from-turn", "1", "--json").stdout)
    assert found["outcome"] == "passed"
