"""The store of runs: `<results.dir>/runs/<run id>/`, with `run.json`, `trials-*.jsonl` and `index-*.jsonl`.

This module is the way in: a run is written by a `RunWriter`, found by `list_runs` and `resolve_run`, and
read as a `StoredRun`.
"""

from __future__ import annotations

from .index import IndexRow
from .lookup import list_runs, resolve_run
from .provenance import new_run_id
from .reading import RunRef, StoredRun, open_run
from .records import TrialRecord
from .run_info import Ci, Git, RunInfo, RunState
from .trial_filter import count, final
from .writer import RunWriter

__all__ = [
    "Ci",
    "Git",
    "IndexRow",
    "RunInfo",
    "RunRef",
    "RunState",
    "RunWriter",
    "StoredRun",
    "TrialRecord",
    "count",
    "final",
    "list_runs",
    "new_run_id",
    "open_run",
    "resolve_run",
]
