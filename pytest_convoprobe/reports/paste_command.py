"""The command that runs one item again, in characters that a terminal can show and a shell reads back."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ..text import harmless

_OPERATORS = frozenset({"and", "or", "not"})


def pytest_words(path: str, name: str, encoding: str) -> list[str]:
    """`pytest` and what selects the item `name` of the file `path`.

    That is its id, or, where the terminal's `encoding` can't encode the id, the file and a `-k` of the plain
    words in the name. An unprintable file is replaced by the nearest printable folder above it.
    """
    node_id = f"{path}::{name}" if name else path
    if _can_be_pasted(node_id, encoding):
        return ["pytest", node_id]
    places = [path, *map(str, PurePosixPath(path).parents)]
    place = next((place for place in places if _can_be_pasted(place, encoding)), ".")
    keywords = _keywords(name)
    return ["pytest", place, "-k", keywords] if keywords else ["pytest", place]


def _can_be_pasted(text: str, encoding: str) -> bool:
    """Whether the text can be shown as it is: neither its encoding nor `harmless` changes it."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return harmless(text) == text


def _keywords(name: str) -> str:
    """An expression for `-k` that matches the name: all of its plain words, each once."""
    words = dict.fromkeys(re.findall(r"[A-Za-z0-9_]+", name))
    return " and ".join(word for word in words if word not in _OPERATORS)
