"""Placeholders in texts that people write: filled in where that works, refused where nothing does it.

A text with `{{ today }}` that reaches a model as it is makes the agent wrong for a reason that nobody
sees. So a placeholder either has a value, or is an error with its place, or is marked as meant word for word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from ..suggest import did_you_mean

# Jinja's own marks for text that is not a template: nobody has to learn an escape of ours.
_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}(?P<raw>.*?)\{%-?\s*endraw\s*-?%\}", re.DOTALL)
_JINJA = re.compile(r"\{\{-?\s*(?P<inner>[^{}\s][^{}\n]*?)\s*-?\}\}|\{%[^\n]*?%\}")
# Python's own format. Most names in single braces are meant as they are (`/orders/{id}`), but not these.
_DATE = re.compile(
    r"(?<![\w{$])\{\s*(?P<inner>today|now|tomorrow|yesterday|current_date|current_time)\s*\}(?!\})"
)
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(?::-[^}\n]*)?\}")


class MarkedText(str):
    """A text without the marks of its word-for-word parts; `marked` is the same with them."""

    __slots__ = ("marked",)
    marked: str

    def __new__(cls, text: str, marked: str = "") -> MarkedText:
        made = super().__new__(cls, text)
        made.marked = marked or text
        return made


def complaint(
    text: str, known: Collection[str] = (), *, variables: bool = False, advice: str = ""
) -> str | None:
    """What is wrong with the placeholders of a text, if anything.

    `known` are the names that get a value. With `variables`, `${NAME}` counts as a placeholder too: in texts
    whose variables nobody fills in. `advice` is another way out of that.
    """
    if "{" not in text:
        return None
    plain = _RAW.sub("", text)
    found = [match for match in _JINJA.finditer(plain) if match["inner"] not in known]
    found += [*_DATE.finditer(plain), *(_VARIABLE.finditer(plain) if variables else ())]
    first = next(iter(found), None)
    if first is None:
        return None
    is_variable = first.re is _VARIABLE
    return _in_words(first[0], first.groupdict().get("inner") or "", known, advice if is_variable else "")


def parts_of(text: str) -> Iterator[tuple[str, str | None]]:
    """The parts of a text as they are written; one that is marked as word for word with its words."""
    end = 0
    for match in _RAW.finditer(text):
        yield text[end : match.start()], None
        yield match[0], match["raw"]
        end = match.end()
    yield text[end:], None


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its values, and what is marked as word for word without its marks."""
    parts, end = [], 0
    for match in _RAW.finditer(text):
        parts += [_filled(text[end : match.start()], values), match["raw"]]
        end = match.end()
    return "".join((*parts, _filled(text[end:], values)))


def word_for_word(text: str) -> str:
    """A text as it has to be written so that it is read as it is."""
    return f"{{% raw %}}{text}{{% endraw %}}" if complaint(text, variables=True) else text


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _JINJA.sub(lambda match: values.get(match["inner"] or "", match[0]), text)


def _in_words(found: str, inner: str, known: Collection[str], advice: str) -> str:
    if known:
        names = " and ".join(f"`{{{{ {name} }}}}`" for name in known)
        filled = f"only {names} get a value here{did_you_mean(inner, known)}"
    else:
        filled = "nothing is filled in here"
    return (
        f"`{found}` would reach the model as it is: {filled}. Write the value itself,{advice} or "
        f"`{{% raw %}}{found}{{% endraw %}}` if these characters are meant"
    )
