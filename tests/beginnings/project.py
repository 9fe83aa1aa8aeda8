"""Projects of one scenario, run by pytest and by the command line in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.chat_server import ChatServer, Recorded
from tests.support.warm_process import run

ROOT = Path(__file__).parents[2]

AGENT = """
from pytest_convoprobe import Reply, ToolCall

class Greeter:
    def greet(self):
        opened = ToolCall("open_shop", {"hour": 9}, "ok")
        return Reply("Welcome to the shop, what can I do?", tool_calls=[opened])
    def send(self, message):
        return Reply(f"You said: {message}", tool_calls=[])

class Closing(Greeter):
    def greet(self):
        return Reply("We are closed.", tool_calls=[], ended=True)

class Crashing(Greeter):
    def greet(self):
        raise RuntimeError("no greeting today")

class Slow(Greeter):
    def greet(self):
        import time
        time.sleep(30)

class Plain:
    def send(self, message):
        return Reply(f"You said: {message}", tool_calls=[])

def with_history(message, history):
    return Reply(f"{len(history)} before; {history!r}", tool_calls=[])

class ReadsContext:
    takes_history = True
    def __init__(self, context):
        names = [[call.name for call in one.tool_calls] for one in context.history]
        self.said = [(one.by_agent, one.text, calls) for one, calls in zip(context.history, names)]
    def send(self, message):
        return Reply(repr(self.said), tool_calls=[])
"""

HISTORY: list[dict[str, Any]] = [
    {"user": "Where is my parcel Zebra-7?"},
    {
        "agent": "It left the depot yesterday.",
        "tool_calls": [{"name": "track", "arguments": {"parcel": "Zebra-7"}, "result": {"place": "depot"}}],
    },
]


class Project:
    """A folder with settings, an agent and scenarios; the models are on loopback."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.folder = folder
        self.server = server
        folder.mkdir()
        self.write("agent.py", AGENT)
        self.settings: dict[str, Any] = {
            "llm": {"model": "openai/fake", "api_base": server.base_url, "api_key": "sk-not-a-real-key-123"},
            "target": {"type": "python", "object": "agent.py:Greeter"},
        }

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def scenario(
        self, user: Mapping[str, Any], name: str = "Begins", file: str = "begins.yaml", **evaluation: Any
    ) -> None:
        """A scenario of a user with these keys beside its persona."""
        criteria = {"correctness_criteria": ["The agent answers."], **evaluation}
        whole = {
            "name": name,
            "description": "How it begins.",
            "synthetic_user": {"persona": "A customer.", **user},
            "evaluation": criteria,
        }
        self.write(file, yaml.safe_dump(whole, sort_keys=False))

    def target(self, **target: Any) -> None:
        self.settings["target"] = target

    def run(self, *options: str) -> pytest.RunResult:
        """Run all scenarios with pytest."""
        self.write("convoprobe.yaml", yaml.safe_dump(self.settings))
        root = f"--rootdir={self.folder}"
        files = sorted(path.name for path in self.folder.glob("*.yaml") if path.name != "convoprobe.yaml")
        plain = ("-c", "/dev/null", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:sugar")
        return _shown(run("pytest", *plain, root, *options, *files, cwd=self.folder))

    def command(self, *words: str) -> pytest.RunResult:
        """Run `convoprobe` with these words."""
        return _shown(run("pytest_convoprobe.cli", *words, cwd=self.folder))

    @property
    def asked(self) -> list[Recorded]:
        """What the target was asked, if it is a model: all that isn't for the judge or the user."""
        return [one for one in self.server.requests if one.body.get("model") == "agent"]

    def report(self) -> dict[str, Any]:
        """The last run as JSON."""
        done = self.command("report", "--json")
        found: dict[str, Any] = json.loads("\n".join(done.outlines))
        return found


def _shown(done: subprocess.CompletedProcess[str]) -> pytest.RunResult:
    sys.stdout.write(done.stdout + done.stderr)
    return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)


def outcome(result: pytest.RunResult) -> dict[str, int]:
    return {
        key: value for key, value in result.parseoutcomes().items() if key in ("passed", "failed", "errors")
    }
