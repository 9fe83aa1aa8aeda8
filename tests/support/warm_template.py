"""The process that `warm_process.py` forks: a line of JSON on stdin is a run, one on stdout its exit code."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import runpy
import sys
import threading
import time
from typing import Any

from pytest_convoprobe.llm.litellm_adapter import LiteLLM


def serve() -> None:
    _import_litellm()
    # Threads would not be there in a forked process, but what they have locked would still be locked.
    assert threading.active_count() == 1, threading.enumerate()
    for line in sys.stdin:
        request = json.loads(line)
        process = os.fork()
        if process == 0:
            _become(**request)
        sys.stdout.write(json.dumps(_exit_code(process, request["timeout"])) + "\n")
        sys.stdout.flush()


def _import_litellm() -> None:
    adapter = LiteLLM()
    adapter.preload()
    asyncio.run(adapter.loaded())
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    # The collector would write into every object that it looks at, also when a forked process ends, and so
    # copy all of the shared memory. It leaves out what is frozen.
    gc.freeze()


def _exit_code(process: int, timeout: float) -> int | None:
    """None for a process that had to be killed."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return None


def _become(command: list[str], cwd: str, env: dict[str, str], output: list[str], timeout: float) -> None:
    """Make this forked process what `python -m COMMAND` would have started, and run it."""
    _redirect(output)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[:1] = [cwd, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = command
    # The project that is run may have a package of this name.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    sys.exit()


def _redirect(output: list[str]) -> None:
    sys.stdin = _standard(0, os.open(os.devnull, os.O_RDONLY))
    sys.stdout, sys.stderr = (
        _standard(number, os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        for number, path in enumerate(output, start=1)
    )


def _standard(number: int, opened: int) -> Any:
    os.dup2(opened, number)
    os.close(opened)
    return open(number, "w" if number else "r", encoding="utf-8", closefd=False)


if __name__ == "__main__":
    serve()
