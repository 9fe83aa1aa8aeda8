"""What every command has in common: its exit status, `--json`, its place in the documentation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pytest_convoprobe.cli import main
from pytest_convoprobe.errors import LLMUnavailable, ResultsError, SettingsError, TargetStartError
from tests.support import warm_process

from .conftest import Convoprobe
from .live import project

COMMANDS = main.list_commands(click.Context(main))
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
NO_JSON = {"baseline", "bench", "completion", "gateway", "label", "mcp", "schema", "view", "watch"}
"""Groups, commands that write a file, a protocol or what another program says, and those for a person."""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_each_command_and_option(name: str) -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    section = page.split(f"## `convoprobe {name}")[1].split("\n## ")[0]
    shared = page.split("## What all of them share")[1].split("\n## ")[0]
    command = main.get_command(click.Context(main), name)
    assert command is not None
    for option in (one for one in command.params if isinstance(one, click.Option)):
        assert any(f"`{word}" in section + shared for word in option.opts), option.opts


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NO_JSON])
def test_each_command_has_json(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert any("--json" in option.opts for option in command.params)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SettingsError.of("settings \x1b[2J"), 2),
        (ResultsError("no run"), 2),
        (LLMUnavailable("no model"), 3),
        (TargetStartError("no target"), 3),
        (PermissionError(13, "Permission denied"), 3),
        (click.FileError("a.json", "no space"), 3),
        (click.UsageError("no such option"), 2),
    ],
)
def test_what_ends_a_command_early(error: Exception, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr(type(main), "get_command", lambda self, ctx, name: failing)
    result = CliRunner().invoke(main, ["runs"])
    assert result.exit_code == status
    assert "Error: " in result.output
    assert "\x1b" not in result.output


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_leaves_an_interrupted_run(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://127.0.0.1:9/v1")
    (folder / "agent.py").write_text(
        "import pathlib, time\ndef Agent(message):\n    pathlib.Path('begun').touch()\n    time.sleep(600)\n"
    )
    command = [warm_process.executable(), "-m", "pytest_convoprobe.cli", "stability", "scenarios/talk.yaml"]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    while not (folder / "begun").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "interrupted"
    (run,) = json.loads(convoprobe("runs", "--json").stdout)
    assert run["state"] == "interrupted"
