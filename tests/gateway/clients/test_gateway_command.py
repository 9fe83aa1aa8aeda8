"""A service that `convoprobe gateway` starts: recorded live, and replayed without the provider."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .project import KEYS, ModelProject, assert_passed, assert_same
from .services import service

CONVOPROBE = (sys.executable, "-m", "pytest_convoprobe.cli", "gateway", "--")
BODY = {"message": "{{ message }}", "conversation": "{{ conversation_id }}"}
SETTINGS = '{"target": {"type": "http", "url": "http://127.0.0.1:1/", "models": {"openai": "http://127.0.0.1:2/v1"}}}'


@pytest.fixture(autouse=True)
def runtime(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("runtime")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "convoprobe.yaml").write_text(SETTINGS)
    return tmp_path


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENAI_API_KEY": ""}
    return subprocess.Popen(
        [*CONVOPROBE, *words], cwd=folder, env=environment, stdout=-1, stderr=-1, text=True
    )


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_service_is_recorded_and_replayed(tmp_path: Path, workers: tuple[str, ...]) -> None:
    project = ModelProject(tmp_path)
    target = {"type": "http", "body": BODY, "text": "reply"}
    seen = {"SEEN": str(project.folder / "seen")}
    command = (*CONVOPROBE, sys.executable, "service.py")
    with ModelServer() as models, ChatServer() as judge:
        upstream = {"openai": f"{models.url}/v1"}
        project.set({**target, "url": "http://127.0.0.1:1"}, upstream, judge.base_url)
        with service(command, project.folder, {**KEYS, **seen}) as url:
            project.set({**target, "url": url}, upstream, judge.base_url)
            live = project.run("record", *workers)
        assert_passed(live)
        made = len(models.requests)
        assert made > 0
        keyless = {"OPENAI_API_KEY": "", **seen}
        with service(command, project.folder, keyless) as url:
            project.set({**target, "url": url}, upstream, judge.base_url)
            assert_same(live, project.replay(*workers))
            of_folder_above = project.replay("--rootdir=..", *workers)
            assert of_folder_above.code == 0, of_folder_above.output
        assert len(models.requests) == made


def test_the_command_gets_the_variables_and_its_status_counts(folder: Path) -> None:
    shown = "os.environ['OPENAI_BASE_URL'], 'ANTHROPIC_BASE_URL' in os.environ"
    process = started(folder, sys.executable, "-c", f"import os, sys; print({shown}); sys.exit(7)")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7, err
    assert out.startswith("http://127.0.0.1:")
    assert out.strip().endswith("False")  # no upstream of this name
    assert "OPENAI_BASE_URL" in err
    assert out.split()[0].rpartition("/")[2] not in err


def test_a_command_that_is_not_there(folder: Path) -> None:
    process = started(folder, "no-such-program")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 127
    assert "no-such-program" in err


def test_settings_without_models(folder: Path) -> None:
    (folder / "convoprobe.yaml").write_text('{"target": {"type": "http", "url": "http://127.0.0.1:1/"}}')
    process = started(folder, "true")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "set `target.models`" in err


_FAMILY = """\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_gateway(folder: Path, runtime: Path, number: int) -> None:
    process = started(folder, sys.executable, "-c", _FAMILY)
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    assert list((runtime / "convoprobe").iterdir())
    process.send_signal(number)
    status = process.wait(60)
    assert status in (128 + number, -number)
    until = time.monotonic() + 30
    while psutil.pid_exists(grandchild) and psutil.Process(grandchild).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < until
        time.sleep(0.05)
    if number != signal.SIGKILL:
        assert not list((runtime / "convoprobe").iterdir())
    process.communicate()
