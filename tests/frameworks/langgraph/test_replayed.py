from __future__ import annotations

import shutil
from pathlib import Path

from tests.frameworks.replayed import assert_replays
from tests.frameworks.shop import only_for
from tests.gateway.clients.project import ModelProject, assert_passed, assert_same
from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

only_for("langgraph")


def test_what_the_page_shows_is_recorded_and_replayed_without_key_and_network(tmp_path: Path) -> None:
    assert_replays("langgraph", tmp_path)


def test_streams_and_embeddings_at_an_address_of_the_conversation(tmp_path: Path) -> None:
    project = ModelProject(tmp_path, warm=False)
    shutil.copy(Path(__file__).with_name("rag_agent.py"), tmp_path)
    with ModelServer() as models, ChatServer() as judge:
        target = {"type": "python", "object": "rag_agent.py:Agent"}
        project.set(target, {"openai": f"{models.url}/v1"}, judge.base_url)
        live = project.run("record")
        assert_passed(live)
        assert models.counts.keys() == {"embeddings", "chat"}
    assert_same(live, project.replay())
