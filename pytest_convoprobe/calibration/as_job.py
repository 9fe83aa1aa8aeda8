"""A labelled conversation as what the runner judges: a scenario, and a conversation that is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ResultsError
from ..results.store import final, open_run, resolve_run
from ..results.talk_records import read_call, read_request
from ..runs.job import Job
from ..runs.rejudge import NamedTarget
from ..runs.session import Session
from ..scenario.earlier_messages import said_before
from ..scenario.loading import LoadedScenario, node_name, with_distinct_ids
from ..scenario.models import Evaluation, Scenario, SyntheticUser
from ..settings.models import ScenarioSettings
from ..transcript import GREETING_TURN, Origin, Reply, Termination, Transcript, Turn
from .labels_file import Labelled, LabelsFile
from .labels_format import LabelledConversation, LabelledCriterion, LabelledTurn, StoredConversation

_LETTERS = {"correctness": "c", "failure": "f", "tool": "t"}


def jobs_of(
    session: Session,
    labels: LabelsFile,
    name: str,
    results: Path,
    settings: ScenarioSettings | None = None,
) -> list[Job]:
    """A job for each conversation, in their order: the judge answers, and nobody talks.

    `name` is the file's within the run, `results` the folder of stored runs. `settings` are others than those
    of the file. Raises `SettingsError`, and
    `ResultsError` for a stored conversation that isn't there.
    """
    loaded = with_distinct_ids([_loaded(one, labels.file) for one in labels.conversations])
    return [
        session.job(
            one,
            f"{name}::{one.id}",
            NamedTarget("labels"),
            settings,
            held=transcript_of(labelled.conversation, results),
            reviews=False,
            own_checks=False,
        )
        for one, labelled in zip(loaded, labels.conversations, strict=True)
    ]


def by_criterion(conversation: LabelledConversation) -> Iterator[tuple[str, LabelledCriterion]]:
    """Each criterion with the id that the judge knows it by."""
    numbers = dict.fromkeys(_LETTERS, 0)
    for criterion in conversation.criteria:
        numbers[criterion.type] += 1
        yield f"{_LETTERS[criterion.type]}{numbers[criterion.type]}", criterion


def transcript_of(conversation: LabelledConversation, results: Path) -> Transcript:
    """What was said and done. Raises `ResultsError` for a stored conversation that isn't there."""
    if conversation.stored is not None:
        return _stored(conversation.stored, results)
    labelled = conversation.turns or ()
    first = GREETING_TURN if labelled and labelled[0].user is None else 1
    turns = tuple(_turn(number, turn) for number, turn in enumerate(labelled, start=first))
    history = said_before(conversation.history)
    return Transcript(turns, Termination.USER_DONE, now=conversation.now, history=history)


def _turn(number: int, turn: LabelledTurn) -> Turn:
    calls = None if turn.calls is None else tuple(read_call(call.model_dump()) for call in turn.calls)
    requests = tuple(read_request(one.model_dump()) for one in turn.requests)
    origin = Origin.GREETING if turn.user is None else Origin.SIMULATED
    return Turn(number, turn.user or "", Reply(turn.agent, calls, pending=requests), origin)


def _stored(wanted: StoredConversation, results: Path) -> Transcript:
    run = open_run(resolve_run(results, wanted.run).path)
    for row in final(run.rows()):
        if (row.scenario_id, row.trial) == (wanted.scenario, wanted.trial):
            return run.trial(row).result.transcript
    raise ResultsError(f"the run {run.id} has no trial {wanted.trial} of {wanted.scenario}")


def _loaded(labelled: Labelled, file: str) -> LoadedScenario:
    one = labelled.conversation
    return LoadedScenario(
        id=node_name(one.id),
        name=one.id,
        description=one.description or "",
        skip=None,
        tags=(),
        scenario=_scenario(one),
        file=file,
        line=labelled.line,
    )


def _scenario(one: LabelledConversation) -> Scenario:
    """A scenario with these criteria. Its user is of no use: nobody talks."""
    said = next((turn.user for turn in one.turns or () if turn.user is not None), "")
    return Scenario.model_construct(
        name=one.id,
        description=one.description or "A conversation of a user with the agent.",
        synthetic_user=SyntheticUser.model_construct(persona="a user", initial_query=said),
        evaluation=_evaluation(one.criteria),
    )


def _evaluation(criteria: Iterable[LabelledCriterion]) -> Evaluation:
    """Checked like a scenario's, but a conversation may have criteria of any one type alone."""
    by_type: dict[str, list[LabelledCriterion]] = {name: [] for name in _LETTERS}
    for criterion in criteria:
        by_type[criterion.type].append(criterion)
    correctness = [_written(one) for one in by_type["correctness"]]
    data = {
        "correctness_criteria": correctness or ["unused"],
        "failure_criteria": [_written(one) for one in by_type["failure"]],
        "tool_usage": {
            "tool_call_criteria": [
                {"tool": one.tool, "assertions": [_written(one)]} for one in by_type["tool"]
            ]
        },
    }
    checked = Evaluation.model_validate(data)
    return checked if correctness else checked.model_copy(update={"correctness_criteria": ()})


def _written(one: LabelledCriterion) -> str | Mapping[str, Any]:
    """As a scenario's author writes it."""
    known = {"about": one.about, "shows": one.shows, "opposite": one.opposite}
    given = {name: value for name, value in known.items() if value is not None}
    return {"text": one.text, **given} if given else one.text
