"""JSON objects in the text of a model: plain, in a code fence, after thinking, or with prose around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"\A.*</think>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
_OBJECT = re.compile(r'\{(?=\s*["}])')
_OBJECT_AT_MARGIN = re.compile(r'^\{(?=\s*["}])', re.MULTILINE)
# Keeps the search short in a text that is full of braces, such as source code.
_MOST_OBJECTS = 50

# Models put raw line breaks into strings. Accepting them saves a second call.
_DECODER = json.JSONDecoder(strict=False)


def json_objects(text: str) -> list[dict[str, Any]]:
    """Every JSON object that `text` may mean as its answer, the likeliest first.

    That is the last one: earlier ones are usually quotes or examples. Objects inside others do not count;
    otherwise a part of a truncated answer could pass as the answer.
    """
    answer = without_thinking(text).strip()
    whole = _decode(answer)
    if whole is not None:
        return [whole]
    fenced = [found for block in _FENCE.findall(answer) if (found := _decode(block.strip())) is not None]
    return [*reversed(fenced), *reversed(list(_embedded(answer)))]


def without_thinking(text: str) -> str:
    """`text` after the thinking that some models write before their answer, tags included."""
    rest = _THINKING.sub("", text)
    # Some servers remove the opening tag and leave the closing one.
    return _THINKING_END.sub("", rest) if "<think>" not in rest else rest


def _decode(text: str) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _embedded(text: str) -> Iterator[dict[str, Any]]:
    """The objects between prose; after one that breaks off, only those that begin a line."""
    start = _OBJECT.search(text)
    for _ in range(_MOST_OBJECTS):
        if start is None:
            return
        try:
            value, end = _DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            start = _OBJECT_AT_MARGIN.search(text, start.end())
            continue
        yield value
        start = _OBJECT.search(text, end)
