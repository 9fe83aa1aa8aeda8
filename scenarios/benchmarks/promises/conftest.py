"""Which gates are worth running, after the conversations were read: see README.md and labels.csv."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SKIPPED = {
    "m02": "the evaluator takes any answer for a question about the order number: see labels.csv",
    "m03": "whether `they will refund it if they confirm` is a promise is doubtful, and so is the verdict",
    "m04": "the evaluator sees a day where none is named: see labels.csv",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out the metrics whose verdicts are known to be wrong."""
    for item in items:
        if item.path.parent == FOLDER and (reason := SKIPPED.get(item.name)):
            item.add_marker(pytest.mark.skip(reason=reason))
