"""Ids of calls. Some providers number the calls of each answer from 0, so that several have the same one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from ...transcript import ToolCall


def with_own_ids(calls: Iterable[ToolCall]) -> tuple[ToolCall, ...]:
    """The calls of one message, each with an id that no other one has."""
    used: set[str] = set()
    found = []
    for call in calls:
        names = itertools.chain([call.id], (f"{call.id}-{number}" for number in itertools.count(2)))
        own = next(name for name in names if name not in used or not name)
        used.add(own)
        found.append(call if own == call.id else replace(call, id=own))
    return tuple(found)
