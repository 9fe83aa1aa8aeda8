from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_convoprobe.cli import main
from tests.support import warm_process

Convoprobe = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of a project."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def convoprobe(folder: Path) -> Convoprobe:
    """Runs the command there, in this process; its output goes to a pipe."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> Result:
        return CliRunner().invoke(main, list(arguments), env=env)

    return run


@pytest.fixture
def on_terminal(folder: Path) -> Callable[..., str]:
    """Runs the command in a process of its own on a terminal; what stands there, escapes and all."""

    def run(*arguments: str, columns: int = 80, env: Mapping[str, str] | None = None) -> str:
        pty = pytest.importorskip("pty")
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), **(env or {})}
        process = subprocess.Popen(
            [warm_process.executable(), "-m", "pytest_convoprobe.cli", *arguments],
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        output = _read_all(ours)
        process.wait(timeout=60)
        return output.replace("\r\n", "\n")

    return run


def _read_all(handle: int) -> str:
    data = b""
    try:
        while chunk := os.read(handle, 65536):
            data += chunk
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(handle)
    return data.decode("utf-8", "replace")
