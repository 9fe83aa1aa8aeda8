"""Python source as a tree, also while other threads parse.

Some versions of Python keep a counter of the parser once for all threads. Where a garbage collection lets
another thread parse in the middle, one of the two fails with `SystemError: AST constructor recursion depth
mismatch`, although nothing is wrong with its source.
"""

from __future__ import annotations

import ast
import threading
from contextlib import suppress

# Threads of agents and of libraries parse too, as they log tracebacks, and know nothing of our lock.
_TRIES = 5
_lock = threading.Lock()


def source_tree(source: str | bytes) -> ast.Module:
    """The tree of a module. Raises what `ast.parse` raises: `SyntaxError`, `ValueError`, `RecursionError`."""
    for _ in range(_TRIES - 1):
        with _lock, suppress(SystemError):
            return ast.parse(source)
    with _lock:
        return ast.parse(source)
