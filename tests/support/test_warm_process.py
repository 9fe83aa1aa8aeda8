from __future__ import annotations

import os
from pathlib import Path

from . import warm_process

SCRIPT = """
import os, sys
print(sys.argv, os.getcwd() == sys.path[0], dict(os.environ), sys.stdin.read(), flush=True)
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
    assert first.endswith("a_script.py', '3'] True " + str(env) + " ")
    assert warm_process.run("tests.a_script", "0", cwd=tmp_path.resolve(), env=env).returncode == 0


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    done = warm_process.run("nothing_of_that_name", cwd=tmp_path)
    assert done.returncode == 1
    assert "No module named nothing_of_that_name" in done.stderr
