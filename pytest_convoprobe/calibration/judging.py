"""Has the judge answer for labelled conversations, as it answers for those of scenarios."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import Blame
from ..judging.types import CriterionResult
from ..llm.ledger import Spending
from ..result import Outcome, ScenarioResult
from ..runs.session import Session
from ..settings.models import ScenarioSettings
from .agreement import LabelAnswer
from .as_job import by_criterion, jobs_of
from .labels_file import Labelled, LabelsFile
from .measured import Measured
from .requirement import JudgeOfRun


@dataclass(frozen=True)
class Judged:
    """What came of having a labels file judged.

    `measured` is None where some conversation could not be judged for a reason that isn't the judge's (an
    outage, the budget, a missing recording): `broken` has those results.
    """

    measured: Measured | None
    broken: tuple[ScenarioResult, ...] = ()


def judge_labels(
    session: Session,
    labels: LabelsFile,
    name: str,
    results: Path,
    tick: Callable[[int], object] = bool,
    settings: ScenarioSettings | None = None,
) -> Judged:
    """Judge all conversations of a file, as many at once as `run.concurrency` says.

    `name` is the file's below the root, `results` the folder of stored runs. `tick` is called now and then
    with the number of conversations that are done. `settings` are others than those of the file.

    Raises `SettingsError` and `ResultsError`.
    """
    jobs = jobs_of(session, labels, name, results, settings)
    before = session.conversations_ended
    found = session.run_all(jobs, tick=lambda: tick(session.conversations_ended - before))
    spent = sum((one.total for one in found), Spending())
    broken = tuple(one for one in found if _is_broken(one))
    if broken:
        return Judged(None, broken)
    judge = jobs[0].settings.judge
    loaded = session.settings_of(labels.file)
    answers = [one for pair in zip(labels.conversations, found, strict=True) for one in _answers(*pair)]
    one = JudgeOfRun.of(judge, loaded)
    return Judged(Measured(one.model, one.print, name, labels.digest, time.time(), tuple(answers), spent))


def _is_broken(result: ScenarioResult) -> bool:
    """Whether it says nothing about the judge. A judge without a usable verdict has shown what it is."""
    return result.outcome is Outcome.ERROR and result.blame is not Blame.JUDGE


def _answers(labelled: Labelled, result: ScenarioResult) -> Iterator[LabelAnswer]:
    given: dict[str, CriterionResult] = {one.criterion.id: one for one in result.criteria}
    for identifier, criterion in by_criterion(labelled.conversation):
        found = given.get(identifier)
        yield LabelAnswer(
            conversation=labelled.id,
            criterion=criterion.text,
            holds=criterion.holds,
            judged=found.holds if found else None,
            kind=labelled.conversation.kind or "",
            why=found.finding if found else result.reason,
            score=found.score if found else None,
            truth=criterion.truth,
        )
