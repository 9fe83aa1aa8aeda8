from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convoprobe.errors import Blame
from pytest_convoprobe.reports.annotations import commands
from pytest_convoprobe.reports.summary import Digest
from pytest_convoprobe.result import Outcome

from .results import result


def digest(outcome: Outcome = Outcome.FAILED, **values: object) -> Digest:
    known = {"blame": Blame.AGENT, "reason": "it promised a refund", "file": "scenarios/a.yaml", **values}
    return Digest.of(result(outcome, **known))


def test_points_at_the_scenarios_line(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    project = tmp_path / "desk"
    project.mkdir()
    assert commands([digest()], folder=project, environ={}) == [
        "::error file=desk/scenarios/a.yaml,line=12,title=Weather without a city::agent: it promised a refund"
    ]


def test_the_workspace_of_github_is_the_root(tmp_path: Path) -> None:
    project = tmp_path / "checkout" / "desk"
    project.mkdir(parents=True)
    environ = {"GITHUB_WORKSPACE": str(tmp_path / "checkout")}
    (line,) = commands([digest(file=str(project / "scenarios/a.yaml"))], folder=project, environ=environ)
    assert line.startswith("::error file=desk/scenarios/a.yaml,line=12,")


def test_only_failures_and_errors(tmp_path: Path) -> None:
    outcomes = [digest(outcome) for outcome in (Outcome.PASSED, Outcome.SKIPPED, Outcome.ERROR)]
    assert len(commands(outcomes, folder=tmp_path, environ={})) == 1


def test_ten_at_most_and_a_count_of_the_others(tmp_path: Path) -> None:
    lines = commands([digest()] * 13, folder=tmp_path, environ={})
    assert len(lines) == 11
    assert lines[-1] == (
        "::notice title=convoprobe::3 more scenarios did not pass: see the summary of this job"
    )


@pytest.mark.parametrize("where", ["name", "reason", "file"])
def test_nothing_in_a_text_ends_the_command_or_begins_one(tmp_path: Path, where: str) -> None:
    evil = "x\n::warning file=a,line=1::y\r\n100%0A,title=z::\u2028\x1b"
    (line,) = commands([digest(**{where: evil})], folder=tmp_path, environ={})
    assert len(line.splitlines()) == 1
    properties, message = line.removeprefix("::error ").split("::", 1)
    assert [pair.split("=", 1)[0] for pair in properties.split(",")] == ["file", "line", "title"]
    assert "\n" not in message
