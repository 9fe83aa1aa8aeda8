"""What reports carry from the process that ran a test to the one that sums up: the same one, or xdist's."""

from __future__ import annotations

from typing import Any

import pytest

_NAME = "convoprobe"


def carried(report: pytest.TestReport) -> dict[str, Any]:
    """What a report carries, to be added to: plain data, so that it can travel between processes.

    `digests` of the results that are new in it, `trials`, which results the item had (scenario and number),
    `decisions`, what the gate decided, `unrun`, the record of a scenario that met no target, and `problems`
    of storing. From a worker also `unstored`, the records that the disk did not take, and once `selection`,
    what was selected. `trials`, `decisions` and `unstored` are JSON. The gate of a benchmark has `ages`,
    which says how old its conversations are, and `undecided`, its verdict in words if it is that.
    `judges` are those of the process until then, and `measured` is what a labels file has shown of one,
    both as JSON.
    """
    found: dict[str, Any] = report.__dict__.setdefault(_NAME, {})
    return found
