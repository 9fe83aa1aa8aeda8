"""What `bench aggregate` says is to be done where nothing has a score."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Convoprobe
from .test_bench_stages import done, finished, finishing

__all__ = ["done", "finished", "finishing"]  # fixtures


def test_where_no_answer_could_be_read_the_stages_have_nothing_left_to_do(
    done: Path, convoprobe: Convoprobe
) -> None:
    for path in done.glob("runs/*/scores.json"):
        scores = [
            {**row, "present": None, "passed": None, "score": None} for row in json.loads(path.read_bytes())
        ]
        path.write_text(json.dumps(scores))
    told = convoprobe("bench", "aggregate", "hours").stderr
    assert "note: nothing has a score: no answer of the evaluator could be read as a verdict. " in told
    assert "`convoprobe bench" not in told


def test_files_without_a_conversation_are_no_conversations(done: Path, convoprobe: Convoprobe) -> None:
    for path in (*done.glob("runs/*/scores.json"), *done.glob("runs/*/conversations.json")):
        path.write_text("[]")
    told = convoprobe("bench", "aggregate", "hours").stderr
    assert "`convoprobe bench simulate hours` is next" in told
