from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from . import warm_process

SCRIPT = """
import json, os, sys
found = [sys.argv[1:], os.getcwd() == sys.path[0], os.environ["NAME"], "HOME" in os.environ, sys.stdin.read()]
print(json.dumps(found), flush=True)
print("an error", file=sys.stderr)
os.system("echo from a child")
sys.exit(int(sys.argv[1]))
"""


def test_it_is_as_if_it_had_been_started(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "tests" / "a_script.py").write_text(SCRIPT)
    env = {"PATH": os.environ["PATH"], "NAME": "Zoë"}
    done = warm_process.run("tests.a_script", "3", cwd=tmp_path.resolve(), env=env)
    first, second = done.stdout.splitlines()
    assert (done.returncode, done.stderr, second) == (3, "an error\n", "from a child")
    assert json.loads(first) == [["3"], True, "Zoë", False, ""]
    assert warm_process.run("tests.a_script", "0", cwd=tmp_path.resolve(), env=env).returncode == 0


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    done = warm_process.run("nothing_of_that_name", cwd=tmp_path)
    assert done.returncode == 1
    assert "No module named nothing_of_that_name" in done.stderr


def _started(code: str, *options: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [warm_process.executable(), *options, "-c", code]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_it_reads_is_interrupted_and_starts_others() -> None:
    reads = _started("import sys; print(input()); sys.exit(int('litellm' in sys.modules))", "-u")
    asks = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(3)'], check=True)"
    starts = _started(asks)
    sleeps = _started("import time; print('now', flush=True); time.sleep(600)")
    assert sleeps.stdout
    assert sleeps.stdout.readline() == "now\n"
    sleeps.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in sleeps.communicate()[1]
    assert sleeps.returncode == -signal.SIGINT
    assert reads.communicate("words\n") == ("words\n", "")
    assert reads.returncode == 1
    assert starts.communicate() == ("3\n", "")


def test_who_is_killed_leaves_nobody_behind() -> None:
    process = _started("import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    assert process.stdout
    process.stdout.readline()
    process.kill()
    assert process.communicate() == ("", ""), "it ends when all who could write have ended"


def test_other_options_are_those_of_a_new_interpreter() -> None:
    process = _started("import sys; print(sys.flags.dev_mode, 'pytest' in sys.modules)", "-X", "dev")
    assert process.communicate() == ("True False\n", "")
    assert process.args[0] != sys.executable
