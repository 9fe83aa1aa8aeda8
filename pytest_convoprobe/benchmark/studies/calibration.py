"""Measures an evaluator against people: how often it sees what they see, and where it doesn't."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import Problem, SettingsError
from ...files import shown_path
from ...llm.port import LLM
from ...text import shorten
from ..analysis.trials import Shown
from ..engines.local import engine_or_local
from ..format.labels import Label, read_labels, refuse
from ..format.project import LoadedBenchmark, require_models
from ..pipeline.driver import Silent, StageListener, StageReport, run_stage
from ..rows.cost import CALIBRATE, write_cost
from ..rows.folder_lock import only_run
from ..rows.row_types import ConversationRow, ScoreRow
from ..rows.table import Table
from ..rows.work import Engine, Place, Row, Stage, Task, Unit
from ..stages import registry
from ..stages.evaluate import Evaluate
from ..stages.lookup import HasDigest, own_metric
from ..stages.options import Options
from ..stages.tables import Tables
from .measures import Calibration, Disagreement, LabelledAnswer, by_metric, measure

_EXCERPT = 400
_TURN = re.compile(r"\bturn (\d+)", re.IGNORECASE)


async def calibrate(
    loaded: LoadedBenchmark,
    labels: Path,
    *,
    engine: Engine | None = None,
    progress: StageListener | None = None,
    llm: LLM | None = None,
) -> Calibration:
    """Have the evaluator of the settings answer for what people labelled, and compare.

    Scores that this evaluator has given are taken; those that it hasn't are made and kept apart, so that
    they change no result. Raises `SettingsError` with every line of `labels` that can't be used: a
    conversation or metric that isn't there, an answer that contradicts another line.
    """
    given, file = read_labels(labels), shown_path(labels)
    if llm is None:
        await _require_evaluator(loaded, given, file)
    async with engine_or_local(engine, loaded.config.run, llm) as used, only_run(loaded.folder):
        try:
            return await _Calibrating(loaded).run(given, file, used, progress or Silent())
        finally:
            write_cost(loaded.folder, registry.cost_sections())


async def _require_evaluator(loaded: LoadedBenchmark, given: Sequence[Label], file: str) -> None:
    """Raises `SettingsError` if a score is missing, and nobody can be asked for it. Nothing is written."""
    try:
        require_models(loaded.config, registry.models_of_stages(["evaluate"]))
    except SettingsError:
        async with only_run(loaded.folder, dry=True) as scratch:
            if _Calibrating(loaded, scratch).lacks_scores(given, file):
                raise


class _Missing:
    """A stage of some of the units of another one."""

    name = "evaluate"

    def __init__(self, evaluate: Evaluate, units: Sequence[Unit]) -> None:
        self._evaluate = evaluate
        self._units = units

    def units(self) -> Iterable[Unit]:
        return self._units

    def payload(self, unit: Unit) -> Mapping[str, Any]:
        return self._evaluate.payload(unit)

    def calls(self, unit: Unit) -> Mapping[str, int]:
        return self._evaluate.calls(unit)


class _Some:
    """A table with only some of its conversations."""

    def __init__(self, table: Table, wanted: Collection[Place]) -> None:
        self._table = table
        self._wanted = wanted

    def heads(self) -> Mapping[Place, HasDigest]:
        return {place: head for place, head in self._table.heads().items() if place in self._wanted}

    def row(self, place: Place) -> Row:
        return self._table.row(place)


class _Calibrating:
    """One calibration, with the folder's tables open."""

    def __init__(self, loaded: LoadedBenchmark, scratch: Path | None = None) -> None:
        self._loaded = loaded
        self._table = Tables(loaded.folder, scratch)
        self._stored = {
            entry.id: self._table("simulate", entry.id).heads() for entry in loaded.config.targets
        }

    async def run(
        self, given: Sequence[Label], file: str, engine: Engine, progress: StageListener
    ) -> Calibration:
        labels, notes = _without_doubles(given, self._place, file)
        evaluate, units = self._asked_of(labels)
        missing = [unit for unit in units if self._score(unit) is None]
        # Only what no earlier run has answered: labels are few, calls cost.
        report = await self._make(_Missing(evaluate, missing), engine, progress)
        scores = {unit.place: self._score(unit) for unit in units}
        answers = [
            LabelledAnswer(
                label.metric_id,
                label.present,
                score.present if score else None,
                failed=score is None,
                scenario=Shown.by_id(label.id).base,
            )
            for place, label in labels.items()
            for score in (scores[place],)
        ]
        return Calibration(
            model=self._loaded.config.evaluator_model.model or "",
            overall=measure(answers),
            by_metric=by_metric(answers),
            disagreements=tuple(self._disagreements(labels, scores)),
            failed=tuple(_failed(scores, report)),
            notes=notes,
            report=report,
        )

    def lacks_scores(self, given: Sequence[Label], file: str) -> bool:
        """Whether there are labels that this evaluator hasn't answered for."""
        labels, _ = _without_doubles(given, self._place, file)
        return any(self._score(unit) is None for unit in self._asked_of(labels)[1])

    def _asked_of(self, labels: Collection[Place]) -> tuple[Evaluate, list[Unit]]:
        """The stage that scores the labelled conversations for every metric, and what of it was labelled."""
        evaluate = self._evaluating({replace(place, metric_id="") for place in labels})
        return evaluate, [unit for unit in evaluate.units() if unit.place in labels]

    def _place(self, label: Label) -> Place | str:
        """The place of the label's score, or what is wrong with the label."""
        known = [metric.id for metric in self._loaded.benchmark.metrics]
        if label.metric_id not in known:
            return f"there is no metric {label.metric_id!r}; benchmark.yaml has {', '.join(known) or 'none'}"
        if label.target and label.target not in self._stored:
            targets = ", ".join(self._stored) or "none"
            return f"there is no target {label.target!r}; the settings have {targets}"
        wanted = [label.target] if label.target else list(self._stored)
        candidates = [
            place
            for target in wanted
            if (place := Place(label.id, label.sample, target=target)) in self._stored[target]
        ]
        # Several targets may have a conversation of this id; a guess would compare the wrong one.
        if len(candidates) != 1:
            return _not_one(label, [place.target for place in candidates])
        (found,) = candidates
        own = own_metric(self._loaded.benchmark, self._table("simulate", found.target), found)
        return replace(found, metric_id="" if label.metric_id == own else label.metric_id)

    def _score(self, unit: Unit) -> ScoreRow | None:
        """What this evaluator said: for the results, or for an earlier calibration."""
        target = unit.place.target
        for table in (self._table("evaluate", target), self._table.internal(CALIBRATE, target)):
            row = table.row(unit.place) if table.done(unit) else {}
            if row.get("key") == unit.key:
                return ScoreRow.from_json(row)
        return None

    def _evaluating(self, conversations: Collection[Place]) -> Evaluate:
        """The stage that scores these conversations for every metric."""
        benchmark, config = self._loaded.benchmark, self._loaded.config
        return Evaluate(
            benchmark,
            config,
            lambda target: _Some(self._table("simulate", target), conversations),
            all_metrics=True,
        )

    async def _make(self, stage: Stage, engine: Engine, progress: StageListener) -> StageReport:
        task = Task.of(self._loaded, "evaluate")
        return await run_stage(
            stage, task, engine, partial(self._table.internal, CALIBRATE), Options(force=True), progress
        )

    def _disagreements(
        self, labels: Mapping[Place, Label], scores: Mapping[Place, ScoreRow | None]
    ) -> Iterator[Disagreement]:
        for place, label in labels.items():
            score = scores[place]
            if score is None or score.present is None or score.present is label.present:
                continue
            row = self._table("simulate", place.target).row(replace(place, metric_id=""))
            yield Disagreement(
                place.target,
                label.id,
                label.sample,
                label.metric_id,
                human=label.present,
                evaluator=score.present,
                justification=score.justification,
                excerpt=_excerpt(ConversationRow.from_json(row), score.justification),
            )


