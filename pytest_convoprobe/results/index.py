"""One line of a run's index: what lists, trends and comparisons need of a trial, without its conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Blame, ResultsError
from ..result import Outcome, ScenarioResult
from .fingerprints import NO_PRINTS, Prints
from .plain_json import number
from .records import TrialRecord

LINE_VERSION = 1
"""Of the values of a line and their order; lines of another version are made again from the trials."""

# In characters: enough for a line of a list. The trial itself has the whole reason.
_LONGEST_REASON = 300


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A trial in short.

    `run` is the run's id and `commit` the git commit that it ran on, None where there were changes that no
    commit has; both are the run's, not the line's. `worker` names the trials file, in which the whole trial
    has `length` bytes from `offset` on. `latency` is the mean wait for a reply of the target in seconds,
    `cost` in US dollars; both are None where they aren't known. `replayed` says that recordings answered
    every call. `holds` has, by criterion id (`c1`) and by name of check, what spoke for the agent (True) or
    against it (False), or could not be decided (None). `earlier` are the attempts that a rerun replaced, the
    oldest first; `cost` and `tokens` then are those of all.
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
    earlier: tuple[IndexRow, ...] = ()

    @property
    def attempts(self) -> int:
        """How often the trial was run; this row is the last time."""
        return 1 + len(self.earlier)

    def after(self, earlier: Sequence[IndexRow]) -> IndexRow:
        """The row with the attempts before it, which were paid for too."""
        costs = [row.cost for row in (*earlier, self)]
        return replace(
            self,
            earlier=tuple(earlier),
            cost=None if None in costs else sum(cost or 0.0 for cost in costs),
            tokens=sum(row.tokens for row in (*earlier, self)),
        )

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED


def row_of(record: TrialRecord, *, run: str, offset: int, length: int, commit: str | None = None) -> IndexRow:
    """The row of a whole trial at that place of its worker's file."""
    result, total = record.result, record.result.total
    # An agent's greeting is nothing that a user waits for, and no turn in the sense of a limit.
    latencies = [turn.latency for turn in result.transcript.user_turns]
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


def to_line(row: IndexRow) -> list[Any]:
    """The row as a line of the index: values without names, which are read in half the time.

    The index is no more than a shortcut: a line of another version, or none, is made again from the
    trial itself.
    """
    return [
        LINE_VERSION,
        row.offset,
        row.length,
        row.scenario_id,
        row.name,
        row.file,
        row.line,
        row.trial,
        row.outcome.value,
        row.blame.value if row.blame else None,
        row.reason,
        number(row.score),
        number(row.started),
        number(row.duration),
        row.turns,
        number(row.latency),
        number(row.cost),
        row.tokens,
        row.replayed,
        row.tags,
        row.target,
        list(row.prints.to_json().values()),
        [list(row.holds), list(row.holds.values())],
    ]


class LineReader:
    """Makes rows of the index lines of a run; what the lines have in common is kept once.

    The rows of a long history are all in memory, and most of their texts are the same few.
    """

    def __init__(self, run: str, commit: str | None) -> None:
        self._run = run
        self._commit = commit
        self._texts: dict[str, str] = {}
        self._prints: dict[tuple[str | None, ...], Prints] = {}
        self._tags: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._holds: dict[tuple[tuple[str, ...], tuple[bool | None, ...]], dict[str, bool | None]] = {}

    def row(self, line: Any, worker: str) -> IndexRow:
        """The row that `to_line` gave. Raises `ResultsError` for what is none, or of another version."""
        try:
            if line[0] != LINE_VERSION:
                raise ResultsError("it is of another version")
            return self._row(line, worker)
        except (LookupError, TypeError, ValueError) as error:
            raise ResultsError(f"not a line of an index ({type(error).__name__}: {error})") from None

    def _row(self, line: list[Any], worker: str) -> IndexRow:
        _, offset, length, scenario_id, name, file, number_, trial, outcome, blame, *rest = line
        reason, score, started, duration, turns, latency, cost, tokens, replayed, *rest = rest
        tags, target, prints, holds = rest
        once = self._texts.setdefault
        return IndexRow(
            self._run,
            worker,
            int(offset),
            int(length),
            once(scenario_id, scenario_id),
            once(name, name),
            once(file, file),
            number_,
            trial,
            _OUTCOMES[outcome],
            _BLAMES[blame],
            once(reason, reason),
            _float(score),
            _float(started) or 0.0,
            _float(duration) or 0.0,
            turns,
            _float(latency),
            _float(cost),
            tokens,
            replayed,
            self._tags_once(tuple(tags)),
            once(target, target),
            self._prints_once(tuple(prints)),
            self._holds_once(tuple(holds[0]), tuple(holds[1])),
            self._commit,
        )

    def _tags_once(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        return self._tags.setdefault(tags, tags)

    def _prints_once(self, digests: tuple[str | None, ...]) -> Prints:
        if digests not in self._prints:
            self._prints[digests] = Prints(*digests)
        return self._prints[digests]

    def _holds_once(self, keys: tuple[str, ...], held: tuple[bool | None, ...]) -> dict[str, bool | None]:
        if (keys, held) not in self._holds:
            self._holds[keys, held] = dict(zip(keys, held, strict=True))
        return self._holds[keys, held]


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_BLAMES: dict[str | None, Blame | None] = {None: None, **{blame.value: blame for blame in Blame}}


def _float(value: Any) -> float | None:
    """Numbers that are not finite are words in JSON."""
    return float(value) if isinstance(value, str) else value
