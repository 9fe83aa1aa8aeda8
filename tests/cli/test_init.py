from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import warm_process
from tests.support.chat_server import ChatServer

from .conftest import Convoprobe

FILES = ["convoprobe.yaml", "agent.py", "scenarios/opening_hours.yaml", ".github/workflows/scenarios.yml"]


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OPENAI_API_KEY": "sk-test-0123456789abcdef"}
    return warm_process.run("pytest", "-p", "convoprobe", *arguments, cwd=folder, env=environment)


def test_the_project_is_valid_and_collected(folder: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("init")
    assert result.exit_code == 0
    for name in FILES:
        assert f"  wrote       {name}" in result.output
        assert (folder / name).is_file()
    assert convoprobe("validate", ".").exit_code == 0
    collected = run_pytest(folder, "--collect-only", "-q")
    assert "scenarios/opening_hours.yaml::Opening hours without a day" in collected.stdout
    assert collected.returncode == 0


def test_its_conversation_can_be_held_at_once(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    convoprobe("init")
    settings = folder / "convoprobe.yaml"
    told = settings.read_text().replace("openai/gpt-4o-mini", "openai/fake")
    settings.write_text(
        told.replace("# api_base: http://localhost:11434/v1", f"api_base: {chat_server.base_url}")
    )
    done = run_pytest(folder, "scenarios/")
    assert "I know when the shop is open. Which day do you mean?" in done.stdout


def test_its_workflow_does_not_rely_on_the_exit_status_of_pytest_alone(
    folder: Path, convoprobe: Convoprobe
) -> None:
    convoprobe("init")
    workflow = (folder / ".github/workflows/scenarios.yml").read_text()
    assert "run: convoprobe check latest --commit HEAD --allow-failures\n" in workflow


def test_it_says_what_is_next(folder: Path, convoprobe: Convoprobe) -> None:
    output = convoprobe("init", "my agent").output
    for step in ("cd 'my agent'", "export OPENAI_API_KEY=", "convoprobe doctor", "pytest scenarios/"):
        assert f"\n  {step}" in output


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_overwritten(folder: Path, convoprobe: Convoprobe, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("mine")
    result = convoprobe("init")
    assert f"  left alone  {name}: it is there already" in result.output
    assert (folder / name).read_text() == "mine"
    assert result.output.count("  wrote  ") == len(FILES) - 1


def test_a_dangling_link_is_not_followed(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "agent.py").symlink_to(folder / "elsewhere.py")
    assert "left alone  agent.py" in convoprobe("init").output
    assert not (folder / "elsewhere.py").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.convoprobe.run]\nconcurrency = 2\n"),
        (".convoprobe.yaml", "run: {concurrency: 2}\n"),
        ("mcprobe.yaml", "llm: {model: x}\n"),
    ],
)
def test_settings_in_another_file_stay_the_only_ones(
    folder: Path, convoprobe: Convoprobe, name: str, text: str
) -> None:
    (folder / name).write_text(text)
    result = convoprobe("init")
    assert f"  left alone  {name}: it has settings already" in result.output
    assert not (folder / "convoprobe.yaml").exists()


def test_a_folder_within_another_project_becomes_a_root_of_its_own(
    folder: Path, convoprobe: Convoprobe
) -> None:
    assert "wrote       demo/pytest.ini" in convoprobe("init", "demo").output
    done = run_pytest(folder / "demo", "--collect-only", "scenarios")
    assert f"rootdir: {folder / 'demo'}" in done.stdout


def test_json(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "agent.py").write_text("mine")
    found = json.loads(convoprobe("init", "--json").stdout)
    assert found["left_alone"] == ["agent.py"]
    assert found["written"] == [name for name in FILES if name != "agent.py"]


def test_a_folder_that_cannot_be_made(folder: Path, convoprobe: Convoprobe) -> None:
    (folder / "scenarios").write_text("a file")
    result = convoprobe("init")
    assert result.exit_code == 3
    assert "Error: cannot write" in result.output
