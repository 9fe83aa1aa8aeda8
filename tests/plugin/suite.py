"""A project under test, written file by file."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml

CONFTEST = """
import pytest
from pytest_convoprobe.plugin.keys import BACKEND
from tests.plugin.stand_in import StandIn

def pytest_configure(config):
    config.stash[BACKEND] = StandIn()
"""

TARGET = """
@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "echo " + message
"""

PLAIN = ("-p", "no:randomly", "-p", "no:sugar")


class Suite:
    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.conftest("")

    def conftest(self, more: str, *, target: str = TARGET) -> None:
        self.write("conftest.py", CONFTEST + target + textwrap.dedent(more))

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def scenario(self, name: str, file: str | None = None, **keys: Any) -> None:
        """Append a scenario to a file (by default one of its own); unknown keys go to `metadata`."""
        top = {key: keys.pop(key) for key in ("skip", "tags") if key in keys}
        document = {"name": name, **top, "metadata": keys}
        path = self.path / (file or f"scenarios/{name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") + "---\n" if path.exists() else ""
        path.write_text(
            before + yaml.safe_dump(document, sort_keys=False, allow_unicode=True), encoding="utf-8"
        )

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess(*PLAIN, *args)

    def run_process(self, *args: str) -> pytest.RunResult:
        """Run pytest in a process of its own, with every plug-in that is installed."""
        return self.pytester.runpytest_subprocess(*args)

    @property
    def log(self) -> list[str]:
        path = self.path / "talk.log"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def started(self) -> list[str]:
        """The names of the conversations, in the order in which they began."""
        return [line.split("::")[-1].rsplit(" ", 1)[0] for line in self.log if line.startswith("start ")]
