"""promptfoo's templates (Nunjucks): values are filled in, and logic is reported, not run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_NAME = r"[A-Za-z_$][\w$]*"
_STEP = rf"(?:\.{_NAME}|\.\d+|\[\d+\]|\[\"[^\"\]]*\"\]|\['[^'\]]*'\])"
_PART = re.compile(
    r"\{%-?\s*raw\s*-?%\}(?P<raw>.*?)\{%-?\s*endraw\s*-?%\}"
    r"|(?P<comment>\{#.*?#\})"
    rf"|\{{\{{-?\s*(?P<path>{_NAME}{_STEP}*)(?P<filters>(?:\s*\|\s*(?:safe|trim|upper|lower|dump))*)\s*-?\}}\}}"
    r"|(?P<logic>\{%[^%]*%\}|\{\{[^{}]*\}\})",
    re.DOTALL,
)
_STEPS = re.compile(rf"{_NAME}|\d+|\"[^\"]*\"|'[^']*'")
_MOST_ROUNDS = 3
_MOST_VALUES = 2_000
_FILTERS: Mapping[str, Callable[[str], str]] = {
    "trim": str.strip,
    "upper": str.upper,
    "lower": str.lower,
    "safe": str,
}


@dataclass(frozen=True)
class Rendered:
    """A template with its values. `missing` are the names without one; `logic` is what wasn't run."""

    text: str
    missing: tuple[str, ...] = ()
    logic: str = ""

    @property
    def fault(self) -> str:
        """Why the text isn't what promptfoo would make of it; empty if it is."""
        if self.logic:
            return f"its template has logic that isn't run here: {self.logic[:60]}"
        return f"nothing gives {', '.join(f'`{name}`' for name in self.missing)} a value" * bool(self.missing)


def render(template: str, values: Mapping[str, Any], instead: str | None = None) -> Rendered:
    """Fill in the values; those that are templates themselves are filled in too.

    `instead` stands for a value that is missing; without it, the template's own words do.
    """
    return _Rendering(values, instead).of(template)


class _Rendering:
    """One text while it is filled in."""

    def __init__(self, values: Mapping[str, Any], instead: str | None) -> None:
        self._values, self._instead = values, instead
        self._missing: list[str] = []
        self._logic: list[str] = []
        self._filled = 0

    def of(self, template: str) -> Rendered:
        text = self._text(template, 1)
        return Rendered(text, tuple(dict.fromkeys(self._missing)), next(iter(self._logic), ""))

    def _text(self, template: str, depth: int) -> str:
        return _PART.sub(lambda match: self._part(match, depth), template) if "{" in template else template

    def _part(self, match: re.Match[str], depth: int) -> str:
        if match["raw"] is not None or match["comment"] is not None:
            return match["raw"] or ""
        if match["logic"] is not None:
            self._logic.append(match["logic"])
            return match[0]
        found = _look_up(match["path"], self._values)
        if found is None:
            self._missing.append(match["path"])
            return match[0] if self._instead is None else self._instead
        return self._value(_filtered(found, match["filters"] or ""), depth)

    def _value(self, text: str, depth: int) -> str:
        """A value, which may name others. Those that name themselves would grow without end."""
        self._filled += 1
        if self._filled > _MOST_VALUES:
            self._logic.append("values within values, too many of them")
            return ""
        return self._text(text, depth + 1) if depth < _MOST_ROUNDS else text


def render_data(value: Any, values: Mapping[str, Any]) -> tuple[Any, str]:
    """Data with the templates in its texts filled in, and the first fault."""
    if isinstance(value, str):
        rendered = render(value, values)
        return rendered.text, rendered.fault
    faults = [""]

    def part(item: Any) -> Any:
        data, fault = render_data(item, values)
        faults.append(fault)
        return data

    if isinstance(value, Mapping):
        value = {key: part(item) for key, item in value.items()}
    elif isinstance(value, list):
        value = [part(item) for item in value]
    return value, next(filter(None, faults), "")


def names_in(template: str) -> tuple[str, ...]:
    """The variables of a template, each once."""
    found = (match["path"] for match in _PART.finditer(template) if match["path"])
    return tuple(dict.fromkeys(_STEPS.findall(path)[0] for path in found))


def is_one_variable(template: str) -> bool:
    """Whether a template is a variable and nothing else."""
    match = _PART.fullmatch(template.strip())
    return match is not None and match["path"] is not None


def as_text(value: Any) -> str:
    """A value as promptfoo writes it into a text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _look_up(path: str, values: Mapping[str, Any]) -> Any:
    found: Any = values
    for step in _STEPS.findall(path):
        name = step.strip("\"'")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def _filtered(value: Any, filters: str) -> str:
    names = [name.strip() for name in filters.split("|") if name.strip()]
    text = json.dumps(value, ensure_ascii=False) if "dump" in names else as_text(value)
    for name in names:
        text = _FILTERS.get(name, str)(text)
    return text
