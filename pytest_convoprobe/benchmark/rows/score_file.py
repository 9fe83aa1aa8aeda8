"""Reads the scores of a target, each with the number that its conversation has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..format.folder import BenchmarkFolder
from .arrays import all_ours, conversation_places, read_rows
from .row_types import ScoreRow
from .sample_numbers import step_to


def read_scores(folder: BenchmarkFolder, target_id: str, unread: list[str]) -> Iterator[ScoreRow]:
    """The rows of `scores.json`; what cannot be read is added to `unread`, in words.

    Rows of others are numbered as the conversations are, even where their two files differ in that.
    """
    step = _step(folder, target_id)
    for score in read_rows(folder.scores(target_id), ScoreRow.from_json, unread):
        yield score if score.key else replace(score, sample=score.sample + step)


def _step(folder: BenchmarkFolder, target_id: str) -> int:
    scores, conversations = folder.scores(target_id), folder.conversations(target_id)
    # Ours fit. Reading them twice would cost a large benchmark seconds.
    if all_ours(scores) or not conversations.exists():
        return 0
    theirs = {(row.id, row.sample) for row in read_rows(scores, ScoreRow.from_json, []) if not row.key}
    return step_to(set(conversation_places(conversations, [])), theirs)
