"""Records what the page of a framework shows, against a provider on loopback, and replays it without one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from tests.gateway.clients.project import ModelProject, assert_passed, assert_same
from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelAnswers, ModelServer

from .documented import EXAMPLES


def assert_replays(name: str, folder: Path, answers: ModelAnswers | None = None, **environment: str) -> None:
    """The example `name` is recorded live, and replayed with no key and no network."""
    project = ModelProject(folder, environment, tool="order_status", warm=False)
    shutil.copy(EXAMPLES / f"{name}.py", folder / "agent.py")
    target: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())["target"]
    with ModelServer(answers) as models, ChatServer() as judge:
        project.set(target, {"openai": f"{models.url}/v1"}, judge.base_url)
        live = project.run("record")
        assert_passed(live)
        assert models.counts.keys() & {"chat", "responses"}
    assert_same(live, project.replay(), seen=False)
