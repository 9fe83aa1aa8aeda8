"""Plain data as YAML text: one line below another, or all on one line."""

from __future__ import annotations

import re
from typing import Any

import yaml

_WIDTH = 100
_INFINITE = 10**9
# Breaks that a reader of YAML makes into plain ones, unless they are escaped.
_ODD_BREAK = re.compile("[\r\x85\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key, and writes a text of several lines as such."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _ODD_BREAK.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def block(data: Any, indent: int) -> str:
    """Lines that begin `indent` columns to the right; no line break at the end."""
    written = yaml.dump(
        data,
        Dumper=_Dumper,
        default_flow_style=False,
        allow_unicode=True,
        sort_keys=False,
        width=max(_WIDTH - indent, 40),
    )
    lines = written.rstrip("\n").split("\n")
    return "\n".join(f"{' ' * indent}{line}" if line else line for line in lines)


def inline(data: Any) -> str:
    """One line, every text in double quotes: fit for the inside of brackets."""
    written: str = yaml.dump(
        data,
        Dumper=yaml.SafeDumper,
        default_style='"',
        default_flow_style=True,
        allow_unicode=True,
        sort_keys=False,
        width=_INFINITE,
    )
    return written.strip()
