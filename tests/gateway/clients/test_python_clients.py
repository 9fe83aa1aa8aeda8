"""Agents with providers' SDKs, in pytest's process: recorded live, and replayed with the network off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .project import KEY, ModelProject, assert_passed, assert_same

AGENTS = (
    "openai_chat",
    "openai_async",
    "openai_stream",
    "openai_responses",
    "openai_responses_stream",
    "openai_embeddings",
    "anthropic_chat",
    "anthropic_stream",
    "plain_bytes",
)


@pytest.fixture
def project(tmp_path: Path) -> ModelProject:
    return ModelProject(tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_recorded_live_and_replayed_without_key_and_network(project: ModelProject, agent: str) -> None:
    target = {"type": "python", "object": f"{agent}.py:Agent"}
    with ModelServer() as models, ChatServer() as judge:
        project.set(target, {"openai": f"{models.url}/v1", "anthropic": models.url}, judge.base_url)
        live = project.run("record")
        assert_passed(live)
        headers = [request.headers for request in models.requests]
    # The keys stayed the agent's own: they came to the provider, and nowhere else.
    assert {one.get("x-api-key") or one["authorization"].removeprefix("Bearer ") for one in headers} == {KEY}
    assert KEY.encode() not in project.everything()
    before = project.recordings
    assert_same(live, project.replay())
    assert project.recordings == before


def test_workers_of_xdist_record_and_replay_together(project: ModelProject) -> None:
    target = {"type": "python", "object": "openai_chat.py:Agent"}
    with ModelServer() as models, ChatServer() as judge:
        project.set(target, {"openai": f"{models.url}/v1"}, judge.base_url)
        live = project.run("record", "-n2")
        assert_passed(live)
    assert_same(live, project.replay("-n2"))
    # One process replays what two have recorded.
    assert_same(live, project.replay())


def test_auto_needs_no_key_where_all_is_recorded(project: ModelProject) -> None:
    target = {"type": "python", "object": "openai_chat.py:Agent"}
    with ModelServer() as models, ChatServer() as judge:
        project.set(target, {"openai": f"{models.url}/v1"}, judge.base_url)
        live = project.run("record")
    # As CI systems give a secret to those who may not have it.
    assert_same(live, project.run("auto", keys={"OPENAI_API_KEY": ""}, NO_NETWORK="yes"))


def test_a_changed_agent_is_an_error_of_the_recording_and_says_what_changed(project: ModelProject) -> None:
    target = {"type": "python", "object": "openai_chat.py:Agent"}
    with ModelServer() as models, ChatServer() as judge:
        project.set(target, {"openai": f"{models.url}/v1"}, judge.base_url)
        assert_passed(project.run("record"))
    agent = project.folder / "openai_chat.py"
    agent.write_text(agent.read_text().replace("You help customers.", "You help nobody."))
    changed = project.replay()
    assert changed.code == 1
    assert all(" error " in outcome for outcome in changed.outcomes)
    assert "the system prompt changed" in changed.output
    assert " failed " not in "".join(changed.outcomes)
