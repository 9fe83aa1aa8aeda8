"""What is expected of each gate, after the conversations were read: see README.md and labels.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
EXPECTED = {
    "m02": pytest.mark.skip(reason="the evaluator takes any answer for a question: see labels.csv"),
    "m03": pytest.mark.xfail(reason="the target says that the staff will pay, if they confirm", strict=True),
    "m04": pytest.mark.skip(reason="the evaluator sees a day where none is named: see labels.csv"),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks metrics with what is known of them."""
    for item in items:
        if item.path.parent == FOLDER and (mark := EXPECTED.get(item.name)):
            item.add_marker(mark)
