"""The verdict over all findings. Pure: the same findings give the same verdict."""

from __future__ import annotations

from collections.abc import Iterable

from .types import CheckResult, CriterionResult, Verdict


def decide(criteria: Iterable[CriterionResult], checks: Iterable[CheckResult]) -> Verdict:
    """Passed if everything holds, failed if anything does not, undecided otherwise.

    A failure criterion holds when it is *not* triggered. One finding against the agent fails it, even if
    others could not be decided. Without any criterion or check, nothing was verified: the verdict is
    undecided with a score of 0, not a pass.
    """
    holds = [*(result.holds for result in criteria), *(check.holds for check in checks)]
    score = sum(held is True for held in holds) / len(holds) if holds else 0.0
    if False in holds:
        return Verdict(False, score)
    return Verdict(None if None in holds or not holds else True, score)
