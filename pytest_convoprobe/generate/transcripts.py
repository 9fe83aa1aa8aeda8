"""Conversations that really happened, from the files that other programs write.

==================  ==========================================================================
OpenAI messages     a list of messages, or `{"messages": […]}`; JSON, or one a line (JSONL)
LangSmith           a run with `inputs` and `outputs`, or a list of runs
Langfuse            a trace with `observations`, an observation, or a list of either
our own runs        a stored trial as JSON, or the JSON report of a run
==================  ==========================================================================
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConvoprobeError
from ..outside_json import read_json
from ..results.records import from_record
from ..targets.message_lists import MessageReader
from ..transcript import GREETING_TURN, Origin, Reply, Transcript, Turn

_USER = ("user", "human")
_AGENT = ("assistant", "ai", "model")
_ASKED = (("inputs", "outputs"), ("input", "output"))
_EXCHANGES = (("messages", "choices"), ("messages", "response"), ("messages", "output"), *_ASKED)
_SAID = ("question", "query", "message", "text", "content", "input", "answer", "response", "reply", "output")
_ATTACHED = ("image", "audio", "video", "file", "document")
KINDS = "OpenAI messages, an export of LangSmith or Langfuse, or a stored trial of convoprobe"


def exchanges_in(value: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The lists of messages in a run, a trace or an observation, and in what is inside it."""
    return _exchanges_below(value, 0)


def whole_exchange(value: Mapping[str, Any]) -> list[Any] | None:
    """What was said to and by a run or a trace as a whole, without the steps inside it; None if unknown."""
    inner = value.get("trace")
    places = [value, inner] if isinstance(inner, dict) else [value]
    own = (messages for one in places for messages in _own_exchanges(one))
    return next((one for one in own if all(last_words(one))), None) or spoken_in({**value, "traces": ()})


def last_words(messages: Sequence[Any]) -> tuple[str, str]:
    """The last text of the user, and the last one of the agent; empty where there is none."""
    agents = [_text(plain) for one in messages if _role(plain := _plain(one)) in _AGENT]
    said = next((text for text in reversed(agents) if text.strip()), "")
    return next(reversed(users_texts(messages)), "").strip(), said.strip()


def users_texts(messages: Sequence[Any]) -> list[str]:
    """What the user says in a list of messages."""
    return [
        _text(plain) for one in messages if _role(plain := _plain(one)) in _USER and not _results_in(plain)
    ]


def stored_conversation(value: Mapping[str, Any], path: Path) -> Iterator[tuple[Transcript, str]]:
    """The conversations of a stored trial, or of the JSON report of a run, with their names."""
    for one in value["trials"] if isinstance(value.get("trials"), list) else [value]:
        if isinstance(one, dict):
            trial = one.get("trial")
            yield _stored(one, path), f"{one.get('scenario_id', '')} trial {trial}" if trial else ""


def values_of(path: Path) -> Iterator[Any]:
    """The JSON value of a file, or of each of its lines. Raises `ValueError`, and OSError."""
    text = _text_of(path)
    try:
        yield read_json(text)
        return
    except ValueError as error:
        problem = str(error)
    # Not `splitlines`: JSON may have other breaks of lines inside a text, such as U+2028.
    lines = [line for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines, start=1):
        try:
            yield read_json(line)
        except ValueError as error:
            where = f"{path}:{number}" if number > 1 else str(path)
            raise ValueError(f"{where}: it is not JSON: {error if number > 1 else problem}") from None


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    if content.startswith((b"\x1f\x8b", b"PK\x03\x04", b"PAR1")):
        raise ValueError(f"{path}: it is compressed, or a table of Parquet. Write it as JSON or JSONL first")
    # Some shells of Windows write what a program prints in this form.
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def _stored(value: Mapping[str, Any], path: Path) -> Transcript:
    try:
        return from_record(value).result.transcript
    except ConvoprobeError as error:
        raise ValueError(f"{path}: {error}") from None


def is_messages(value: object) -> bool:
    """Whether it is a list of messages, in one of the forms that are read."""
    if not isinstance(value, list) or not any(_role(_plain(one)) for one in value):
        return False
    return all(_role(_plain(one)) or _is_item(one) for one in value)


