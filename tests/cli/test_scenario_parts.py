"""Every command takes scenarios with parameters and with parts from other files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_convoprobe.api import run_scenario
from pytest_convoprobe.cli.changed_scenarios import written
from pytest_convoprobe.generate.known import KnownScenarios
from tests.support.chat_server import ChatServer

from .conftest import Convoprobe
from .live import project

TALK = """\
extends: _base.yaml
name: Talk
parameters:
  - {city: Oslo, turns: 2}
  - {city: Rome, turns: 1}
synthetic_user:
  initial_query: Hello, what about ${city}?
  max_turns: ${turns}
"""
BASE = """\
description: A talk about ${city}.
synthetic_user:
  persona: !include ../shared/_personas.yaml#somebody
evaluation:
  correctness_criteria: [The agent counts, "The agent repeats ${city}"]
"""
WHOLE = """\
description: d
synthetic_user: {persona: p, initial_query: q}
evaluation: {correctness_criteria: [It answers]}
"""


@pytest.fixture
def talk(folder: Path, chat_server: ChatServer) -> Path:
    """Two scenarios from three files, and a server that plays all models."""
    file = project(folder, chat_server.base_url)
    (folder / "pyproject.toml").touch()
    (folder / "shared").mkdir()
    (folder / "shared" / "_personas.yaml").write_text("somebody: Somebody with a map\n")
    (file.parent / "_base.yaml").write_text(BASE)
    file.write_text(TALK)
    return file


def test_stability_rejudge_and_rerun(talk: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    chosen = "scenarios/talk.yaml::Talk[Rome-turns=1]"
    result = convoprobe("stability", chosen, "--trials", "1")
    assert result.exit_code == 0, result.output
    assert "The agent repeats Rome" in json.dumps(chat_server.requests[-1].body)
    result = convoprobe("rejudge", "latest")
    assert (result.exit_code, result.output.partition(";")[0]) == (0, "1 judged again: no verdict changed")
    (talk.parent / "_base.yaml").write_text(BASE.replace("counts", "counts well"))
    assert "The agent counts well" in convoprobe("rejudge", "latest").output
    result = convoprobe("rerun", "latest", chosen, "--from-turn", "1")
    assert result.exit_code == 0, result.output
    assert chosen in convoprobe("show", "latest", chosen).output


def test_a_set_that_is_gone_is_named(talk: Path, convoprobe: Convoprobe) -> None:
    chosen = "scenarios/talk.yaml::Talk[Rome-turns=1]"
    assert convoprobe("stability", chosen, "--trials", "1").exit_code == 0
    talk.write_text(TALK.replace("Rome", "Bergen"))
    result = convoprobe("rejudge", "latest")
    assert "scenarios/talk.yaml has no scenario 'Talk[Rome-turns=1]' any more" in result.output


def test_a_name_without_its_set_lists_the_sets(talk: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("stability", "scenarios/talk.yaml::Talk", "--trials", "1")
    assert result.exit_code == 2
    assert "Talk[Oslo-turns=2]" in result.output


def test_validate(talk: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("validate", "scenarios")
    assert (result.exit_code, result.output.splitlines()[0]) == (0, "scenarios/talk.yaml: ok, 2 scenarios")
    (talk.parent / "_base.yaml").write_text(
        BASE.replace("persona: !include", "persona: {text: 1}\n  x: !include")
    )
    result = convoprobe("validate", "--json", "scenarios")
    (file,) = json.loads(result.stdout)
    assert (result.exit_code, file["file"]) == (1, "scenarios/talk.yaml")
    assert [(one["file"], one["line"], one["included_from"]) for one in file["problems"]] == [
        ("scenarios/_base.yaml", line, [{"file": "scenarios/talk.yaml", "line": 1}]) for line in (3, 4)
    ]


def test_a_tool_that_the_target_lacks_is_named_once(talk: Path, convoprobe: Convoprobe, folder: Path) -> None:
    (talk.parent / "_base.yaml").write_text(f"{BASE}  tool_usage: {{required_tools: [find_trian]}}\n")
    settings = (folder / "convoprobe.yaml").read_text()
    (folder / "convoprobe.yaml").write_text(
        settings.replace("type: python", "type: python\n  tools: [find_train]")
    )
    result = convoprobe("validate", "scenarios", "--with-target")
    assert result.exit_code == 1
    assert result.output.count("find_trian") == 1


def test_lint_and_other_readers(talk: Path, convoprobe: Convoprobe) -> None:
    found = json.loads(convoprobe("lint", "--json", "scenarios").stdout)
    assert [one for one in found["findings"] if one["rule"] == "invalid-file"] == []
    openings = KnownScenarios.in_folder(talk.parent).openings
    assert openings == ["Hello, what about Oslo?", "Hello, what about Rome?"]


def test_lint_names_a_fault_of_a_shared_file_once(talk: Path, convoprobe: Convoprobe) -> None:
    (talk.parent / "_base.yaml").write_text(BASE.replace("The agent counts", "${city} gets a helpful answer"))
    (talk.parent / "second.yaml").write_text(TALK.replace("Talk", "Another talk"))
    found = json.loads(convoprobe("lint", "--json", "scenarios").stdout)["findings"]
    places = [(one["rule"], one["file"], one["line"]) for one in found if one["file"].endswith("_base.yaml")]
    assert places
    assert len(places) == len(set(places))


def test_a_change_of_a_shared_file_is_seen_by_watch(talk: Path, folder: Path) -> None:
    before = written([talk.parent])
    assert {"_base.yaml", "_personas.yaml"} < {path.name for path in before.files}
    (folder / "shared" / "_personas.yaml").write_text("somebody: Somebody else\n")
    now = written([talk.parent], before)
    assert now.changed_since(before) == [f"{talk}::Talk[Oslo-turns=2]", f"{talk}::Talk[Rome-turns=1]"]
    talk.write_text(TALK.replace("turns: 1}", "turns: 3}"))
    assert written([talk.parent], now).changed_since(now) == [f"{talk}::Talk[Rome-turns=3]"]


def test_without_pytest(talk: Path, folder: Path) -> None:
    result = run_scenario(f"{talk}::Talk[Rome-turns=1]", rootdir=folder)
    assert result.transcript.turns[0].user == "Hello, what about Rome?"
    with pytest.raises(ValueError, match=r"name one, as `file\.yaml::name`"):
        run_scenario(talk, rootdir=folder)
    text = "name: a\n---\nname: b\n".replace("name", f"{WHOLE}name")
    with pytest.raises(ValueError, match="this makes 2 scenarios, and one can be run: put them into a file"):
        run_scenario(text, rootdir=folder)
