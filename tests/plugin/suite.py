"""A project under test, written file by file."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from tests.support import warm_process

CONFTEST = """
import pytest
from pytest_convoprobe.plugin.backend import BACKEND
from tests.plugin.stand_in import StandIn, log

def pytest_configure(config):
    config.stash[BACKEND] = StandIn()
"""

TARGET = """
@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "echo " + message
"""


REST = {
    "description": "A talk",
    "synthetic_user": {"persona": "Somebody", "initial_query": "Hello"},
    "evaluation": {"correctness_criteria": ["It answers"]},
}


class Suite:
    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self._monkeypatch = monkeypatch
        self.path = pytester.path
        self.gate = "each"
        """The policy of the gate. Where it is `each`, an item has one conversation."""
        self.conftest("")

    def conftest(self, more: str, *, target: str = TARGET) -> None:
        self.write("conftest.py", CONFTEST + target + textwrap.dedent(more))

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def scenario(self, name: str, file: str | None = None, **keys: Any) -> None:
        """Append a scenario to a file (by default one of its own); unknown keys go to `metadata`."""
        top = {key: keys.pop(key) for key in ("skip", "tags", "gate") if key in keys}
        document = {"name": name, **top, **REST, "metadata": keys}
        path = self.path / (file or f"scenarios/{name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") + "---\n" if path.exists() else ""
        path.write_text(
            before + yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8"
        )

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest in this process, with no other plug-in than ours."""
        with self._alone() as words:
            return self.pytester.runpytest_inprocess(*words, *args)

    def run_process(self, *args: str, plugins: Sequence[str] = ()) -> pytest.RunResult:
        """Run pytest in a process of its own, with those plug-ins beside ours.

        It is spared the imports, as are the workers of xdist, so it cannot show what is imported.
        """
        with self._alone(plugins) as words:
            return self.run_with_all_plugins(*words, *args)

    def run_with_all_plugins(self, *args: str) -> pytest.RunResult:
        """As `run_process`, beside whatever plug-ins are installed."""
        folder = f"--basetemp={self.path / 'runpytest'}"
        done = warm_process.run("pytest", folder, *args, cwd=self.path)
        # pytester's own runs print what they get, which is shown when a test fails.
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)

    def run_new_process(self, *args: str, plugins: Sequence[str] = ()) -> pytest.RunResult:
        """As `run_process`, with an interpreter that has imported nothing before."""
        with self._alone(plugins) as words:
            return self.pytester.runpytest_subprocess(*words, *args)

    def run_on_terminal(self, encoding: str, *args: str) -> str:
        """Run pytest in a process whose terminal has that encoding; what stands there then."""
        with self._alone() as words:
            done = subprocess.run(
                [warm_process.executable(), "-m", "pytest", *words, *args],
                cwd=self.path,
                env={**os.environ, "PYTHONIOENCODING": encoding},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=False,
            )
        return done.stdout.decode(encoding)

    @contextmanager
    def _alone(self, plugins: Sequence[str] = ()) -> Iterator[list[str]]:
        with self._monkeypatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            words = [word for name in ("convoprobe", *plugins) for word in ("-p", name)]
            yield words if self.gate == "auto" else [*words, f"--override-ini=convoprobe_gate={self.gate}"]

    @property
    def log(self) -> list[str]:
        path = self.path / "talk.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def started(self) -> list[str]:
        """The names of the conversations, in the order in which they began."""
        return [line.split("::")[-1].rsplit(" ", 1)[0] for line in self.log if line.startswith("start ")]
