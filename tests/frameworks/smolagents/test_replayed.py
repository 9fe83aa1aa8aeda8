from __future__ import annotations

from pathlib import Path

from tests.frameworks.replayed import assert_replays
from tests.frameworks.shop import only_for
from tests.support.chat_server import Completion
from tests.support.model_server import ModelRequest, reply_to

only_for("smolagents")


def answer(request: ModelRequest) -> Completion:
    """In the way of this framework, which takes a call of a tool for the answer."""
    said = reply_to(request)
    return said if said.tool_calls else Completion(None, (("final_answer", {"answer": said.text or ""}),))


def test_what_the_page_shows_is_recorded_and_replayed_without_key_and_network(tmp_path: Path) -> None:
    assert_replays("smolagents", tmp_path, answer)
