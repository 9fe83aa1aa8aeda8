"""Whole gates that are run with the agent as it is, each in a process of pytest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import ResultsError
from ..formatting import percent
from ..gate.types import Word
from ..results.audit_file import Audit, LiveFigures
from ..results.run_gate import suite_of
from ..results.store import list_runs
from ..stats import mid_p

_TAIL = 300


def run_gates(
    options: Sequence[str], root: Path, results: Path, gates: int, tick: Callable[[int], object] = bool
) -> LiveFigures:
    """Run pytest with these options in `root`, so many times. `results` is the folder of stored runs.

    Raises `ResultsError` for a run that comes to no decision.
    """
    red = talks = scenarios = 0
    for number in range(1, gates + 1):
        tick(number)
        before = {run.id for run in list_runs(results)}
        command = [sys.executable, "-m", "pytest", "-q", *options]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603
        new = [run for run in list_runs(results) if run.id not in before]
        decided = [suite for run in new if (suite := suite_of(run.open())) is not None]
        if not decided:
            raise ResultsError(
                f"live gate {number} decided nothing: {_last_words(done.stdout or done.stderr)}"
            )
        red += any(suite.word is Word.RED for suite in decided)
        talks += sum(one.talks + one.unjudged for suite in decided for one in suite.decisions)
        scenarios += sum(len(suite.decisions) for suite in decided)
    return LiveFigures(gates, red, talks / max(1, scenarios))


def _last_words(output: str) -> str:
    return output.strip()[-_TAIL:] or "pytest printed nothing"


def compared(audit: Audit, live: LiveFigures) -> Audit:
    """The audit with the live gates. If they are red clearly more often than drawn ones, nothing holds."""
    interval, drawn = mid_p(live.red, live.gates), audit.gate
    share = drawn.red / drawn.gates if drawn.gates else 0.0
    if interval is None or share >= interval.low:
        return replace(audit, live=live)
    words = (
        f"{live.red} of {live.gates} live gates were red, and {percent(share)} of the drawn ones: the stored "
        "conversations no longer show how the agent and the judge are today"
    )
    return replace(audit, live=live, broken=(*audit.broken, words))
