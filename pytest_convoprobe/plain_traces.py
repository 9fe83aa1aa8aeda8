"""Tracebacks without the marks below each line, for which Python would parse the source.

`traceback` calls `ast.parse` to know what to underline. If that happens in one of our threads, or in a
finalizer, while pytest parses on its own thread, some versions of Python raise `SystemError: AST constructor
recursion depth mismatch` in one of the two.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator


def plain_trace(error: BaseException) -> str:
    """The traceback as Python prints it, causes and members of a group included, without underlining."""
    shown = traceback.TracebackException.from_exception(error)
    for part in _parts(shown):
        # Frames made of these four fields have no columns, so there is nothing to underline.
        fields = [(frame.filename, frame.lineno or 0, frame.name, frame.line) for frame in part.stack]
        part.stack = traceback.StackSummary.from_list(fields)
    return "".join(shown.format())


def _parts(shown: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    """An exception with all that it is shown with; `traceback` itself sees to it that there is no circle."""
    yield shown
    members = getattr(shown, "exceptions", None) or ()  # of a group, from Python 3.11 on
    for other in (shown.__cause__, shown.__context__, *members):
        if other is not None:
            yield from _parts(other)
