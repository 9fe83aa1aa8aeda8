"""The conversations of stored runs that say how often a scenario failed before, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import Blame
from ..formatting import counted
from ..gate.types import Word
from ..result import Outcome
from .fingerprints import Prints, changed_inputs
from .index import IndexRow
from .reading import StoredRun
from .run_gate import suite_of
from .run_info import ENDED_EARLY
from .trial_filter import final, has_verdict, really_happened

MOST = 50
"""Older conversations no longer count. Agents change slowly too, and a long past hides that."""


@dataclass(frozen=True, slots=True)
class PastTalk:
    """A stored conversation with a verdict; `run` is the id of its run, which begins with the time."""

    run: str
    scenario_id: str
    failed: bool
    prints: Prints


@dataclass(frozen=True)
class PastTalks:
    """Conversations by scenario, the oldest first; `left_out` counts others by the reason, in words."""

    by_scenario: Mapping[str, Sequence[PastTalk]]
    left_out: Mapping[str, int] = field(default_factory=dict)


def talks_of(runs: Iterable[StoredRun], *, with_red: bool = False) -> PastTalks:
    """The conversations of these runs that count, as one past.

    Those that their run's gate found worse than before, a scenario or all together, count only `with_red`.
    """
    found: dict[str, list[PastTalk]] = {}
    left_out: Counter[str] = Counter()
    for run in sorted(runs, key=lambda one: one.id):
        worse = _NOTHING if with_red else _worse(run)
        for row in _conversations(run):
            if reason := _unfit(run, row) or worse.reason(run, row):
                left_out[reason] += 1
            else:
                talk = PastTalk(run.id, row.scenario_id, not row.passed, row.prints)
                found.setdefault(row.scenario_id, []).append(talk)
    return PastTalks(found, left_out)


def newest_alike(talks: Sequence[PastTalk], prints: Prints, most: int = MOST) -> list[PastTalk]:
    """The newest conversations that rest on the same as these fingerprints, the oldest of them first."""
    return [talk for talk in talks if not changed_inputs(talk.prints, prints)][-most:]


def left_out_words(left_out: Mapping[str, int]) -> list[str]:
    """A line for each reason: `3 conversations left out: they have no verdict`."""
    return [
        f"{counted(count, 'conversation')} left out: {reason}" for reason, count in sorted(left_out.items())
    ]


def _conversations(run: StoredRun) -> Iterator[IndexRow]:
    """Also those that a rerun replaced: a past of last attempts only would look better than the agent is."""
    for row in final(run.rows()):
        yield from sorted((*row.earlier, row), key=lambda one: one.started)


@dataclass(frozen=True)
class _Worse:
    """What the gate of a run found worse than before: these scenarios, or all of them together.

    `undecided` are those about which it decided nothing, because a conversation broke off.
    """

    scenarios: frozenset[str] = frozenset()
    together: bool = False
    undecided: frozenset[str] = frozenset()

    def reason(self, run: StoredRun, row: IndexRow) -> str:
        """Why a conversation doesn't count; empty if it does."""
        if row.scenario_id in self.scenarios:
            return f"the gate of {run.id} was red on {row.scenario_id}"
        if row.scenario_id in self.undecided:
            return f"the gate of {run.id} decided nothing on {row.scenario_id}: a conversation broke off"
        return f"all scenarios of {run.id} together failed more often than before" if self.together else ""


_NOTHING = _Worse()


def _worse(run: StoredRun) -> _Worse:
    """What was red because of its past. If it counted, a regression would be "as before" some nights later.

    What was red without a past was compared with nothing. It counts: a first past without its failures would
    look better than the agent is.
    """
    gate, undecided = suite_of(run), _undecided(run)
    if gate is None:
        return _Worse(undecided=undecided)
    red = (one.scenario_id for one in gate.decisions if one.word is Word.RED and one.past is not None)
    return _Worse(frozenset(red), gate.has_drifted, undecided)


def _undecided(run: StoredRun) -> frozenset[str]:
    """The scenarios about which the gate decided nothing, because a conversation broke off.

    A broken scenario needs more conversations, so it uses up a budget more often than others. If its failures
    counted then, it would be "as before" some nights later, as with what was red.
    """
    decided, chosen = run.decisions(), run.info.selection
    # In a run without a decision, this tells scenarios with one item from those with an item for each trial.
    if not decided and (chosen is None or chosen.in_files != chosen.trials):
        return frozenset()
    erred = (row for row in final(run.rows()) if row.outcome is Outcome.ERROR)
    return frozenset({row.scenario_id for row in erred if row.blame is not Blame.JUDGE} - decided.keys())


def _unfit(run: StoredRun, row: IndexRow) -> str:
    """Why a conversation says nothing about how often the scenario fails; empty if it does."""
    if not run.info.came_to_its_end:
        # It may have stopped because of a failure: then failures are more frequent in it than they are.
        return f"their run {run.id} {ENDED_EARLY[run.info.state]}"
    if really_happened(row):
        return "they really happened, and the gate compares simulated ones"
    if not has_verdict(row) or (not row.passed and row.blame not in (None, Blame.AGENT)):
        return "they have no verdict on the agent"
    if row.replayed:
        return "recordings answered every call, so they repeat an earlier conversation"
    if changed_inputs(row.prints, row.prints):
        return "they have no fingerprints, so nobody knows what they rest on"
    return ""
