"""The kinds of rows as a table needs to know them: which place a row has, and what its content is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import ResultsError
from .row_types import ID, ConversationRow, ScenarioRow, ScoreRow, digest
from .work import Place, Row


@dataclass(frozen=True)
class Kind:
    """`places` are those that a row of a file may have, the likeliest first; it raises `ResultsError`.

    `digest` is of all that a later stage makes of the row.
    """

    places: Callable[[Any, str], tuple[Place, ...]]
    digest: Callable[[Row], str]


def _content(row: Row) -> str:
    return digest({name: value for name, value in row.items() if name not in ("key", "draft")})


def _scenario(row: Any, target: str) -> tuple[Place, ...]:
    return (Place(ScenarioRow.from_json(row).id),)


def _conversation(row: Any, target: str) -> tuple[Place, ...]:
    read = ConversationRow.from_json(row)
    return (Place(read.id, read.sample, target=target),)


def _score(row: Any, target: str) -> tuple[Place, ...]:
    """The place without a metric is that of the scenario's own; an id may not tell which that is."""
    read = ScoreRow.from_json(row)
    found = ID.fullmatch(read.id)
    other = Place(read.id, read.sample, read.metric_id, target)
    if found and found["metric"] != read.metric_id:
        return (other,)
    own = Place(read.id, read.sample, target=target)
    return (own,) if found else (own, other)


def _none(row: Any, target: str) -> tuple[Place, ...]:
    raise ResultsError("rows of this kind are not kept in a file for people")


SCENARIOS = Kind(_scenario, _content)
CONVERSATIONS = Kind(_conversation, lambda row: ConversationRow.from_json(row).digest)
SCORES = Kind(_score, _content)
INTERNAL = Kind(_none, _content)
