"""Names of tools as people write them in files: as they are, or as patterns of the shell.

In a pattern (`mcp__shop__delete_*`) upper and lower case differ.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from .text import is_blank

_OTHER_PATTERNS = re.compile(r"[{}|\\^$()]|^!|^/.*/$|\[(?!.*\])|,\s")


def matches(pattern: str, name: str) -> bool:
    """Whether a name or pattern of a scenario means the tool of this name."""
    return pattern == name or fnmatchcase(name, pattern)


def is_pattern(name: str) -> bool:
    """Whether it may mean several tools."""
    return any(character in name for character in "*?[")


def name_complaint(name: str, what: str = "tool") -> str | None:
    """Why no tool, or what else it is, can have this name, if so; nothing is known of those that exist."""
    if any(is_blank(character) and not character.isspace() for character in name):
        return "it has invisible characters, so it is not the name that it looks like"
    if _OTHER_PATTERNS.search(name):
        return (
            f"this matches no {what}: write a name as it is, or with `*` for any text, `?` for one character "
            "and `[ab]` for one of these; write each name on a line of its own"
        )
    return None
