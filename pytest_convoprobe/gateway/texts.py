"""The texts in requests and answers of whatever form, to find out whose they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from ..llm.protocols.events import EVENT_STREAM, read_events
from ..outside_json import read_json
from ..text import one_line
from .exchange import Answered, Asked

LEAST_ID = 12
"""Characters from which an id is taken for the only one of its kind: `call_1` may be in each conversation."""

_MOST_DEPTH = 60
_IDS = frozenset(("id", "call_id", "item_id", "previous_response_id", "tool_call_id", "tool_use_id"))
_PLACES = ("index", "output_index", "content_index", "item_id")
_OF_TOOLS = frozenset(("arguments", "input", "output", "result"))
"""Where ids are those of a tool. A request has an `input`, too: a list or a text, and not an object."""
_USERS = frozenset(("user", "human"))
# What describes the agent and not the conversation.
_NOT_SAID = frozenset(("tools", "model", "functions", "response_format", "text_format", "type", "role"))


class RequestTexts:
    """The texts of a request, to look for others in them."""

    def __init__(self, asked: Asked) -> None:
        data = _data_of(asked.body)
        self._all = [one_line(text) for text in _leaves(data)]
        self._asked = one_line("\n".join(_last_of_user(data))).strip()
        self._is_request = isinstance(data, Mapping) and bool(data)
        self.ids = frozenset(one for one in _ids(data) if len(one) >= LEAST_ID)

    @cached_property
    def _joined(self) -> str:
        return "\n".join(self._all)

    def place_of(self, text: str) -> int:
        """Where a text ends for the last time; -1 if it isn't there."""
        return _last_end(self._joined, text)

    @property
    def asks_nothing(self) -> bool:
        """Whether a model is called without a message of the user's."""
        return self._is_request and not self._asked

    def is_asked(self, text: str) -> bool:
        """Whether the last message of the user's is this text and nothing else."""
        return bool(self._asked) and self._asked == one_line(text).strip()


def _last_end(texts: str, text: str) -> int:
    """Where a text ends for the last time, as it is or as it is written inside JSON or source code.

    White space counts for nothing: agents change it in what they pass on.
    """
    return max((_end_of(texts, form) for form in _forms(text.strip()) if form), default=-1)


def _forms(text: str) -> Iterable[str]:
    escaped = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    twice = (json.dumps(one)[1:-1] for one in escaped)
    return dict.fromkeys(one_line(one) for one in (text, *escaped, *twice))


def _end_of(texts: str, form: str) -> int:
    """The end of the last place where the form is a whole word or several."""
    place = texts.rfind(form)
    while place >= 0:
        end = place + len(form)
        if not _splits_word(texts, place) and not _splits_word(texts, end):
            return end
        place = texts.rfind(form, 0, end - 1)
    return -1


def _splits_word(texts: str, place: int) -> bool:
    around = texts[max(0, place - 1) : place + 1]
    # An escape such as `\n` ends in a letter that belongs to no word.
    return len(around) == 2 and around.isalnum() and around.isascii() and texts[max(0, place - 2)] != "\\"


def _data_of(body: bytes) -> Any:
    try:
        return read_json(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _leaves(data: Any, depth: int = 0) -> Iterator[str]:
    """All texts of a request, in their order; those in texts that are JSON themselves too."""
    if isinstance(data, str):
        yield data
    elif depth < _MOST_DEPTH and isinstance(data, Mapping):
        for key, item in data.items():
            if depth or key not in _NOT_SAID:
                yield from _leaves(item, depth + 1)
    elif depth < _MOST_DEPTH and isinstance(data, list):
        for item in data:
            yield from _leaves(item, depth + 1)


def _last_of_user(data: Any) -> list[str]:
    """The texts of the user's last message. A list of tools' results doesn't count as one."""
    if not isinstance(data, Mapping):
        return []
    said = next((data[key] for key in ("messages", "input", "contents") if data.get(key)), None)
    if isinstance(said, str):
        return [said]
    for message in reversed(said if isinstance(said, list) else []):
        if isinstance(message, Mapping) and message.get("role") in _USERS:
            content = message.get("content", message.get("parts"))
            parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
            texts = [text for part in parts for text in _said_in(part)]
            if texts:
                return texts
    return []


def _said_in(part: Any) -> list[str]:
    if isinstance(part, str):
        return [part]
    text = part.get("text") if isinstance(part, Mapping) else None
    return [text] if isinstance(text, str) else []


def _ids(data: Any, depth: int = 0) -> Iterator[str]:
    """The ids that a model's service has made, and none that tools have."""
    if isinstance(data, list) and depth < _MOST_DEPTH:
        for item in data:
            yield from _ids(item, depth + 1)
    elif isinstance(data, Mapping) and depth < _MOST_DEPTH:
        for key, item in data.items():
            if isinstance(item, str) and key in _IDS:
                yield item
            elif not (key in _OF_TOOLS and isinstance(item, Mapping)):
                yield from _ids(item, depth + 1)


def contents_of_answer(answered: Answered) -> tuple[list[str], list[str]]:
    """Texts and ids of an answer: those of a stream joined, and those in arguments of tools too."""
    if answered.content_type == EVENT_STREAM:
        events = [event.data or event.text for event in read_events(answered.body)]
        texts = _joined_texts(events)
    else:
        events = [_data_of(answered.body)]
        texts = list(_leaves(events))
    inner = (one for text in texts if text.lstrip()[:1] in ("{", "[") for one in _inside(text))
    every = (one_line(text).strip() for text in (*texts, *inner))
    return list(dict.fromkeys(every)), list(dict.fromkeys(_ids(events)))


def _inside(text: str) -> Iterator[str]:
    try:
        return _leaves(read_json(text))
    except ValueError:
        return iter(())


def _joined_texts(events: Iterable[Any]) -> list[str]:
    """The texts of events; those that have the same place in several events, such as deltas, joined."""
    joined: dict[tuple[Any, ...], str] = {}
    for event in events:
        for place, text in _placed(event, ()):
            joined[place] = joined.get(place, "") + text
    return list(joined.values())


def _placed(data: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(data, str):
        yield place, data
    elif isinstance(data, Mapping) and len(place) < _MOST_DEPTH:
        # Parts of several texts come mixed: each event says by numbers or ids to which it belongs.
        which = tuple(data[key] for key in _PLACES if isinstance(data.get(key), (int, str)))
        for key, item in data.items():
            yield from _placed(item, (*place, *which, key))
    elif isinstance(data, list) and len(place) < _MOST_DEPTH:
        for item in data:
            yield from _placed(item, place)
