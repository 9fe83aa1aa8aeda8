"""One line of a run's index: what lists, trends and comparisons need of a trial, without its conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import Blame, ResultsError
from ..result import Outcome, ScenarioResult
from .prints import NO_PRINTS, Prints
from .records import TrialRecord, number

_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A trial in short.

    `run` is the run's id and `commit` the git commit that it ran on; both are the run's, not the line's.
    `worker` names the trials file, in which the whole trial has `length` bytes from `offset` on.
    `latency` is the mean wait for a reply of the target in seconds, `cost` in US dollars; both are None
    where they aren't known. `replayed` says that recordings answered every call. `holds` tells by
    criterion id (`c1`) and by name of check what spoke for the agent (True), against it (False), or
    couldn't be told (None).
    """

    run: str
    worker: str
    offset: int
    length: int
    scenario_id: str
    name: str
    file: str
    line: int
    trial: int
    outcome: Outcome
    blame: Blame | None = None
    reason: str = ""
    score: float | None = None
    started: float = 0.0
    duration: float = 0.0
    turns: int = 0
    latency: float | None = None
    cost: float | None = None
    tokens: int = 0
    replayed: bool = False
    tags: tuple[str, ...] = ()
    target: str = ""
    prints: Prints = NO_PRINTS
    holds: Mapping[str, bool | None] = field(default_factory=dict)
    commit: str | None = None

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED


def row_of(record: TrialRecord, *, run: str, offset: int, length: int, commit: str | None = None) -> IndexRow:
    """The row of a whole trial that stands at that place of its worker's file."""
    result, total = record.result, record.result.total
    latencies = [turn.latency for turn in result.transcript.turns]
    return IndexRow(
        run=run,
        worker=record.worker,
        offset=offset,
        length=length,
        scenario_id=result.scenario_id,
        name=result.name,
        file=result.file,
        line=result.line,
        trial=result.trial,
        outcome=result.outcome,
        blame=result.blame,
        reason=" ".join(result.reason.split())[:_LONGEST_REASON],
        score=result.score,
        started=result.started,
        duration=result.duration,
        turns=len(latencies),
        latency=sum(latencies) / len(latencies) if latencies else None,
        cost=total.cost,
        tokens=total.usage.total,
        replayed=0 < total.calls == total.replayed,
        tags=result.tags,
        target=result.target,
        prints=record.prints,
        holds=_holds(result),
        commit=commit,
    )


def _holds(result: ScenarioResult) -> dict[str, bool | None]:
    """Checks may share a name: the later ones get ` (2)` and so on."""
    found: dict[str, bool | None] = {one.criterion.id: one.holds for one in result.criteria}
    for check in result.checks:
        name, count = check.name, 1
        while name in found:
            count += 1
            name = f"{check.name} ({count})"
        found[name] = check.holds
    return found


def to_line(row: IndexRow) -> dict[str, Any]:
    """The row as plain data, without what its file and its run say anyway."""
    return {
        "offset": row.offset,
        "length": row.length,
        "scenario_id": row.scenario_id,
        "name": row.name,
        "file": row.file,
        "line": row.line,
        "trial": row.trial,
        "outcome": row.outcome.value,
        "blame": row.blame.value if row.blame else None,
        "reason": row.reason,
        "score": number(row.score),
        "started": number(row.started),
        "duration": number(row.duration),
        "turns": row.turns,
        "latency": number(row.latency),
        "cost": number(row.cost),
        "tokens": row.tokens,
        "replayed": row.replayed,
        "tags": row.tags,
        "target": row.target,
        "prints": row.prints.to_json(),
        "holds": dict(row.holds),
    }


class LineReader:
    """Makes rows of the index lines of a run; what the lines have in common is kept once."""

    def __init__(self, run: str, commit: str | None) -> None:
        self._run = run
        self._commit = commit
        self._texts: dict[str, str] = {}
        self._prints: dict[tuple[Any, ...], Prints] = {}
        self._tags: dict[tuple[str, ...], tuple[str, ...]] = {}

    def row(self, data: Any, worker: str) -> IndexRow:
        """The row that `to_line` gave. Raises `ResultsError` for what is none."""
        try:
            return self._row(data, worker)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ResultsError(f"it is no line of an index ({type(error).__name__}: {error})") from None

    def _row(self, data: Mapping[str, Any], worker: str) -> IndexRow:
        get = data.get
        return IndexRow(
            run=self._run,
            worker=worker,
            offset=int(data["offset"]),
            length=int(data["length"]),
            scenario_id=self._once(data["scenario_id"]),
            name=self._once(data["name"]),
            file=self._once(get("file", "")),
            line=get("line", 0),
            trial=get("trial", 1),
            outcome=_OUTCOMES[data["outcome"]],
            blame=_BLAMES[get("blame")],
            reason=self._once(get("reason", "")),
            score=_float(get("score")),
            started=_float(get("started")) or 0.0,
            duration=_float(get("duration")) or 0.0,
            turns=get("turns", 0),
            latency=_float(get("latency")),
            cost=_float(get("cost")),
            tokens=get("tokens", 0),
            replayed=get("replayed", False),
            tags=self._tags_once(get("tags", ())),
            target=self._once(get("target", "")),
            prints=self._prints_once(get("prints") or {}),
            holds=get("holds", {}),
            commit=self._commit,
        )

    def _once(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def _tags_once(self, tags: Iterable[str]) -> tuple[str, ...]:
        key = tuple(tags)
        return self._tags.setdefault(key, key)

    def _prints_once(self, data: Mapping[str, Any]) -> Prints:
        key = tuple(data.items())
        if key not in self._prints:
            self._prints[key] = Prints.from_json(data)
        return self._prints[key]


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_BLAMES: dict[str | None, Blame | None] = {None: None, **{blame.value: blame for blame in Blame}}


def _float(value: Any) -> float | None:
    return None if value is None else float(value)
