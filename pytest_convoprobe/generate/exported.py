"""All conversations of an export, each with its id, and what could not be read as one.

An export of LangSmith or Langfuse is a list of runs, traces or observations, one a step of the agent. Those
of a trace belong together: the longest list of messages among them has all that was said. Traces of a session
follow each other: either the next one repeats what was said before, or it goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..transcript import Transcript
from .transcripts import (
    KINDS,
    exchanges_in,
    is_messages,
    spoken_in,
    stored_conversation,
    transcript_of_messages,
    users_texts,
    values_of,
)

_ENVELOPES = ("data", "runs", "traces", "conversations", "items")
_SESSIONS = ("sessionId", "session_id", "thread_id", "threadId", "conversation_id", "conversationId")
_TRACES = ("traceId", "trace_id", "id")
_TIMES = ("start_time", "startTime", "timestamp", "createdAt", "created_at")
_PARENTS = ("parent_run_id", "parentObservationId", "parent_id")


@dataclass(frozen=True)
class ExportedConversation:
    """A conversation as its export has it; `id` is empty where it has none there.

    Of a turn, `tool_calls` are None where the export names none: then it may have left them out. `pending` is
    a last message of the user that has no reply.
    """

    transcript: Transcript
    id: str = ""


@dataclass(frozen=True)
class Export:
    """What a file holds; `unread` counts the records that belong to no conversation."""

    conversations: tuple[ExportedConversation, ...]
    unread: int = 0


def read_export(path: Path) -> Export:
    """The conversations of a file, in its order.

    Raises OSError, and ValueError for a file without any and for messages that can't be read.
    """
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    records = [record for value in values_of(text, path) for record in _records(value)]
    groups: dict[tuple[str, str], list[Any]] = {}
    for number, record in enumerate(records):
        groups.setdefault(_key(record, number), []).append(record)
    found = [(group, list(_conversations(group, path))) for group in groups.values()]
    conversations = tuple(one for _, several in found for one in several)
    if not conversations:
        raise ValueError(f"{path}: no message of a user was found; it should hold {KINDS}")
    return Export(conversations, sum(len(group) for group, several in found if not several))


def _records(value: Any) -> Iterator[Any]:
    """The records of a file: those of a list, or of the list that an answer of an API wraps."""
    if is_messages(value) or not isinstance(value, (list, dict)):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _records(one)
    elif (wrapped := _wrapped(value)) is not None:
        for one in wrapped:
            yield from _records(_in_session(one, value))
    else:
        yield value


def _wrapped(value: Mapping[str, Any]) -> list[Any] | None:
    lists = (value.get(name) for name in _ENVELOPES)
    return next((one for one in lists if isinstance(one, list) and one and _are_records(one)), None)


def _are_records(values: Sequence[Any]) -> bool:
    return not is_messages(values) and all(isinstance(one, dict) or is_messages(one) for one in values)


def _in_session(record: Any, around: Mapping[str, Any]) -> Any:
    """A trace in the file of its session belongs to that session."""
    if isinstance(record, dict) and "traces" in around and isinstance(around.get("id"), str):
        return {"sessionId": around["id"], **record}
    return record


def _key(record: Any, number: int) -> tuple[str, str]:
    """What records of one conversation have in common."""
    if not isinstance(record, dict) or "transcript" in record or "trials" in record:
        return ("record", str(number))
    if session := _session(record):
        return ("session", session)
    if trace := _trace(record):
        return ("trace", trace)
    return ("record", str(number))


def _session(record: Mapping[str, Any]) -> str:
    trace, extra = record.get("trace"), record.get("extra")
    more = extra.get("metadata") if isinstance(extra, dict) else None
    # LangSmith's own `session_id` is the project of a run, which all its conversations share.
    own = [name for name in _SESSIONS if name != "session_id" or "run_type" not in record]
    places = [(record, own), (trace, _SESSIONS), (record.get("metadata"), _SESSIONS), (more, _SESSIONS)]
    return next((found for place, names in places if (found := _first_text(place, names))), "")


def _trace(record: Mapping[str, Any]) -> str:
    return _first_text(record, _TRACES) or _first_text(record.get("trace"), _TRACES)


def _first_text(place: Any, names: Iterable[str]) -> str:
    if not isinstance(place, dict):
        return ""
    return next((found for name in names if isinstance(found := place.get(name), str) and found), "")


def _conversations(group: Sequence[Any], path: Path) -> Iterator[ExportedConversation]:
    first = group[0]
    if isinstance(first, dict) and ("transcript" in first or isinstance(first.get("trials"), list)):
        yield from (ExportedConversation(one, name) for one, name in stored_conversation(first, path))
        return
    messages = first if is_messages(first) else _joined(group)
    transcript = transcript_of_messages(messages, path)
    if transcript.user_turns or transcript.pending is not None:
        yield ExportedConversation(transcript, _name(first))


def _name(record: Any) -> str:
    return (_session(record) or _trace(record)) if isinstance(record, dict) else ""


def _joined(group: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What was said in the traces of a conversation, in their order."""
    traces: dict[str, list[Mapping[str, Any]]] = {}
    for number, record in enumerate(sorted(group, key=_time)):
        traces.setdefault(_trace(record) or str(number), []).append(record)
    said: list[Any] = []
    for trace in traces.values():
        said = _continued(said, _of_trace(trace))
    return said


def _continued(before: list[Any], more: list[Any]) -> list[Any]:
    """What was said in two traces, of which either may repeat all of the other."""
    first, second = users_texts(before), users_texts(more)
    if second[: len(first)] == first:
        return more
    return before if first[: len(second)] == second else [*before, *more]


def _time(record: Mapping[str, Any]) -> str:
    trace = record.get("trace")
    return _first_text(record, _TIMES) or _first_text(trace, _TIMES)


def _of_trace(records: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The longest list of messages of its steps; without any, what was asked and answered as plain texts."""
    lists = [messages for record in records for messages in exchanges_in(record)]
    if lists:
        return max(reversed(lists), key=len)
    # A step within another one, such as a call of a tool, has texts too that nobody said.
    roots = [record for record in records if not _first_text(record, _PARENTS)]
    return next((found for record in roots if (found := spoken_in(record))), [])
