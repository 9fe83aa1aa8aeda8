"""All conversations of an export, each with its id, and what could not be read as one.

An export of LangSmith or Langfuse is a list of runs, traces or observations, one a step of the agent. Those
of a trace belong together: the longest list of messages among them has all that was said. Traces of a session
follow each other: either the next one repeats what was said before, or it goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..transcript import Reply, Transcript, Turn
from .transcripts import (
    KINDS,
    exchanges_in,
    is_messages,
    last_words,
    spoken_in,
    stored_conversation,
    transcript_of_messages,
    users_texts,
    values_of,
    whole_exchange,
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
    a last message of the user that has no reply. `problem` says why its messages can't be read.
    """

    transcript: Transcript
    id: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Export:
    """What a file holds; `unread` counts the records that belong to no conversation."""

    conversations: tuple[ExportedConversation, ...]
    unread: int = 0


def read_export(path: Path) -> Export:
    """The conversations of a file, in its order.

    Raises OSError, and ValueError for a file without any.
    """
    values = list(values_of(path))
    # A file may also have one message a line.
    records = [values] if is_messages(values) else [one for value in values for one in _records(value)]
    groups: dict[tuple[str, str], list[Any]] = {}
    for number, record in enumerate(records):
        groups.setdefault(_key(record, number), []).append(record)
    found = [(group, list(_readable(group, path))) for group in groups.values()]
    conversations = tuple(one for _, several in found for one in several)
    if not conversations:
        raise ValueError(f"{path}: no message of a user was found; it should hold {KINDS}")
    return Export(conversations, sum(len(group) for group, several in found if not several))


def read_transcripts(path: Path) -> list[Transcript]:
    """The conversations of a file as they can be played again. Raises `ValueError`, and OSError.

    Without the beginnings of others: an export may have each call of the model, with all that came before.
    """
    found = read_export(path).conversations
    if problem := next((one.problem for one in found if one.problem), ""):
        raise ValueError(f"{path}: {problem}")
    scripts = [script for one in found if (script := _as_script(one.transcript)).user_turns]
    if not scripts:
        raise ValueError(f"{path}: no message of a user was found; it should hold {KINDS}")
    return _whole_ones(scripts)


def with_all_calls(transcript: Transcript) -> Transcript:
    """The conversation of an export that names every call of a tool: where it has none, none was made."""
    turns = (
        replace(turn, reply=replace(turn.reply, tool_calls=turn.reply.tool_calls or ()))
        for turn in transcript.turns
    )
    return replace(transcript, turns=tuple(turns))


def _as_script(transcript: Transcript) -> Transcript:
    """The conversation as one that is played again: what it doesn't say of tools doesn't matter there."""
    if transcript.termination is not None:
        return transcript  # one of our own, which says all
    turns = list(with_all_calls(transcript).turns)
    if transcript.pending is not None:
        number = turns[-1].number + 1 if turns else 1
        turns.append(Turn(number, transcript.pending, Reply("", ())))
    return Transcript(tuple(turns))


def _whole_ones(found: Sequence[Transcript]) -> list[Transcript]:
    """Without the beginnings of others: an export has each call of the model, with all that came before."""
    said = [[turn.user for turn in transcript.user_turns] for transcript in found]
    return [
        transcript
        for place, transcript in enumerate(found)
        if not any(
            other[: len(said[place])] == said[place] and (len(other) > len(said[place]) or later > place)
            for later, other in enumerate(said)
            if later != place
        )
    ]


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
    values = (place.get(name) for name in names)
    return next((str(one) for one in values if one and isinstance(one, (str, int, float))), "")


def _readable(group: Sequence[Any], path: Path) -> Iterator[ExportedConversation]:
    """One conversation that can't be read doesn't hide the others."""
    try:
        yield from _conversations(group, path)
    except ValueError as error:
        yield ExportedConversation(Transcript(()), _name(group[0]), str(error).removeprefix(f"{path}: "))


def _conversations(group: Sequence[Any], path: Path) -> Iterator[ExportedConversation]:
    first = group[0]
    if isinstance(first, dict) and ("transcript" in first or isinstance(first.get("trials"), list)):
        yield from (ExportedConversation(one, name) for one, name in stored_conversation(first, path))
        return
    if not isinstance(first, (dict, list)):
        return
    messages = first if isinstance(first, list) else _joined(group)
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
    lists = [_of_trace(one) for one in traces.values()]
    if all(len(users_texts(one)) < 2 for one in lists):
        return [message for one in lists for message in one]
    said: list[Any] = []
    for one in lists:
        said = _continued(said, one)
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
    """The longest list of messages of its steps that ends as the trace does.

    Other steps talk too: an agent with another agent, or with a model that finds a title. So what was said to
    and by the trace as a whole decides, if it is known; else the longest list of all.
    """
    roots = [record for record in records if not _first_text(record, _PARENTS)]
    whole = whole_exchange(roots[0]) if len(roots) == 1 else None
    lists = [messages for record in records for messages in exchanges_in(record)]
    if whole is not None:
        lists = [whole, *(one for one in lists if last_words(one) == last_words(whole))]
    if lists:
        return max(reversed(lists), key=len)
    # A step within another one, such as a call of a tool, has texts too that nobody said.
    return next((found for record in roots if (found := spoken_in(record))), [])
