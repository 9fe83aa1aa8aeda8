from __future__ import annotations

import re
import subprocess
import sys

import pytest
from click import Context
from click.testing import CliRunner

from pytest_convoprobe import __version__
from pytest_convoprobe.cli import main

COMMANDS = sorted(name for name in main.list_commands(Context(main)))


def test_the_help_lists_the_commands() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert re.search(r"^  schema +Print the JSON Schema of scenario files.$", result.output, re.M)
    assert re.search(r"^  validate +Check scenario files.$", result.output, re.M)


def test_the_version() -> None:
    assert CliRunner().invoke(main, ["--version"]).output == f"convoprobe {__version__}\n"


def test_an_unknown_command() -> None:
    result = CliRunner().invoke(main, ["validat"])
    assert result.exit_code == 2
    assert "No such command 'validat'" in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_shows_an_example(command: str) -> None:
    output = CliRunner().invoke(main, [command, "--help"]).output
    assert f"\n      convoprobe {command}" in output.replace("Example:", "")


def test_the_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from pytest_convoprobe.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "print(sorted({'pydantic', 'yaml', 'litellm', 'pytest', 'jinja2'} & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"
