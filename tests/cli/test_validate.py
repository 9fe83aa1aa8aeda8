from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_convoprobe.cli import main
from pytest_convoprobe.errors import ScenarioFileError
from pytest_convoprobe.scenario.loading import load_scenarios
from tests.scenario.examples import MINIMAL, SKIPPED, changed


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "scenarios").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def validate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["validate", *arguments])


def test_good_files(project: Path) -> None:
    (project / "scenarios" / "a.yaml").write_text(MINIMAL)
    (project / "scenarios" / "b.yaml").write_text(f"{MINIMAL}---\n{SKIPPED}")
    result = validate("scenarios")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        f"{Path('scenarios/a.yaml')}: ok, 1 scenario",
        f"{Path('scenarios/b.yaml')}: ok, 2 scenarios (1 skipped)",
        "2 files checked, 3 scenarios, all good",
    ]


def test_a_quarantine_that_is_over_is_named(project: Path) -> None:
    gate = "gate: {mode: quarantine, expires: %s, reason: '#123'}\n"
    (project / "scenarios" / "a.yaml").write_text(f"{MINIMAL}{gate % '2020-01-31'}")
    (project / "scenarios" / "b.yaml").write_text(f"{MINIMAL}{gate % '9999-12-31'}")
    result = validate("-q", "scenarios")
    assert result.exit_code == 0
    assert [line for line in result.output.splitlines() if line.startswith("note")] == [
        f"note: {Path('scenarios/a.yaml')}:1: {load_scenarios(project / 'scenarios' / 'a.yaml')[0].id}: "
        "quarantine ended on 2020-01-31, so it blocks again: #123"
    ]


def test_quietly(project: Path) -> None:
    (project / "scenarios" / "a.yaml").write_text(MINIMAL)
    assert validate("-q", "scenarios").output == "1 file checked, 1 scenario, all good\n"


def test_a_broken_file_beside_a_good_one(project: Path) -> None:
    (project / "scenarios" / "a.yaml").write_text(changed("initial_query", "inital_query"))
    (project / "scenarios" / "b.yaml").write_text(MINIMAL)
    result = validate("scenarios")
    assert result.exit_code == 1
    assert (
        f"{Path('scenarios/a.yaml')}:5:3: synthetic_user.inital_query: unknown key; did you" in result.output
    )
    assert f"{Path('scenarios/b.yaml')}: ok" in result.output
    assert result.output.endswith("2 files checked, 1 scenario, 1 problem\n")


def test_the_messages_are_those_of_loading(project: Path) -> None:
    file = project / "scenarios" / "a.yaml"
    file.write_text("name: [\n")
    with pytest.raises(ScenarioFileError) as caught:
        load_scenarios(file)
    assert str(caught.value) in validate(str(file)).output


def test_a_file_is_checked_whatever_its_name(project: Path) -> None:
    (project / "_draft.txt").write_text("- a\n")
    result = validate("_draft.txt")
    assert result.exit_code == 1
    assert "_draft.txt:1:1: this isn't a scenario" in result.output


def test_a_folder_without_scenario_files(project: Path) -> None:
    (project / "compose.yaml").write_text("services: {}\n")
    result = validate(".")
    assert result.exit_code == 1
    assert ".: no scenario files in this folder" in result.output
    assert "all good" not in result.output


def test_other_patterns(project: Path) -> None:
    (project / "a.probe.yaml").write_text(MINIMAL)
    result = validate("--pattern", "*.probe.yaml", ".")
    assert result.exit_code == 0
    assert "a.probe.yaml: ok" in result.output


def test_what_pytest_would_not_come_by_is_a_problem(project: Path) -> None:
    (project / "scenarios" / "a.yaml").write_text(MINIMAL)
    (project / "scenarios" / "dist").mkdir()
    (project / "scenarios" / "dist" / "b.yaml").write_text(MINIMAL)
    (project / "scenarios" / "link.yaml").symlink_to("gone.yaml")
    result = validate("scenarios")
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{Path('scenarios/a.yaml')}: ok, 1 scenario",
        f"{Path('scenarios/dist/b.yaml')}: pytest passes by folders named `dist` (norecursedirs), so this "
        "would not run; move it, or leave it out on purpose with a name that begins with `_`",
        f"{Path('scenarios/link.yaml')}: the link leads nowhere (gone.yaml)",
        "2 files checked, 2 scenarios, 2 problems",
    ]
    assert validate("scenarios/dist").exit_code == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\nconvoprobe_files = talks/*.yaml\nnorecursedirs = old\n"),
        ("setup.cfg", "[tool:pytest]\nconvoprobe_files =\n    talks/*.yaml\nnorecursedirs = old\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\nconvoprobe_files = 'talks/*.yaml'\n"),
        ("pyproject.toml", "[tool.pytest]\nconvoprobe_files = ['talks/*.yaml']\n"),
    ],
)
def test_the_patterns_of_pytest_s_ini_file(project: Path, name: str, text: str) -> None:
    (project / name).write_text(text)
    for folder in ("talks", "scenarios", "old/scenarios"):
        (project / folder).mkdir(parents=True, exist_ok=True)
        (project / folder / "a.yaml").write_text(MINIMAL)
    assert validate(".").output.splitlines()[0] == f"{Path('talks/a.yaml')}: ok, 1 scenario"
    assert validate(".").output.endswith("1 file checked, 1 scenario, all good\n")


@pytest.mark.parametrize("arguments", [[], ["nowhere.yaml"], ["--colour", "."]])
def test_a_wrong_command_line(project: Path, arguments: list[str]) -> None:
    assert validate(*arguments).exit_code == 2


def _process(*arguments: str, encoding: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "pytest_convoprobe.cli", "validate", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


@pytest.mark.parametrize(
    ("encoding", "shown"),
    # click takes ASCII for a wrong setting, and writes UTF-8.
    [("cp1252", b"\\u4f60\\u597d"), ("ascii", "\u4f60\u597d".encode())],
)
def test_a_terminal_that_knows_few_characters(project: Path, encoding: str, shown: bytes) -> None:
    (project / "a.yaml").write_text(changed("name: Greeting", "nme: \u4f60\u597d"), encoding="utf-8")
    output, errors = _process("a.yaml", encoding=encoding).communicate(timeout=60)
    assert b"    nme: " + shown in output
    assert errors == b""


def test_a_reader_that_goes_away(project: Path) -> None:
    for number in range(300):
        (project / "scenarios" / f"{number}.yaml").write_text("- a\n")
    process = _process("scenarios", encoding="utf-8")
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert errors == b""
    assert process.returncode == 1


def test_a_labels_file_is_checked_as_one(project: Path) -> None:
    file = project / "it.labels.yaml"
    file.write_text("id: a\nturns: [{user: Hi, agent: Hi}]\ncriteria: [{text: It greets, truth: true}]\n")
    assert "it.labels.yaml: ok, 1 labelled conversation, 1 label" in validate(str(file)).output
    file.write_text("id: a\nturns: [{user: Hi, agent: Hi}]\ncriteria: [{text: It greets, truth: maybe}]\n")
    result = validate(str(file))
    assert result.exit_code == 1
    assert "criteria[0].truth: must be true or false" in result.output
