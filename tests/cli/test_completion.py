from __future__ import annotations

import shutil
import subprocess

import pytest
from click.testing import CliRunner

from pytest_convoprobe.cli import main

from .conftest import Convoprobe


@pytest.mark.parametrize(
    ("shell", "word"),
    [("bash", "complete -o"), ("zsh", "#compdef convoprobe"), ("fish", "complete --no-files")],
)
def test_each_shell_has_a_script(shell: str, word: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert word in result.output
    assert "_CONVOPROBE_COMPLETE" in result.output


def test_bash_can_read_it() -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash here")
    script = CliRunner().invoke(main, ["completion", "bash"]).output
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_are_completed(convoprobe: Convoprobe) -> None:
    words = {"_CONVOPROBE_COMPLETE": "bash_complete", "COMP_WORDS": "convoprobe co", "COMP_CWORD": "1"}
    result = CliRunner().invoke(main, [], env=words, prog_name="convoprobe")
    assert result.output.split() == ["plain,compare", "plain,completion"]


def test_an_unknown_shell() -> None:
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 2
