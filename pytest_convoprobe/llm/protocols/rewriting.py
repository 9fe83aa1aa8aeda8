"""A body with its texts changed: secrets masked, or personal data put back. All else stays, byte for byte.

A stream divides a text among its events, and a secret with it. So what belongs together is joined first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from ...redaction import is_secret_name
from .events import is_stream, pieces, read_event
from .shapes import listing, mapping, read_data, text_of

Change = Callable[[str], str]
# All lines of the data of an event, from the first one on.
_DATA = re.compile(rb"(?:^|(?<=[\r\n]))data:[ ]?(?P<data>[^\r\n]*(?:(?:\r\n|\r|\n)data:[^\r\n]*)*)")

# Data that looks like a text: a change of it would be a mistake.
_BINARY = frozenset({"embedding", "b64_json", "signature", "encrypted_content"})
_DELTAS = ("content", "refusal", "reasoning_content", "reasoning")
_OF_BLOCKS = ("text", "thinking", "partial_json")
_OF_OTHERS = ("text", "content", "thinking", "response", "completion")


def with_texts(content_type: str, body: bytes, change: Change, *, masks: bool = False) -> bytes:
    """The body with each text as `change` gives it.

    With `masks`, values under a key such as `password` are changed as `"password": "…"`, so that they are
    masked whatever they are.
    """
    if is_stream(content_type, body):
        return _stream([_event(raw) for raw in pieces(body)], change, masks=masks)
    if "ndjson" in content_type or "json-seq" in content_type or "jsonl" in content_type:
        return _stream([_line(raw) for raw in body.splitlines(keepends=True)], change, masks=masks)
    try:
        data = read_data(body)
    except ValueError:
        return _as_text(body, change)
    new = _changed(data, change, masks=masks)
    return body if new == data else _written(new, body)


def _as_text(body: bytes, change: Change) -> bytes:
    """The bytes changed as one text. Bytes that aren't UTF-8 stay as they are."""
    changed = change(body.decode("utf-8", "surrogateescape"))
    try:
        return changed.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return changed.encode("utf-8", "replace")


def _written(data: Any, before: bytes) -> bytes:
    """The data in about the layout that it had."""
    if b"\n" in before.strip():
        return _encoded(data, indent=2)
    return _encoded(data, separators=(", ", ": ") if b'": ' in before else (",", ":"))


def _encoded(data: Any, **layout: Any) -> bytes:
    try:
        return json.dumps(data, ensure_ascii=False, **layout).encode("utf-8")
    except UnicodeEncodeError:
        # A half of a pair of surrogates, which only an escape can write.
        return json.dumps(data, **layout).encode("ascii")


def _changed(value: Any, change: Change, *, masks: bool, but: frozenset[int] = frozenset()) -> Any:
    """The data with its texts changed, but for those of the objects in `but`, by their `id`."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_changed(item, change, masks=masks, but=but) for item in value]
    if not isinstance(value, dict):
        return value
    done = id(value) in but
    return {
        change(name): item
        if name in _BINARY or (done and isinstance(item, str))
        else _under(name, item, value, change, masks=masks, but=but)
        for name, item in value.items()
    }


def _under(
    name: str, item: Any, around: dict[str, Any], change: Change, *, masks: bool, but: frozenset[int]
) -> Any:
    # A `token` with its probability is a part of the answer.
    if masks and isinstance(item, str) and "logprob" not in around and is_secret_name(name):
        return _under_secret_name(name, item, change)
    return _changed(item, change, masks=masks, but=but)


def _under_secret_name(name: str, item: str, change: Change) -> str:
    pair = json.dumps({name: item}, ensure_ascii=False)
    try:
        return text_of(mapping(json.loads(change(pair))).get(name)) or item
    except ValueError:
        return change(item)


class _Piece:
    """A part of a stream: its bytes, its data if that is an object, and where in the bytes the data is."""

    def __init__(self, raw: bytes, data: dict[str, Any], place: slice) -> None:
        self._raw = raw
        self.data = data
        self._place = place
        self._before = json.dumps(data)

    def change(self, change: Change, *, masks: bool, but: frozenset[int]) -> bytes:
        """The bytes with their texts changed."""
        raw, place = self._raw, self._place
        if not self.data:
            # A comment, the mark of the end, or data that isn't an object.
            return _as_text(raw, change)
        data = _changed(self.data, change, masks=masks, but=but)
        if json.dumps(data) == self._before:
            return raw
        spaced = (", ", ": ") if b'": ' in raw else (",", ":")
        return raw[: place.start] + _encoded(data, separators=spaced) + raw[place.stop :]


def _event(raw: bytes) -> _Piece:
    event = read_event(raw)
    found = _DATA.search(raw)
    if event is None or found is None:
        return _Piece(raw, {}, slice(0))
    return _Piece(raw, event.data, slice(*found.span("data")))


def _line(raw: bytes) -> _Piece:
    try:
        data = mapping(read_data(raw))
    except ValueError:
        data = {}
    return _Piece(raw, data, slice(0, len(raw.rstrip())))


def _stream(parts: list[_Piece], change: Change, *, masks: bool) -> bytes:
    joined: dict[tuple[Any, ...], list[tuple[dict[str, Any], str]]] = {}
    for part in parts:
        for key, holder, name in _deltas(part.data):
            joined.setdefault(key, []).append((holder, name))
    for places in joined.values():
        _change_joined(places, change)
    done = frozenset(id(holder) for places in joined.values() for holder, _ in places)
    return b"".join(part.change(change, masks=masks, but=done) for part in parts)


def _change_joined(places: list[tuple[dict[str, Any], str]], change: Change) -> None:
    """The text of many events changed as a whole; all of it is in the first of them then."""
    whole = "".join(holder[name] for holder, name in places)
    changed = change(whole)
    if changed == whole:
        return
    for number, (holder, name) in enumerate(places):
        holder[name] = "" if number else changed


def _deltas(data: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str]]:
    """The texts of an event that go on in the next one: what they belong to, their object, their name."""
    kind = text_of(data.get("type"))
    if kind.endswith(".delta") and isinstance(data.get("delta"), str):
        yield (kind, *map(str, (data.get("item_id"), data.get("content_index")))), data, "delta"
    if kind == "content_block_delta":
        block = mapping(data.get("delta"))
        yield from (((kind, str(data.get("index")), name), block, name) for name in _texts(block, _OF_BLOCKS))
    for choice in listing(data.get("choices")):
        yield from _of_choice(mapping(choice))
    if not kind and "choices" not in data:
        yield from _anywhere(data, ())


def _of_choice(choice: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str]]:
    delta, number = mapping(choice.get("delta")), str(choice.get("index"))
    yield from (((number, name), delta, name) for name in _texts(delta, _DELTAS))
    yield from (((number, "whole"), choice, name) for name in _texts(choice, ("text",)))
    for call in map(mapping, listing(delta.get("tool_calls"))):
        function = mapping(call.get("function"))
        for name in _texts(function, ("arguments",)):
            yield (number, "call", str(call.get("index"))), function, name
    old = mapping(delta.get("function_call"))
    yield from (((number, "function"), old, name) for name in _texts(old, ("arguments",)))


def _anywhere(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any], str]]:
    """The texts at the same place in each part of a stream whose protocol nobody knows here."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _anywhere(item, (*place, number))
    if isinstance(value, dict):
        yield from ((("any", *place, name), value, name) for name in _texts(value, _OF_OTHERS))
        for name, item in value.items():
            yield from _anywhere(item, (*place, name))


def _texts(data: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    return [name for name in names if isinstance(data.get(name), str)]
