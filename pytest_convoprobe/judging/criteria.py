"""The questions of a scenario for the judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..scenario.models import Evaluation, JudgedSentence
from .types import About, Criterion, CriterionKind, Shows


def criteria_of(evaluation: Evaluation) -> tuple[Criterion, ...]:
    """Every criterion that needs a judge, with the ids `c1`…, `f1`… and `t1`….

    Assertions about tools that code checks (`run_checks`) are not included. What the
    author left open (`about`, `shows`, `opposite`) is None; of a sentence about a tool's calls, `about` is
    known.
    """
    sentences = [
        (criterion.tool, assertion)
        for criterion in evaluation.tool_usage.tool_call_criteria
        for assertion in criterion.assertions
        if isinstance(assertion, (str, JudgedSentence))
    ]
    return (
        *_numbered("c", CriterionKind.CORRECTNESS, evaluation.correctness_criteria),
        *_numbered("f", CriterionKind.FAILURE, evaluation.failure_criteria),
        *(
            _of_tool(tool, _criterion(f"t{number}", CriterionKind.TOOL, item))
            for number, (tool, item) in enumerate(sentences, start=1)
        ),
    )


def _numbered(
    letter: str, kind: CriterionKind, items: Iterable[str | JudgedSentence]
) -> tuple[Criterion, ...]:
    return tuple(_criterion(f"{letter}{number}", kind, item) for number, item in enumerate(items, start=1))


def _criterion(identifier: str, kind: CriterionKind, item: str | JudgedSentence) -> Criterion:
    if isinstance(item, str):
        return Criterion(identifier, kind, item)
    return Criterion(
        identifier,
        kind,
        item.text,
        about=About(item.about) if item.about else None,
        shows=Shows(item.shows) if item.shows else None,
        opposite=item.opposite,
    )


def _of_tool(tool: str, criterion: Criterion) -> Criterion:
    return replace(criterion, tool=tool, about=criterion.about or About.TOOL)
