"""Whole runs of pytest with servers: the example of the documentation, and how runs end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.support import warm_process
from tests.support.chat_server import ChatServer, Completion
from tests.support.default_answers import default_answer

from .conftest import plain

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "mcp"
ALONE = {
    **os.environ,
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_ADDOPTS": "-p convoprobe -p no:cacheprovider",
}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups and signals")


def test_the_example_of_the_documentation_passes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    assert all(len(path.read_text().splitlines()) < 15 for path in tmp_path.glob("*.yaml"))
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "order.yaml").rename(tmp_path / "scenarios" / "order.yaml")
    with ChatServer(_finds_the_order) as server:
        done = warm_process.run("pytest", "scenarios/", cwd=tmp_path, env=_environment(server))
    assert " 1 passed in " in done.stdout
    (request, *_) = [body for body in _bodies(server) if body.get("tools")]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["find_order"]
    assert '"number": 7' in str(_bodies(server))


def _environment(server: ChatServer) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    model = {"OPENAI_API_KEY": "k" * 20, "OPENAI_BASE_URL": server.base_url}
    return {**ALONE, "PATH": path, **model}


def _finds_the_order(body: dict[str, Any]) -> Any:
    if body.get("tools") and body["messages"][-1]["role"] == "user":
        return Completion(None, (("find_order", {"number": 7}),))
    answer = default_answer(body)
    assert isinstance(answer, str)
    return answer


def _bodies(server: ChatServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests]


@pytest.fixture
def project(tmp_path: Path, chat_server: ChatServer) -> Callable[..., Path]:
    """Writes a project whose server ignores that its input ends, and SIGTERM."""

    def write(*messages: str, **run: Any) -> Path:
        server = plain("stays", "child", f"pid:{tmp_path / 'pids'}", env={"SHOP_KEY": "open-sesame-9"})
        model = {"model": "openai/fake", "api_base": chat_server.base_url, "api_key": "k" * 20}
        settings = {"llm": model, "run": run, "target": {"type": "model", "mcp_servers": {"shop": server}}}
        (tmp_path / "convoprobe.yaml").write_text(yaml.safe_dump(settings))
        (tmp_path / "scenarios").mkdir()
        for number, message in enumerate(messages):
            scenario = {
                "name": f"talk {number}",
                "description": "A customer calls a tool.",
                "synthetic_user": {"persona": "A customer.", "initial_query": message, "max_turns": 1},
                "evaluation": {"correctness_criteria": ["It answers."]},
            }
            (tmp_path / "scenarios" / f"talk{number}.yaml").write_text(yaml.safe_dump(scenario))
        return tmp_path

    return write


@POSIX
def test_after_maxfail_and_a_time_limit_no_process_is_left_and_no_secret_is_shown(
    project: Callable[..., Path],
) -> None:
    folder = project("call die {}", "call hang {}", 'call add {"a": 1}', turn_timeout=5)
    done = warm_process.run("pytest", "--maxfail=2", cwd=folder, env=ALONE)
    assert " 2 errors in " in done.stdout
    assert "the MCP server `shop` ended with status 3: \\::error::out of cheese, key ***" in done.stdout
    assert "waited 5 s for the target" in done.stdout
    stored = [path.read_text() for path in (folder / ".convoprobe").rglob("*.json*")]
    assert '"infrastructure"' in "".join(stored)
    assert not any("open-sesame-9" in text for text in (done.stdout, *stored))
    _assert_nothing_left(folder)


@POSIX
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGKILL"])
def test_after_an_interruption_no_process_is_left(how: str, project: Callable[..., Path]) -> None:
    folder = project("call hang {}", "call hang {}")
    command = [warm_process.executable(), "-m", "pytest"]
    process = subprocess.Popen(
        command, cwd=folder, env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        _wait_for(lambda: len(_pids(folder)) == 2)
        if how == "SIGKILL":
            # The process that has started the servers: the guard's parent.
            psutil.Process(_pids(folder)[0]).parents()[1].kill()
        else:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    _assert_nothing_left(folder)


def _pids(folder: Path) -> list[int]:
    """The processes of servers that have begun."""
    path = folder / "pids"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def _assert_nothing_left(folder: Path) -> None:
    """No server, guard, or process that a server has left behind; each server had one."""
    assert _pids(folder)
    _wait_for(lambda: not _left(folder))


def _left(folder: Path) -> list[list[str]]:
    lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [
        line for line in lines if f"pid:{folder / 'pids'}" in line or f"left-behind-{folder / 'pids'}" in line
    ]


def _wait_for(condition: Callable[[], object]) -> None:
    # Long enough for an idle process to import everything on a machine that is busy with other tests.
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("it did not happen within a minute")
