"""Imported suites in pytest: green with a good agent, red for the right reason with a careless one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.support.chat_server import ChatServer
from tests.support.warm_process import run

from .reading import SAMPLES

ROOT = Path(__file__).parents[2]
CARELESS = '''\
from agent import ShopAgent


class ForgetsTheOrder(ShopAgent):
    """Looks up another order than the one that was named."""

    def answer(self, message):
        return super().answer(message.replace("A-1001", "A-1002"))


class OnlySays(ShopAgent):
    """Says that it has cancelled an order, and doesn't."""

    def call(self, tool, **arguments):
        return "done" if tool == "cancel_order" else super().call(tool, **arguments)
'''


class Example(NamedTuple):
    """A suite, what it is imported with, how many pass, and what a careless agent does wrong."""

    kind: str
    file: str
    options: tuple[str, ...]
    passed: int
    careless: str
    red: tuple[str, ...]
    chosen: str = ""


EXAMPLES = [
    Example(
        "promptfoo",
        "promptfoo/promptfooconfig.yaml",
        (),
        7,
        "ForgetsTheOrder",
        ("*Where is it*", "*find_order: arguments*", '*order_id = "A-1001"*', "*coffee*"),
    ),
    Example(
        "tau2",
        "tau2/tasks.json",
        ("--first-message", "Please cancel order A-1002."),
        1,
        "OnlySays",
        ("*cancel_order: arguments*",),
        "cancel",
    ),
    Example(
        "deepeval",
        "deepeval/goldens.json",
        (),
        1,
        "ForgetsTheOrder",
        ("*find_order: arguments*", '*order_id = "A-1001"*'),
    ),
    Example(
        "adk",
        "adk/shop.evalset.json",
        (),
        2,
        "ForgetsTheOrder",
        ("*expected calls*", "*A-1001*"),
    ),
]


class Project:
    """The shop of the documentation's examples, with the scenarios of another tool's suite."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder = folder
        self._server = server
        folder.mkdir()
        shutil.copy(ROOT / "docs/examples/scenarios/agent.py", folder)
        (folder / "careless.py").write_text(CARELESS, encoding="utf-8")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        shutil.copytree(SAMPLES, folder / "suites")

    def bring(self, example: Example) -> None:
        """Import the suite, as a user does."""
        arguments = ("import", example.kind, f"suites/{example.file}", "-o", "scenarios", *example.options)
        done = run("pytest_convoprobe.cli", *arguments, cwd=self.folder)
        sys.stdout.write(done.stdout + done.stderr)
        assert done.returncode in (0, 1)

    def run(self, agent: str, chosen: str) -> pytest.RunResult:
        """Run all that was imported with pytest."""
        settings = {
            "llm": {
                "model": "openai/fake",
                "api_base": self._server.base_url,
                "api_key": "sk-not-a-key-1234",
            },
            "target": {"type": "python", "object": agent},
            "run": {"replay": "off"},
        }
        (self.folder / "convoprobe.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        words = ("-k", chosen) if chosen else ()
        done = run("pytest", "scenarios", *words, cwd=self.folder)
        sys.stdout.write(done.stdout + done.stderr)
        return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)


@pytest.fixture
def project(tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Project(tmp_path / "shop", chat_server)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.kind)
def test_a_good_agent_passes_and_a_careless_one_fails(project: Project, example: Example) -> None:
    project.bring(example)
    good = project.run("agent.py:ShopAgent", example.chosen)
    outcomes = good.parseoutcomes()
    assert (outcomes.get("passed"), outcomes.get("failed"), outcomes.get("errors")) == (
        example.passed,
        None,
        None,
    )
    careless = project.run(f"careless.py:{example.careless}", example.chosen)
    assert careless.ret == pytest.ExitCode.TESTS_FAILED
    assert "errors" not in careless.parseoutcomes()
    careless.stdout.fnmatch_lines(example.red)
