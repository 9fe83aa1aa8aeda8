from __future__ import annotations

import re
from pathlib import Path

from tests.support.chat_server import ChatServer

from .conftest import Convoprobe
from .live import KEY, project


def test_the_canaries_are_asked_once_and_kept(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer() as server:
        project(folder, server.base_url, judge={"second_vote": False})
        result = convoprobe("doctor", "--judge")
        assert result.exit_code == 0, result.output
        first = result.output.splitlines()[0]
        # This judge accepts everything, so it misses each of the faults.
        assert re.fullmatch(r"- judge: openai/fake: 12 of 24 canaries \(\d{4}-\d\d-\d\d\)", first)
        assert 'missed plain-no: "The agent says when the shop opens on Sunday." is a fault' in result.output
        assert KEY not in result.output
        asked = len(server.requests)
        assert convoprobe("doctor", "--judge").output == result.output
        assert len(server.requests) == asked
        convoprobe("doctor", "--judge", "--again")
        assert len(server.requests) == 2 * asked


def test_nothing_is_asked_offline(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    result = convoprobe("doctor", "--judge", "--offline")
    assert result.output == "- judge: openai/fake: canaries not run\n"
    assert chat_server.requests == []


def test_a_judge_that_cannot_be_reached(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(faults=["401"] * 99) as server:
        project(folder, server.base_url)
        result = convoprobe("doctor", "--judge")
    assert result.exit_code == 1
    assert "✗ judge: 24 built-in conversations could not be judged: " in result.output
