"""Services that call models, as programs of their own: recorded live, and replayed without the provider."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .project import KEYS, ModelProject, assert_passed, assert_same
from .services import service

COMMAND = (sys.executable, "service.py")
BODY = {"message": "{{ message }}", "conversation": "{{ conversation_id }}"}


@pytest.fixture
def project(tmp_path: Path) -> ModelProject:
    return ModelProject(tmp_path)


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
        assert len(models.requests) > 0
    without_key = {"OPENAI_API_KEY": "none", **seen}
    with service(COMMAND, project.folder, without_key) as url:
        project.set(target(url), upstream, judge.base_url)
        assert_same(live, project.replay())