def _is_item(value: object) -> bool:
    """Whether it is an item of OpenAI's Responses that is no message: a call, its output, a thought."""
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and (kind.endswith(("_call", "_call_output")) or kind == "reasoning")


def _role(message: Mapping[str, Any]) -> str:
    role = message.get("role") or message.get("type")
    has_content = "content" in message or "tool_calls" in message
    return role.casefold() if isinstance(role, str) and has_content else ""


def _plain(message: object) -> dict[str, Any]:
    """A message as a mapping whose content is a text or a list of parts; empty if it isn't a message.

    LangChain writes its own inside `kwargs`, with the class in `id`, or inside `data`, or as a pair.
    """
    if isinstance(message, list) and len(message) == 2 and all(isinstance(one, str) for one in message):
        return {"role": message[0], "content": message[1]} if _is_role(message[0]) else {}
    if not isinstance(message, dict):
        return {}
    inner, data = message.get("kwargs"), message.get("data")
    if message.get("lc") and isinstance(inner, dict):
        place = message.get("id")
        name = str(place[-1]) if isinstance(place, list) and place else ""
        return _with_parts({"type": name.removesuffix("Message").casefold(), **inner})
    if isinstance(data, dict) and "content" in data:
        return _with_parts({"type": message.get("type"), **data})
    return _with_parts(message)


def _is_role(word: str) -> bool:
    return word.casefold() in (*_USER, *_AGENT, "system", "tool")


def _with_parts(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, dict):
        return {**message, "content": [_with_text(content)]}
    if not isinstance(content, list):
        return message
    return {**message, "content": [_with_text(part) for part in content]}


def _with_text(part: Any) -> Any:
    """OpenAI's Assistants have the text of a part in a mapping of its own, beside notes on it."""
    text = part.get("text") if isinstance(part, dict) else None
    return {**part, "text": text.get("value", "")} if isinstance(text, dict) else part


def spoken_in(value: Mapping[str, Any]) -> list[Any] | None:
    """What was asked and answered where a trace has it as plain texts; a session has one trace a turn."""
    traces = [one for one in value.get("traces") or () if isinstance(one, dict)]
    if traces:
        traces.sort(key=lambda one: str(one.get("timestamp") or ""))
        return [message for one in traces for message in spoken_in(one) or ()] or None
    if isinstance(value.get("trace"), dict):
        return spoken_in(value["trace"])
    for asked, answered in _ASKED:
        user, agent = _words(value.get(asked)), _words(value.get(answered))
        if user and agent:
            return [{"role": "user", "content": user}, {"role": "assistant", "content": agent}]
    return None


def _words(value: object) -> str:
    """A text, or the only one in a mapping, or the one under a usual name: `{"question": "…"}`.

    The mapping may be written as JSON.
    """
    if isinstance(value, str) and value.lstrip()[:1] == "{" and isinstance(found := _parsed(value), dict):
        return _words(found) or value
    if isinstance(value, dict):
        texts = [one for one in value.values() if isinstance(one, str)]
        named = [value[name] for name in _SAID if isinstance(value.get(name), str)]
        found = texts if len(texts) == 1 else named
        return found[0] if len(found) == 1 else ""
    return value if isinstance(value, str) else ""


def _exchanges_below(value: Mapping[str, Any], depth: int) -> Iterator[list[Any]]:
    yield from _own_exchanges(value)
    nested = ("trace", "observations", "child_runs", "runs", "traces", "data")
    for name in nested if depth < 5 else ():
        inner = value.get(name)
        for one in (inner if isinstance(inner, list) else [inner]) if inner else ():
            if isinstance(one, dict):
                yield from _exchanges_below(one, depth + 1)


def _own_exchanges(value: Mapping[str, Any]) -> Iterator[list[Any]]:
    for asked, answered in _EXCHANGES:
        messages = _messages_in(value.get(asked))
        if not messages and value.get("object") == "response":
            messages = [{"role": "user", "content": _words(value.get(asked))}]
        answer = _messages_in(value.get(answered))
        if messages or users_texts(answer):
            yield _joined(messages, answer or _spoken_answer(messages, value.get(answered)))


