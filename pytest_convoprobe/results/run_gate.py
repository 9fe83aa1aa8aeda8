"""What the gate of a stored run comes to, worked out again from what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ..errors import Blame
from ..gate.suite import SuiteDecision, decide_suite
from ..gate.types import Decision
from ..result import Outcome
from .reading import StoredRun
from .run_info import RunInfo
from .trial_filter import final, has_file

_ALPHA = 0.05


class TalkOutcome(Protocol):
    """What came of one conversation: a result, a stored row, or a digest of either."""

    @property
    def scenario_id(self) -> str: ...

    @property
    def trial(self) -> int: ...

    @property
    def outcome(self) -> Outcome: ...

    @property
    def blame(self) -> Blame | None: ...


def suite_of(run: StoredRun) -> SuiteDecision | None:
    """The decision about a run; None if each of its trials counts alone. Raises `ResultsError`."""
    decisions = run.decisions()
    if not decisions:
        return None
    return suite_from(decisions, final(run.rows()), alpha_of(run.info))


def suite_from(
    decisions: Mapping[str, Decision],
    talks: Iterable[TalkOutcome],
    alpha: float,
    erred_alone: Iterable[str] = (),
) -> SuiteDecision:
    """The decision about a run by its conversations, of reruns the last.

    `erred_alone` are ids of scenarios that ended in an error without a conversation.
    """
    every = list(talks)
    # What a test makes of the errors in its own scenarios is up to the test.
    erred = {one.scenario_id for one in every if one.outcome is Outcome.ERROR and has_file(one.scenario_id)}
    # By trial, the first one last: it is the one that stays.
    judged = sorted(filter(is_judged, every), key=lambda one: one.trial, reverse=True)
    first_failed = {one.scenario_id: one.outcome is Outcome.FAILED for one in judged}
    return decide_suite(decisions, first_failed, alpha, erred.union(erred_alone))


def is_judged(talk: TalkOutcome) -> bool:
    """Whether it says how the agent did. What the judge couldn't decide doesn't, whatever outcome it has."""
    failed = talk.outcome is Outcome.FAILED and talk.blame is not Blame.JUDGE
    return failed or talk.outcome is Outcome.PASSED


def alpha_of(info: RunInfo) -> float:
    """The share of runs that the gate may fail on an unchanged agent, as the run was made."""
    value = info.settings.get("gate", {}).get("alpha", _ALPHA)
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1 else _ALPHA
