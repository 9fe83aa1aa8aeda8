"""What a model calls the tools of servers by: providers allow fewer characters than the protocol."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_LONGEST = 64
_DIGEST = 8


@dataclass(frozen=True)
class Naming:
    """How the tools of one server are named; `prefix` None: only where names clash."""

    server: str
    prefix: bool | None

    def of(self, tool: str, *, clashes: bool) -> str:
        prefixed = clashes if self.prefix is None else self.prefix
        return callable_name(f"{self.server}__{tool}" if prefixed else tool)


def callable_name(name: str) -> str:
    """The name with letters, digits, `_` and `-` only, at most 64 of them."""
    plain = re.sub(r"[^a-zA-Z0-9_-]", "_", name) or "_"
    if len(plain) <= _LONGEST:
        return plain
    # Long names often differ at their ends only.
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    return f"{plain[: _LONGEST - _DIGEST - 1]}_{digest}"
