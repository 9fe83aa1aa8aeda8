"""The line of progress."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pluggy
import pytest

from pytest_convoprobe.plugin.terminal import PytestTerminal
from pytest_convoprobe.runs.progress import ProgressLine
from tests.support import warm_process

from .stand_in import log
from .suite import Suite


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fake_config(*, verbosity: int = 0, used: int = 10) -> Any:
    writer = SimpleNamespace(hasmarkup=True, width_of_current_line=used)
    manager = pluggy.PluginManager("pytest")  # a real one: it has all names that pytest's has
    manager.register(object(), "terminalreporter")
    return SimpleNamespace(
        pluginmanager=manager, get_verbosity=lambda: verbosity, get_terminal_writer=lambda: writer
    )


def shown(monkeypatch: pytest.MonkeyPatch, times: list[float], words: str = "1 done", **config: Any) -> str:
    """What is written when somebody asks at those seconds, from 0 on."""
    stream = Terminal()
    now = [0.0]
    with monkeypatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", os.environ.get("TERM", "xterm"))
        patch.setattr(sys, "stdout", stream)
        with ProgressLine(
            PytestTerminal(fake_config(**config)), lambda: words, clock=lambda: now[0]
        ) as progress:
            for now[0] in times:
                progress.tick()
    return stream.getvalue()


def test_nothing_is_shown_in_the_first_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, [1.0, 2.9]) == ""


def test_it_is_shown_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, [3.1]) == "\x1b7  [1 done]\x1b[K\x1b8" + "\x1b[K"


def test_it_is_renewed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, [3.1, 3.2, 3.3, 3.7]).count("1 done") == 2


@pytest.mark.parametrize("config", [{"verbosity": -1}, {"used": 75}], ids=str)
def test_it_is_left_out_where_it_has_no_place(
    monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]
) -> None:
    assert shown(monkeypatch, [5.0], **config) == ""


def test_it_is_left_out_on_a_terminal_that_cannot_move_its_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(monkeypatch, [5.0]) == ""


def test_it_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < shown(monkeypatch, [5.0], "x" * 200, used=40).count("x") < 40


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("capture", ["fd", "sys", "no"])
def test_on_a_terminal_through_pytests_capturing(suite: Suite, capture: str) -> None:
    suite.scenario("slow", until="the line was seen")
    seen = _on_terminal(suite, f"--capture={capture}")
    assert "1 running" in seen
    assert "1 passed" in seen


def test_not_into_a_pipe(suite: Suite) -> None:
    suite.scenario("slow", sleep=4.5)
    suite.run_process().stdout.no_fnmatch_line("*running*")


def _on_terminal(suite: Suite, *args: str) -> str:
    """What pytest writes on a pseudo-terminal; `talk.log` notes when the line of progress was seen."""
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "TERM": "xterm", "COLUMNS": "120"}
    command = [warm_process.executable(), "-m", "pytest", "-p", "convoprobe", *args]
    process = subprocess.Popen(
        command, cwd=suite.path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
            if b"1 running" in seen:
                log("the line was seen")
    except OSError:  # Linux says so when the other side is closed
        pass
    process.wait()
    os.close(ours)
    return seen.decode()
