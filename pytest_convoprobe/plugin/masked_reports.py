"""Takes secrets out of what pytest itself shows of a test.

Conversations run code of the project. What it prints and logs, and the local variables of a traceback
(`--showlocals`), are none of our texts, but they may have the secrets of our settings in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .keys import SESSION

_PYTEST = "_pytest."
_DEEPEST = 12


def mask(item: pytest.Item, report: pytest.TestReport) -> None:
    """Mask the output that was captured, and the text of a failure."""
    session = item.config.stash.get(SESSION, None)
    if session is None:
        return
    # Other plug-ins add sections of their own, some of them without a text.
    report.sections = _masked(report.sections, session.masked)
    if report.failed:
        report.longrepr = _masked(report.longrepr, session.masked)


def _masked(value: Any, clean: Callable[[str], str], depth: int = 0) -> Any:
    """The same with its texts masked; pytest's own objects in place, since xdist knows their classes."""
    if isinstance(value, str):
        return clean(value)
    if depth < _DEEPEST and isinstance(value, (list, tuple)):
        parts = [_masked(one, clean, depth + 1) for one in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if depth < _DEEPEST and type(value).__module__.startswith(_PYTEST):
        for name, part in vars(value).items():
            setattr(value, name, _masked(part, clean, depth + 1))
    return value
