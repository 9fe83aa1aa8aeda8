"""Stored conversations as a labels file: what a person said of them, written so that it can be committed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ..errors import ResultsError
from ..files import cannot, locked, read_file, shown_path, write_atomically
from ..judging.types import Criterion
from ..result import ScenarioResult
from ..results.index import IndexRow
from ..results.records import plain
from ..results.talk_records import relations_record, request_record
from ..transcript import SaidBefore, ToolCall, Turn
from .labels_file import load_labels, parse_labels

_WIDTH = 110
Mask = Callable[[str], str]


def truth_key(row: IndexRow) -> tuple[str, str, int]:
    """What a stored conversation is known by in `metadata` of a labels file."""
    return row.run, row.scenario_id, row.trial


def answered_in(path: Path) -> Mapping[tuple[str, str, int], list[set[str]]]:
    """The criteria that were labelled already, by stored conversation: a set for each time that it was shown.

    Raises `ScenarioFileError`.
    """
    found: defaultdict[tuple[str, str, int], list[set[str]]] = defaultdict(list)
    for one in load_labels(path, shown_path(path)).conversations if path.exists() else ():
        own = one.conversation.metadata
        key = (str(own.get("run")), str(own.get("scenario")), own.get("trial"))
        if isinstance(key[2], int):
            found[key[0], key[1], key[2]].append({one.text for one in one.conversation.criteria})
    return found


def labelled_data(
    row: IndexRow,
    result: ScenarioResult,
    truths: Iterable[tuple[Criterion, bool]],
    *,
    description: str = "",
    part: int = 1,
    mask: Mask = str,
) -> dict[str, Any]:
    """One conversation with the truth about its criteria, as it is written.

    It holds the whole conversation: whoever checks out the file doesn't have the run. `part` counts the
    times that somebody was shown the conversation. `mask` takes out of every text what nobody may see.
    """
    transcript = result.transcript
    trial = f" trial {row.trial}" if row.trial > 1 else ""
    name = f"{row.scenario_id}{trial} of {row.run}{f' ({part})' if part > 1 else ''}"
    data = {
        "id": name,
        "description": description or None,
        "now": transcript.now.isoformat() if transcript.now else None,
        "history": [*map(_said_before, transcript.history)] or None,
        "turns": [_turn(turn) for turn in transcript.turns],
        "criteria": [_criterion(criterion, truth) for criterion, truth in truths],
        "metadata": {"run": row.run, "scenario": row.scenario_id, "trial": row.trial},
    }
    masked: dict[str, Any] = _masked({key: value for key, value in data.items() if value is not None}, mask)
    return masked


def _turn(turn: Turn) -> dict[str, Any]:
    said: dict[str, Any] = {} if turn.is_greeting else {"user": turn.user}
    said["agent"] = turn.reply.text
    if turn.reply.pending:
        said["requests"] = [request_record(one) for one in turn.reply.pending]
    calls = turn.reply.tool_calls
    # No key means that the agent called nothing, which isn't the same as nobody knowing.
    if calls is None:
        return {**said, "calls": None}
    parents = {call.parent for call in calls}
    return {**said, "calls": [_call(call, call.id in parents) for call in calls]} if calls else said


def _said_before(said: SaidBefore) -> dict[str, Any]:
    """As in a scenario."""
    words = {"agent" if said.by_agent else "user": said.text} if said.text else {}
    calls = [
        {
            "name": call.name,
            "arguments": dict(call.arguments),
            **({"result": plain(call.result)} if call.error is None else {"error": call.error}),
        }
        for call in said.tool_calls
    ]
    return {**words, **({"tool_calls": calls} if calls else {})}


def _call(call: ToolCall, is_parent: bool) -> dict[str, Any]:
    data = {"name": call.name, "arguments": dict(call.arguments), "result": call.result, "error": call.error}
    found = {key: plain(value) for key, value in data.items() if value not in (None, {})}
    # An id says nothing but which calls were made inside of this one.
    unseen = {"group"} if is_parent else {"id", "group"}
    found |= {key: value for key, value in relations_record(call).items() if key not in unseen}
    return found if call.executed else {**found, "executed": False}


def _criterion(criterion: Criterion, truth: bool) -> dict[str, Any]:
    data = {
        "type": criterion.kind.value,
        "text": criterion.text,
        "truth": truth,
        "tool": criterion.tool,
        "about": criterion.about.value if criterion.about else None,
        "shows": criterion.shows.value if criterion.shows else None,
        "opposite": criterion.opposite,
    }
    return {key: value for key, value in data.items() if value is not None}


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask(str(key)): _masked(one, mask) for key, one in value.items()}
    return [_masked(one, mask) for one in value] if isinstance(value, (list, tuple)) else value


def append_labels(path: Path, data: Mapping[str, Any]) -> None:
    """Add a conversation to the end of a labels file, or make the file. What is in it stays as it is.

    Raises `ScenarioFileError` for what could not be read again, and `ResultsError` if the disk refuses; then
    the file is unchanged.
    """
    written = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=_WIDTH)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            before = read_file(path).decode("utf-8") if path.exists() else ""
            text = f"{before.rstrip()}\n---\n{written}" if before.strip() else written
            content = text.encode("utf-8", "backslashreplace")
            parse_labels(content, shown_path(path))
            write_atomically(path, content)
    except (OSError, TimeoutError, UnicodeDecodeError) as error:
        problem = error if isinstance(error, OSError) else OSError(str(error))
        raise ResultsError(cannot(path, "written", problem)) from None