def _spoken_answer(asked: Sequence[Any], answered: Any) -> list[Any]:
    """An answer that is a plain text, unless the list of what was asked ends with one already."""
    words = _words(answered)
    is_open = bool(asked) and _role(_plain(asked[-1])) not in _AGENT
    return [{"role": "assistant", "content": words}] if words and is_open else []


def _joined(asked: list[Any], answered: list[Any]) -> list[Any]:
    """What was said; an answer may repeat all of what was asked, with ids and other things added.

    Before that, it may have what was said earlier: what was asked is only new then.
    """
    first, second = users_texts(asked), users_texts(answered)
    repeats = bool(second) and first in (second[: len(first)], second[-len(first) :])
    return answered if repeats else [*asked, *answered]


def _messages_in(value: Any, depth: int = 0) -> list[Any]:
    """The messages in what a model was given or gave, in whatever it is wrapped."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{", '"') and depth < 5:
        return _messages_in(_parsed(value), depth + 1)
    if is_messages(value):
        return list(value)
    if isinstance(value, list) and len(value) == 1 and depth < 5:
        return _messages_in(value[0], depth + 1)
    if not isinstance(value, dict) or depth >= 5:
        return []
    if _role(_plain(value)):
        return [value]
    names = ("messages", "message", "choices", "generations", "output", "input")
    return next((found for name in names if (found := _messages_in(value.get(name), depth + 1))), [])


def _parsed(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return None


def transcript_of_messages(messages: Sequence[Any], path: Path) -> Transcript:
    """The conversation of a list of messages, as far as the list says.

    Messages of the user that follow each other are one; a last one without a reply is `pending`. Of a turn
    that names no call of a tool, `tool_calls` are None. Raises ValueError.
    """
    turns: list[Turn] = []
    said, answer = list[str](), list[Any]()
    for message in (part for one in messages for part in _parted(_plain(one))):
        if _role(message) not in _USER or _results_in(message):
            answer.append(message)
            continue
        if answer and (said or _greets(answer)):
            turns.append(_turn(turns, said, answer, path))
            said = []
        said, answer = [*said, _text(message)], []
    if answer and (said or _greets(answer)):
        turns.append(_turn(turns, said, answer, path))
        said = []
    return Transcript(tuple(turns), pending="\n".join(said) if said else None)


def _turn(before: Sequence[Turn], said: Sequence[str], answer: Sequence[Any], path: Path) -> Turn:
    if not said:
        return Turn(GREETING_TURN, "", _reply(answer, path), Origin.GREETING)
    number = before[-1].number + 1 if before else 1
    return Turn(number, "\n".join(said), _reply(answer, path))


def _greets(messages: Sequence[Any]) -> bool:
    """Whether the agent says something before any message of a user's, beside its instructions."""
    return any(_role(one) in _AGENT and _text(one) for one in messages)


def _parted(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message; of Anthropic's, which gives results of tools in the user's name, those apart."""
    results = _results_in(message) if _role(message) in _USER else []
    rest = [one for one in message["content"] if one not in results] if results else []
    if results:
        yield {**message, "content": results}
    if rest or not results:
        yield {**message, "content": rest} if rest else message


def _results_in(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [one for one in blocks if isinstance(one, dict) and one.get("type") == "tool_result"]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    return "\n".join(filter(None, map(_text_of_part, parts)))


def _text_of_part(part: Any) -> str:
    if not isinstance(part, dict):
        return "" if part is None else str(part)
    text, kind = part.get("text"), part.get("type")
    if isinstance(text, str):
        return text
    # Without its mark, a message that has only a picture would look like silence.
    is_attached = isinstance(kind, str) and any(word in kind for word in _ATTACHED)
    return f"[{kind}]" if is_attached else ""


def _reply(answer: Sequence[Any], path: Path) -> Reply:
    try:
        return MessageReader().read(answer)
    except ValueError as error:
        raise ValueError(f"{path}: a message of the agent can't be read: {error}") from None
