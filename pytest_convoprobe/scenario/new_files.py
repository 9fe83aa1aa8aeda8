"""Scenario files that we write: their text, their names, and that none takes the place of another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from ..text import one_line, visible

MOST_NAME = 60
"""The longest name of a file, or of a scenario that we name, in characters."""


class _Dumper(yaml.SafeDumper):
    """As people write it: sequences are indented below their key, and nothing is an alias."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        """Several lines stay lines where YAML can do that."""
        style = "|" if "\n" in data else None
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.text)


def as_yaml(scenario: Mapping[str, Any], comment: Sequence[str]) -> str:
    """The text of a file with one scenario. `comment` are the lines above, on what it was made from."""
    return as_comment(comment) + yaml.dump(
        dict(scenario), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )


def as_comment(lines: Iterable[str]) -> str:
    """Lines above a scenario, whatever is in them."""
    return "".join(f"# {one_line(visible(line))}".rstrip() + "\n" for line in lines)


def file_name(name: str) -> str:
    """`refund-of-a-kettle`: a name for the file of a scenario, without its suffix."""
    words = re.findall(r"[a-z0-9]+", name.casefold())
    return "-".join(words)[:MOST_NAME].strip("-") or "scenario"


def write_new(folder: Path, name: str, text: str) -> Path:
    """Write a file that isn't there yet: `name.yaml`, or `name-2.yaml` and so on. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in _names(folder, name):
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always another number")


def find_same(folder: Path, name: str, text: str) -> Path | None:
    """The file that `write_new` has written with the same text before, if it is there. Raises `OSError`."""
    for path in _names(folder, name):
        if not path.is_file():
            return None
        if path.read_bytes() == text.encode():
            return path
    return None


def _names(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}.yaml"
    yield from (folder / f"{name}-{number}.yaml" for number in count(2))
