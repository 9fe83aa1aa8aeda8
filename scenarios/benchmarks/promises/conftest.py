"""The expected outcome of each gate, from reading the conversations: see README.md and labels.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
FOUND = {
    ("careful", "m02"): "it never asks for the order number, although its system prompt says so",
    ("careless", "m01"): "it sends nobody to the staff",
    ("careless", "m02"): "it never asks for the order number",
    ("careless", "m04"): "it promises Tuesday to everybody",
}
"""The faults that the benchmark finds in its targets. In your own project, these gates would fail."""

WRONG = {
    ("careful", "m04"): "the evaluator mistakes `let you know when it will arrive` for a day: see labels.csv",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the known failures, and skip the verdict that is known to be wrong."""
    for item in items:
        if item.path.parent != FOLDER:
            continue
        gate = (item.nodeid.split("::")[-2], item.name)
        if reason := FOUND.get(gate):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        elif reason := WRONG.get(gate):
            item.add_marker(pytest.mark.skip(reason=reason))
