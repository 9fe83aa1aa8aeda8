"""The questions of a scenario for the judge."""

from __future__ import annotations

from collections.abc import Iterable

from ..scenario.models import Evaluation
from .types import Criterion, CriterionKind


def criteria_of(evaluation: Evaluation) -> tuple[Criterion, ...]:
    """Every criterion that needs a judge, with the ids `c1`…, `f1`… and `t1`….

    Assertions about tools that are mappings are not included: code checks them (`run_checks`).
    """
    sentences = [
        (criterion.tool, assertion)
        for criterion in evaluation.tool_usage.tool_call_criteria
        for assertion in criterion.assertions
        if isinstance(assertion, str)
    ]
    return (
        *_numbered("c", CriterionKind.CORRECTNESS, evaluation.correctness_criteria),
        *_numbered("f", CriterionKind.FAILURE, evaluation.failure_criteria),
        *(
            Criterion(f"t{number}", CriterionKind.TOOL, text, tool)
            for number, (tool, text) in enumerate(sentences, start=1)
        ),
    )


def _numbered(letter: str, kind: CriterionKind, texts: Iterable[str]) -> tuple[Criterion, ...]:
    return tuple(Criterion(f"{letter}{number}", kind, text) for number, text in enumerate(texts, start=1))
