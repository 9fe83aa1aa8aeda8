"""Why a benchmark has no score at all, and what is to be done about it."""

from __future__ import annotations

from collections.abc import Collection

from .results import TargetResults


def next_step(targets: Collection[TargetResults], place: str = "") -> str:
    """What makes scores where no target has one; `place` is the benchmark's folder as a command names it."""
    if any(target.without_score for target in targets):
        return _command("evaluate", place)
    if any(target.unreadable for target in targets):
        return (
            "nothing has a score: no answer of the evaluator could be read as a verdict. Each row of "
            "runs/TARGET/scores.json says why in its `justification`; try another `evaluator_model`"
        )
    return _command("simulate", place)


def _command(stage: str, place: str) -> str:
    return f"nothing has a score yet; `{f'convoprobe bench {stage} {place}'.rstrip()}` is next"
