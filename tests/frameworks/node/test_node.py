"""A service in Node with the npm package openai: recorded live, and replayed without the provider."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.frameworks.shop import only_for
from tests.gateway.clients.project import KEYS, ModelProject, assert_passed, assert_same
from tests.gateway.clients.services import service
from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

only_for("node")

COMMAND = ("node", "service.cjs")
GATEWAY = (sys.executable, "-m", "pytest_convoprobe.cli", "gateway", "--")
BODY = {"message": "{{ message }}", "conversation": "{{ conversation_id }}"}


def test_node_and_the_package_are_there() -> None:
    assert shutil.which("node")
    assert any(Path(folder, "openai").is_dir() for folder in os.environ["NODE_PATH"].split(os.pathsep))


@pytest.fixture
def project(tmp_path: Path) -> ModelProject:
    return ModelProject(tmp_path, warm=False)


@pytest.mark.parametrize("way", ["model_url", "gateway"])
def test_a_service_is_recorded_live_and_replayed_without_the_provider(
    project: ModelProject, way: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the gateway of the command is announced: not among those of whoever runs the tests.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    body = {**BODY, "model_url": "{{ model_url }}"} if way == "model_url" else BODY
    command = COMMAND if way == "model_url" else (*GATEWAY, *COMMAND)
    target = {"type": "http", "body": body, "text": "reply"}
    seen = {"SEEN": str(project.folder / "seen")}
    with ModelServer() as models, ChatServer() as judge:
        upstream = {"openai": f"{models.url}/v1"}
        project.set({**target, "url": "http://127.0.0.1:1"}, upstream, judge.base_url)
        with service(command, project.folder, {**KEYS, **seen}) as url:
            project.set({**target, "url": url}, upstream, judge.base_url)
            live = project.run("record")
        assert_passed(live)
    with service(command, project.folder, {"OPENAI_API_KEY": "none", **seen}) as url:
        project.set({**target, "url": url}, upstream, judge.base_url)
        assert_same(live, project.replay())
