"""Processes that call models, without the seconds of CPU that each takes to import LiteLLM.

`warm_process.run("pytest", "-v", cwd=...)` is `python -m pytest -v` in a process of its own, with its own
folder, environment and output. It is forked from a process that has imported LiteLLM as the plug-in does, and
nothing of pytest (`warm_template.py`). So it shows what such a process prints, writes and returns. It cannot
show whether and when LiteLLM is imported: start a real process for that.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT = 120


def run(
    module: str, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `python -m MODULE ARGUMENTS` to its end; `env` is its whole environment.

    Where there is no `fork`, it is a real process.
    """
    run = _forked if hasattr(os, "fork") else _started
    return run([module, *arguments], str(cwd), dict(os.environ if env is None else env))


def _forked(command: list[str], cwd: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    template = _template()
    assert template.stdin
    assert template.stdout
    with tempfile.TemporaryDirectory() as folder:
        output = [Path(folder, name) for name in ("stdout", "stderr")]
        request = {"command": command, "cwd": cwd, "env": env, "output": [str(path) for path in output]}
        template.stdin.write(json.dumps({**request, "timeout": TIMEOUT}) + "\n")
        template.stdin.flush()
        code = json.loads(template.stdout.readline())
        texts = [path.read_text(encoding="utf-8") for path in output]
    assert code is not None, f"{command} did not end in {TIMEOUT} s:\n" + "\n".join(texts)
    return subprocess.CompletedProcess(command, code, *texts)


@cache
def _template() -> subprocess.Popen[str]:
    """Started by the first test that needs it, for all tests of this process; it ends with its input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.warm_template"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)
    return process


def _started(command: list[str], cwd: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )
