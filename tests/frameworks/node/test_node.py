"""A service in Node with the npm package openai: recorded live, and replayed without the provider."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.frameworks.shop import only_for
from tests.gateway.clients.project import KEYS, ModelProject, assert_passed, assert_same
from tests.gateway.clients.services import service
from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

only_for("node")

COMMAND = ("node", "service.cjs")
BODY = {"message": "{{ message }}", "conversation": "{{ conversation_id }}"}


def test_node_and_the_package_are_there() -> None:
    assert shutil.which("node")
    assert any(Path(folder, "openai").is_dir() for folder in os.environ["NODE_PATH"].split(os.pathsep))


@pytest.fixture
def project(tmp_path: Path) -> ModelProject:
    return ModelProject(tmp_path, warm=False)


def test_a_service_gets_the_address_with_each_request(project: ModelProject) -> None:
    def target(url: str) -> dict[str, object]:
        return {"type": "http", "url": url, "body": {**BODY, "model_url": "{{ model_url }}"}, "text": "reply"}

    seen = {"SEEN": str(project.folder / "seen")}
    with ModelServer() as models, ChatServer() as judge:
        upstream = {"openai": f"{models.url}/v1"}
        with service(COMMAND, project.folder, {**KEYS, **seen}) as url:
            project.set(target(url), upstream, judge.base_url)
            live = project.run("record")
        assert_passed(live)
    with service(COMMAND, project.folder, {"OPENAI_API_KEY": "none", **seen}) as url:
        project.set(target(url), upstream, judge.base_url)
        assert_same(live, project.replay())
