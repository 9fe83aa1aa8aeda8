from __future__ import annotations

from pathlib import Path

from tests.frameworks.replayed import assert_replays
from tests.frameworks.shop import only_for
from tests.support.chat_server import Completion
from tests.support.model_server import ModelRequest, reply_to

only_for("crewai")

QUIET = {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}


def answer(request: ModelRequest) -> Completion:
    """In a few words: what CrewAI makes of a task is long, and would be repeated."""
    said = reply_to(request)
    results = request.said_by("tool")
    return said if said.tool_calls else Completion(f"I see: {results[-1]}" if results else "I see.")


def test_what_the_page_shows_is_recorded_and_replayed_without_key_and_network(tmp_path: Path) -> None:
    assert_replays("crewai", tmp_path, answer, **QUIET)
