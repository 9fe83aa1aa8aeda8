"""The keys at the top of a YAML file, by a cheap look: whose file it is, before anybody reads it as YAML.

Every YAML file of somebody's suite may come by here: templates that are no YAML, documents with tags of
others, dumps of 50 MB. So nothing is parsed, only the beginning of a file is read, and nothing here raises.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from ..files import open_file

LOOKED_AT = 1_000_000
"""How many bytes are looked at. A larger file isn't read as a scenario anyhow."""

# Before the first key: blank lines, comments, directives, the mark of a document.
_BEFORE = re.compile(r"(?:[ \t]*(?:#.*|%.*|---[ \t]*(?:#.*)?)?\r?\n)*(?:---[ \t]+)?")
_BLOCK = r"""^{indent}(?:---[ \t]+)?(?:"([^"\n]+)"|'([^'\n]+)'|([^\W\d][\w.-]*(?:[ ][\w.-]+)*))[ \t]*:"""
_TEMPLATE = re.compile(r"\{[{%#]")
# Strings as one piece each, so that no bracket or colon inside of one counts.
_FLOW = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[{}\[\]:,]|[^\s"'{}\[\]:,]+""")


def keys_of(file: Path) -> frozenset[str]:
    """The keys at the top of all documents of a file; none if it can't be read or isn't a mapping."""
    try:
        with open_file(file) as opened:
            return keys_at_top(opened.read(LOOKED_AT))
    except OSError:
        return frozenset()


def keys_at_top(data: bytes) -> frozenset[str]:
    """The keys at the top of a text. A broken text has keys too: those that can still be made out."""
    text = _decoded(data)
    before = _BEFORE.match(text)
    start = before.end() if before else 0
    first = text[start : start + 80].lstrip(" \t")
    # A template of another program begins with a brace, too.
    if first.startswith("{") and not _TEMPLATE.match(first):
        return frozenset(_in_flow(text[start:]))
    # A document may be indented as a whole: its first key says how far.
    indent = len(text[start : start + 80]) - len(first)
    return frozenset(_in_block(text, indent))


def _decoded(data: bytes) -> str:
    # The reader refuses these, with words. To find the keys is what makes it read the file.
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _in_block(text: str, indent: int) -> Iterator[str]:
    # Not `format`: the pattern has braces of its own.
    pattern = _BLOCK.replace("{indent}", f"[ ]{{{indent}}}" if indent else "")
    for found in re.finditer(pattern, text, re.MULTILINE):
        yield next(key for key in found.groups() if key is not None)


def _in_flow(text: str) -> Iterator[str]:
    """The keys of mappings in braces (JSON too): what is followed by a colon at the first level."""
    depth, last = 0, ""
    for found in _FLOW.finditer(text):
        part = found[0]
        if part in ("{", "["):
            depth += 1
        elif part in ("}", "]"):
            depth -= 1
        elif part == ":":
            if depth == 1 and last:
                yield last.strip("\"'")
            last = ""
        else:
            last = "" if part == "," else part
