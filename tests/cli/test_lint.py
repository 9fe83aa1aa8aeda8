"""`lint`: what it prints, and when it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.chat_server import ChatServer

from .conftest import Convoprobe
from .live import project

VAGUE = "The agent is helpful."
FINE = "The agent names the price."


def write(folder: Path, name: str, *criteria: str, **evaluation: Any) -> Path:
    scenario = {
        "name": name,
        "description": "A talk.",
        "synthetic_user": {"persona": "Somebody", "initial_query": "Hello"},
        "evaluation": {"correctness_criteria": list(criteria), **evaluation},
    }
    file = folder / "scenarios" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return file


def test_the_project_is_looked_at(folder: Path, convoprobe: Convoprobe) -> None:
    write(folder, "fine", FINE)
    result = convoprobe("lint")
    assert (result.exit_code, result.output) == (0, "1 file looked at: nothing found\n")
    write(folder, "vague", VAGUE)
    result = convoprobe("lint", "scenarios")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("scenarios/vague.yaml:8:5: evaluation.correctness_criteria[0]: c1 is vague")
    assert lines[3].startswith("    warning vague-criterion: Say what the agent says or does")
    assert lines[-1] == "2 files looked at: 1 finding"


def test_where_nothing_is_looked_at_nothing_is_fine(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "empty").mkdir()
    for words in ((), ("empty",)):
        result = convoprobe("lint", *words)
        assert result.exit_code == 2
        assert "no scenario files in this folder" in result.stderr


def test_a_broken_file_hides_no_other(folder: Path, convoprobe: Convoprobe) -> None:
    write(folder, "vague", VAGUE)
    (folder / "scenarios" / "broken.yaml").write_text("name: [\n")
    result = convoprobe("lint", "--json")
    rules = [one["rule"] for one in json.loads(result.stdout)["findings"]]
    assert (result.exit_code, rules) == (1, ["invalid-file", "vague-criterion"])


def test_what_counts(folder: Path, convoprobe: Convoprobe) -> None:
    write(folder, "vague", VAGUE)
    assert convoprobe("lint", "--level", "error").exit_code == 0
    assert convoprobe("lint", "--ignore", "vague-criterion").exit_code == 0
    result = convoprobe("lint", "--ignore", "vague-criterium")
    assert result.exit_code == 2
    assert "did you mean `vague-criterion`? The rules are" in result.stderr
    write(folder, "both", FINE, failure_criteria=[FINE])
    assert convoprobe("lint", "--level", "error").exit_code == 1


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    write(folder, "vague", VAGUE)
    found = json.loads(convoprobe("lint", "--json").stdout)
    assert (found["exit_status"], found["files"], found["problems"]) == (1, 1, [])
    (one,) = found["findings"]
    assert (one["file"], one["line"], one["column"]) == ("scenarios/vague.yaml", 8, 5)
    assert (one["rule"], one["level"], one["scenario"]) == ("vague-criterion", "warning", "vague")


def test_hostile_texts_command_nothing(
    folder: Path, convoprobe: Convoprobe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    evil = "The agent calls do_it\u202e.\n::error::pwned ##vso[task.complete]"
    write(folder, "evil", evil, evil)
    output = convoprobe("lint", "scenarios").stdout
    assert "\n::error::pwned" not in output
    assert "##vso[" not in output
    assert "\u202e" not in output
    assert "\n::warning file=scenarios/evil.yaml,line=" in output


def opinion(body: dict[str, Any]) -> str:
    assert "[c1] The agent names the price." in body["messages"][-1]["content"]
    faults = [
        {"criterion": "c1", "problem": "Which price\x1b[2J?", "advice": "Say which."},
        {"criterion": "c9", "problem": "No such one.", "advice": ""},
    ]
    return json.dumps({"faults": faults})


def test_a_models_opinion(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(opinion) as server:
        file = project(folder, server.base_url)
        file.unlink()
        write(folder, "price", FINE)
        result = convoprobe("lint", "--llm")
        assert len(server.requests) == 1
    assert result.exit_code == 1, result.output
    assert "c1: Which price" in result.stdout
    assert "warning opinion: Say which." in result.stdout
    assert "\x1b" not in result.stdout
    assert "1 call, " in result.stderr


def test_without_a_model_there_is_no_opinion(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(lambda body: "no JSON") as server:
        project(folder, server.base_url).unlink()
        write(folder, "price", FINE)
        result = convoprobe("lint", "--llm")
    assert result.exit_code == 3
    assert "no opinion: price: The judge's model openai/fake gave no usable reply" in result.stderr
