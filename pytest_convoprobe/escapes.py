r"""The ways in which a text is written inside other texts: in JSON, a URL, HTML, source code, base64.

Each library escapes other signs: PHP writes `\/`, Go `\u0026`, a browser `%2F` and no `%27`. So there is no
list of forms. Each sign of the text may be escaped or not, in any of these ways, also several times over.
"""

from __future__ import annotations

import base64
import json
import re
import string
from collections.abc import Iterator
from functools import lru_cache
from html.entities import codepoint2name
from urllib.parse import quote

_UNTOUCHED = frozenset(string.ascii_letters + string.digits + "-._")
"""What nobody escapes."""

_LETTERS = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_LEAST_BASE64 = 7

# An escape may be escaped again: `%252F`, `&amp;amp;`, `\\\\"`. The numbers keep the search short.
_PERCENT = "%(?:25){0,3}"
_AMPERSAND = "&(?:amp;){0,3}"
_BACKSLASHES = (r"\\\\{0,14}", f"{_PERCENT}5[cC](?:{_PERCENT}5[cC]){{0,7}}")


@lru_cache(maxsize=512)
def expressions_of(text: str) -> tuple[str, ...]:
    """Regular expressions that find the text in all its forms.

    Each begins with a character and not with a choice: many of them together are looked for fast then.
    """
    # What is in base64 may have been JSON or a part of a URL before.
    inner = dict.fromkeys((text, json.dumps(text)[1:-1], quote(text, safe="", errors="surrogatepass")))
    encoded = (core for one in inner for core in _base64(one))
    every = (text, *encoded)
    return tuple(dict.fromkeys(form for one in every for form in _spelled(one)))


def _spelled(text: str) -> Iterator[str]:
    rest = "".join(map(_spelling, text[1:]))
    for first in _spellings(text[0]):
        yield first + rest


def _spelling(sign: str) -> str:
    found = _spellings(sign)
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


@lru_cache(maxsize=2048)
def _spellings(sign: str) -> tuple[str, ...]:
    """Expressions for the ways to write a sign."""
    plain = re.escape(sign)
    if sign in _UNTOUCHED:
        return (plain,)
    others = [*_in_url(sign), *_in_html(sign)]
    after = "|".join((plain, *others, *_after_backslash(sign)))
    escaped = [f"{backslashes}(?:{after})" for backslashes in _BACKSLASHES]
    # The longest first: of two backslashes, one alone would leave the other.
    return tuple(dict.fromkeys([*escaped, *others, plain]))


def _in_url(sign: str) -> Iterator[str]:
    for encoding in ("utf-8", "latin-1"):
        try:
            raw = sign.encode(encoding, "surrogatepass")
        except UnicodeEncodeError:
            continue
        yield "".join(_PERCENT + _any_case(f"{byte:02x}") for byte in raw)
    if sign == " ":
        yield r"\+"


def _in_html(sign: str) -> Iterator[str]:
    code = ord(sign)
    names = [name for name in (codepoint2name.get(code), "apos" if sign == "'" else None) if name]
    numbers = [f"#0{{0,4}}{code}", f"#[xX]0{{0,4}}{_any_case(f'{code:x}')}"]
    yield _AMPERSAND + f"(?:{'|'.join((*names, *numbers))});"


def _after_backslash(sign: str) -> Iterator[str]:
    """What follows one backslash or several, in JSON or in source code."""
    code = ord(sign)
    if sign in _LETTERS:
        yield _LETTERS[sign]
    units = sign.encode("utf-16-be", "surrogatepass")
    pairs = [units[place : place + 2].hex() for place in range(0, len(units), 2)]
    yield _BACKSLASHES[0].join("u" + _any_case(pair) for pair in pairs)
    if code < 0x100:
        yield "x" + _any_case(f"{code:02x}")
    raw = sign.encode("utf-8", "surrogatepass")
    yield _BACKSLASHES[0].join("x" + _any_case(f"{byte:02x}") for byte in raw)
    yield "U" + _any_case(f"{code:08x}")


def _any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)


def _base64(text: str) -> Iterator[str]:
    """The characters of base64 that depend on the text alone, wherever in a longer one it begins."""
    raw = text.encode("utf-8", "surrogatepass")
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw)
        first = (shift * 8 + 5) // 6
        last = (shift + len(raw)) * 8 // 6
        # From the first letter: a sign that may be escaped is looked for more slowly.
        core = encoded[first:last].decode("ascii").lstrip("+/")
        if len(core) >= _LEAST_BASE64:
            yield core
            yield core.replace("+", "-").replace("/", "_")
