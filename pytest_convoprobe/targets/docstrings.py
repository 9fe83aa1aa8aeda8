"""What a docstring says about a function and its parameters, in the three usual styles."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

_HEADINGS = "Args|Arguments|Parameters|Params|Returns?|Yields?|Raises|Examples?|Notes?|Attributes"
_SECTION = re.compile(rf"^\s*({_HEADINGS}):\s*$|^({_HEADINGS})\n-{{3,}}\s*$|^:\w+", re.MULTILINE)
_PARAMETER_SECTIONS = ("Args", "Arguments", "Parameters", "Params")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?::.*)?$")
_SPHINX_ITEM = re.compile(r"^:param\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*((?:.*)(?:\n[ \t]+\S.*)*)", re.MULTILINE)


@dataclass(frozen=True)
class Documented:
    """The text before the first section, and what is said about each parameter."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Documented:
    """From a raw docstring (Google, NumPy or Sphinx style); what has no section is all description."""
    if not text:
        return Documented()
    clean = inspect.cleandoc(text)
    sections = list(_SECTION.finditer(clean))
    description = clean[: sections[0].start()] if sections else clean
    parameters = {name: _line(said) for name, said in _SPHINX_ITEM.findall(clean)}
    for number, section in enumerate(sections):
        end = sections[number + 1].start() if number + 1 < len(sections) else len(clean)
        body = clean[section.end() : end]
        if section[1] in _PARAMETER_SECTIONS:
            parameters.update(_items(body, _GOOGLE_ITEM))
        elif section[2] in _PARAMETER_SECTIONS:
            parameters.update(_items(body, _NUMPY_ITEM))
    return Documented(description.strip(), parameters)


def _items(body: str, pattern: re.Pattern[str]) -> dict[str, str]:
    """The entries of a section: lines with the least indentation begin one, the others go on with it."""
    entries: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in inspect.cleandoc(body).splitlines():
        match = None if line.startswith((" ", "\t")) else pattern.match(line)
        if match:
            current = entries.setdefault(match[1], [])
            current.extend(match.groups()[1:])
        elif current is not None:
            current.append(line)
    return {name: _line(" ".join(lines)) for name, lines in entries.items()}


def _line(text: str) -> str:
    return " ".join(text.split())
