from __future__ import annotations

from pathlib import Path

from tests.frameworks.replayed import assert_replays
from tests.frameworks.shop import only_for

only_for("adk")


def test_what_the_page_shows_is_recorded_and_replayed_without_key_and_network(tmp_path: Path) -> None:
    assert_replays("adk", tmp_path)
