"""A repository without packaging, as the tutorial leaves it, and what GitHub does with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm_process
from tests.support.chat_server import ChatServer
from tests.support.page_commands import environment_of_a_reader
from tests.support.shop_model import shop_model
from tests.support.workflow_runner import Github, Job, run_workflow

KEY = "sk-of-the-repository-0123456789abcdef"
CARELESS = "Refund an order as soon as its customer asks for it."
CAREFUL = "Look an order up first. Refund it only if it can be returned."

if os.name == "nt":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def model() -> Iterator[ChatServer]:
    with ChatServer(shop_model) as server:
        yield server


@pytest.fixture(scope="session")
def begun(model: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository on GitHub: the branch main, with a careful agent and its recording."""
    folder = tmp_path_factory.mktemp("begun") / "shop"
    environment = {**environment_of_a_reader(folder.parent), "OPENAI_API_KEY": KEY}
    base = ("--api-base", model.base_url)
    warm_process.run("pytest_convoprobe.cli", "init", "shop", *base, cwd=folder.parent, env=environment)
    edit(folder / "agent.py", CARELESS, CAREFUL)
    done = warm_process.run("pytest", "scenarios/", "--convoprobe-replay=record", cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout
    shutil.rmtree(folder / ".convoprobe")
    for command in ("init -q -b main", "add .", "commit -q -m Begin"):
        subprocess.run(["git", *command.split()], cwd=folder, env=environment, check=True)
    return folder


class Repository:
    """A copy of it, and runs of its workflow. `model` is the provider; `pip` lists what was installed."""

    def __init__(self, begun: Path, folder: Path, model: ChatServer) -> None:
        self.model = model
        self._folder = folder
        self.origin = folder / "origin"
        shutil.copytree(begun, self.origin, symlinks=True)
        self.git("config", "receive.denyCurrentBranch", "updateInstead")
        self._programs = folder / "bin"
        self._programs.mkdir()
        self.program("pip", f'echo "$*" >> {folder}/pip')
        for name, module in (("pytest", "pytest"), ("convoprobe", "pytest_convoprobe.cli")):
            self.program(name, f'exec {warm_process.executable()} -m {module} "$@"')
        environment = environment_of_a_reader(folder)
        # GitHub's machines have no identity for git: a script has to give one.
        nobody = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        self.environment = nobody | {
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH": f"{self._programs}:{environment['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        }
        self.hub = Github(folder / "hub", self.environment, {})
        self.hub.folder.mkdir()
        self._runs = 0

    def program(self, name: str, text: str) -> None:
        """A command for the scripts of the workflow."""
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def git(self, *words: str, folder: Path | None = None) -> str:
        environment = {**environment_of_a_reader(self._folder)}
        command = ["git", *words]
        done = subprocess.run(
            command, cwd=folder or self.origin, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    @property
    def pip(self) -> list[str]:
        return (self._folder / "pip").read_text().splitlines()

    @property
    def summary(self) -> str:
        return (self._folder / "summary.md").read_text(encoding="utf-8")

    def commit(self, message: str, branch: str = "main", **texts: str) -> None:
        """Change files on a branch; names have `__` for the slash."""
        self.git("checkout", "-q", "-B", branch, *(["main"] if branch != "main" else []))
        for name, text in texts.items():
            path = self.origin / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self.git("checkout", "-q", "main")

    def agent(self) -> str:
        return (self.origin / "agent.py").read_text(encoding="utf-8")

    def checkout(self, ref: str) -> Path:
        """As actions/checkout has it by default: one commit, and none of its past."""
        self._runs += 1
        folder = self._folder / f"checkout {self._runs}"
        self.git("clone", "-q", "--depth", "1", "--branch", ref, f"file://{self.origin}", str(folder))
        return folder

    def pull_request(
        self, branch: str, *, fork: bool = False, actor: str = "somebody", workflow: Path | None = None
    ) -> dict[str, Job]:
        """Run the workflow for the merge of a branch, as GitHub makes it. One from a fork gets no secrets."""
        self.git("checkout", "-q", "-B", "merge", "main")
        self.git("merge", "-q", "--no-ff", "--no-edit", branch)
        self.git("checkout", "-q", "main")
        owner = "stranger/shop" if fork else "acme/shop"
        event = {"pull_request": {"head": {"repo": {"full_name": owner}}, "number": "7"}}
        full = {"event_name": "pull_request", "event": event, "actor": actor}
        return self._run(self.checkout("merge"), full, fork=fork, workflow=workflow)

    def night(self, folder: Path | None = None) -> dict[str, Job]:
        """Run the workflow at night, in this checkout of main or a new one."""
        return self._run(folder or self.checkout("main"), {"event_name": "schedule"})

    def _run(
        self, folder: Path, event: dict[str, Any], *, fork: bool = False, workflow: Path | None = None
    ) -> dict[str, Job]:
        self.hub.github = {"repository": "acme/shop", "run_id": folder.name, "run_attempt": "1", **event}
        self.hub.secrets = {} if fork else {"OPENAI_API_KEY": KEY}
        shutil.rmtree(self.hub.folder / "artifacts", ignore_errors=True)
        return run_workflow(workflow or folder / ".github/workflows/scenarios.yml", folder, self.hub)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def repository(begun: Path, tmp_path: Path, model: ChatServer) -> Repository:
    model.requests.clear()
    return Repository(begun, tmp_path, model)
