"""Secrets and personal data in what pytest shows, with real conversations."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support import warm_process
from tests.support.chat_server import ChatServer

SCENARIO = """
name: talk
description: Somebody asks
synthetic_user: {persona: Somebody, initial_query: I am Ada and bob@example.com, max_turns: 1}
evaluation:
  correctness_criteria: [The agent answers]
  efficiency: {max_conversation_turns: 1}
  tool_usage: {required_tools: [look]}
"""
CONFTEST = """
import logging
import pytest
from pytest_convoprobe import Reply

def pytest_convoprobe_mask(text):
    return text.replace("Ada", "[person 1]")

@pytest.fixture
def convoprobe_target():
    def agent(message):
        assert "Ada" in message and "bob@example.com" in message
        print("printed bob@example.com and value-of-ours")
        logging.getLogger("agent").warning("logged bob@example.com")
        return Reply("Hello Ada at bob@example.com, value-of-ours", ())
    return agent
"""
SETTINGS = """
llm: {model: openai/fake, api_base: "%s", api_key: any-key-1, extra_instructions: "Mind ${NOTE}"}
results: {mask: [email]}
"""


def test_what_pytest_shows_and_keeps_of_a_conversation(tmp_path: Path) -> None:
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "talk.yaml").write_text(SCENARIO)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    with ChatServer() as server:
        (tmp_path / "convoprobe.yaml").write_text(SETTINGS % server.base_url)
        words = ("-p", "convoprobe", "-rA", "--junitxml=junit.xml", "--convoprobe-html=page.html")
        env = {**os.environ, "NOTE": "value-of-ours", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = warm_process.run("pytest", *words, "scenarios", cwd=tmp_path, env=env)
    assert "1 failed" in done.stdout, done.stdout
    assert "printed [email] and ****" in done.stdout
    assert "I am [person 1] and [email 1]" in done.stdout
    made = [path for path in tmp_path.rglob("*") if path.suffix in (".xml", ".html", ".json", ".jsonl")]
    assert len(made) >= 4
    for text in (done.stdout, done.stderr, *(path.read_text() for path in made)):
        assert not [word for word in ("bob@example", "Ada", "value-of-ours") if word in text]
    asked = [message["content"] for one in server.requests for message in one.body["messages"]]
    assert any("The agent answers" in text and "[person 1] and [email 1]" in text for text in asked)