def _without_doubles(
    given: Iterable[Label], place_of: Callable[[Label], Place | str], file: str
) -> tuple[dict[Place, Label], tuple[str, ...]]:
    """One label for each place, and notes of those that say the same again.

    Raises `SettingsError` for labels of nothing that there is, and for those that contradict others.
    """
    labels: dict[Place, Label] = {}
    problems, notes = [], []
    for label in given:
        place = place_of(label)
        if isinstance(place, str):
            problems.append(Problem(place, file, label.line))
            continue
        first = labels.setdefault(place, label)
        if first.present is not label.present:
            problems.append(Problem(_contradiction(label, first), file, label.line))
        elif first is not label:
            notes.append(f"{file}:{label.line} says again what line {first.line} says; it counts once")
    refuse(problems)
    return labels, tuple(notes)


def _contradiction(label: Label, first: Label) -> str:
    one, other = str(label.present).lower(), str(first.present).lower()
    return (
        f"{label.id}#{label.sample} has {label.metric_id} as {one} here and as {other} in line {first.line}; "
        "keep the one that is meant"
    )


def _not_one(label: Label, targets: Sequence[str]) -> str:
    name = f"{label.id}#{label.sample}"
    if targets:
        return f"several targets have a conversation {name} ({', '.join(targets)}); add a column `target`"
    whose = f"the target {label.target} has no" if label.target else "no target has a"
    return f"{whose} conversation {name}; conversations.json says which there are"


def _failed(scores: Mapping[Place, ScoreRow | None], report: StageReport) -> Iterator[tuple[Place, str]]:
    """The labels without an answer, and why."""
    reasons = dict(report.failed)
    for place, score in scores.items():
        if score is None:
            given_up = report.targets[place.target].given_up
            yield place, reasons.get(place) or given_up or report.budget or "it was not tried"


def _excerpt(conversation: ConversationRow, justification: str) -> str:
    said = [message.content for message in conversation.messages if message.role == "assistant"]
    named = [int(turn) for turn in _TURN.findall(justification) if 0 < int(turn) <= len(said)]
    return shorten(said[named[0] - 1 if named else -1], _EXCERPT) if said else ""
