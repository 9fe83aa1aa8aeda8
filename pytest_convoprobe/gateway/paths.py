"""Which provider a path is meant for, and the address there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

OPENAI, ANTHROPIC = "openai", "anthropic"
"""The names of upstreams, by the protocol that they speak."""

VARIABLES = {
    OPENAI: ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    ANTHROPIC: ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_API_URL"),
}
"""The environment variables that clients of each read their address from."""

KEYS = {OPENAI: "OPENAI_API_KEY", ANTHROPIC: "ANTHROPIC_API_KEY"}
"""Those that they read their key from."""

_VERSION = re.compile(r"v\d+\w*")
_OF_ANTHROPIC = frozenset(("messages", "complete"))
_OF_OPENAI = frozenset(("chat", "responses", "embeddings", "completions"))


def speaks_anthropic(path: str) -> bool:
    """Whether a path, without a leading slash, belongs to Anthropic's Messages."""
    return _first_word(path) in _OF_ANTHROPIC


def upstream_for(path: str, upstreams: Mapping[str, str]) -> str | None:
    """The name of the upstream that a path is meant for, which may not be one of these.

    Whatever is in neither protocol goes to `openai`, or to the only upstream. None if there are none.
    """
    if speaks_anthropic(path):
        return ANTHROPIC
    if _first_word(path) in _OF_OPENAI or OPENAI in upstreams:
        return OPENAI
    return next(iter(upstreams), None)


def joined(base: str, path: str, query: str = "") -> str:
    """The address of a path at an upstream, with its version once: `https://host/v1/chat/completions`."""
    base = base.rstrip("/")
    last = urlsplit(base).path.rpartition("/")[2]
    first = path.partition("/")[0]
    if _VERSION.fullmatch(last) and first == last:
        base = base.removesuffix(f"/{last}")
    elif not last and not _VERSION.fullmatch(first):
        base += "/v1"
    return f"{base}/{path}" + (f"?{query}" if query else "")


def _first_word(path: str) -> str:
    """The first part of a path that isn't a version, such as `chat`."""
    parts = path.split("/")
    return next((part for part in parts if part and not _VERSION.fullmatch(part)), "")
