"""One scenario under the gate: which conversations it still needs, and what those that it had come to.

It runs nothing and knows no other scenario, so the decision depends on neither the order nor the number of
processes. Whoever runs the conversations adds each result and asks whether there is to be one more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import Blame
from ..gate.policies import out_of_talks
from ..gate.types import Decision, Past, Policy, Ruling, Word
from ..judging.types import CriterionResult
from ..result import ScenarioResult
from ..results.run_gate import is_judged

_HOPELESS = 5
"""So many conversations without any verdict: a judge that can't decide these won't decide the next one."""


@dataclass(frozen=True)
class Terms:
    """What a scenario is decided by.

    `more` is how many conversations the budget has for it beyond the first ones; None: as many as the policy
    allows. `mode` is `block`, or why a failure blocks nothing: `report`, `quarantine`. `notes` are for
    people.
    """

    policy: Policy
    past: Past | None = None
    more: int | None = None
    mode: str = "block"
    notes: tuple[str, ...] = ()

    @property
    def most(self) -> int:
        """How many conversations there may be."""
        if self.more is None:
            return self.policy.most
        return min(self.policy.most, self.policy.first + self.more)


class GatedScenario:
    """The conversations of a scenario in one run. `results` are those that it has already."""

    def __init__(self, scenario_id: str, terms: Terms, results: Iterable[ScenarioResult] = ()) -> None:
        self._scenario_id = scenario_id
        self._terms = terms
        self._results: dict[int, ScenarioResult] = {}
        for result in results:
            self.add(result)

    def add(self, result: ScenarioResult) -> None:
        """Another conversation has ended."""
        self._results[result.trial] = result

    @property
    def results(self) -> tuple[ScenarioResult, ...]:
        """All conversations, in the order of their trials."""
        return tuple(self._results[trial] for trial in sorted(self._results))

    @property
    def broken(self) -> ScenarioResult | None:
        """A conversation that came to nothing, whoever is to blame but the agent and the judge.

        Then nothing is decided: what the others said may be right, and nobody knows what this one would say.
        """
        return next((one for one in self.results if not is_judged(one) and not is_unjudged(one)), None)

    @property
    def next_trial(self) -> int | None:
        """The number of the next conversation; None: no more are needed, or can be had."""
        if self.broken or self._is_over():
            return None
        return free_trials(self._results, 1)[0]

    @property
    def shown(self) -> ScenarioResult:
        """The conversation that shows best how the scenario did: one that failed, else one with a verdict."""
        results = self.results
        failed = [one for one in results if _has_failed(one)]
        judged = [one for one in results if is_judged(one)]
        return next(iter((*failed, *judged, *reversed(results))))

    def decision(self) -> Decision | None:
        """What is decided; None if a conversation broke off, or if the judge had no verdict on any."""
        fails = self._fails
        if self.broken or not fails:
            return None
        ruling = out_of_talks(self._terms.policy, fails)
        return self._decision(ruling, fails)

    def _decision(self, ruling: Ruling, fails: list[bool]) -> Decision:
        voted = [one for result in self.results for one in result.criteria if one.votes]
        return Decision(
            scenario_id=self._scenario_id,
            policy=self._terms.policy.name,
            word=ruling.word,
            failed=sum(fails),
            talks=len(fails),
            past=self._terms.past,
            e_value=ruling.e_value,
            red_from=ruling.red_from,
            votes=sum(len(one.votes) - 1 for one in voted),
            overruled=sum(map(_is_overruled, voted)),
            unjudged=len(self._results) - len(fails),
            mode=self._terms.mode,
            notes=(*self._terms.notes, *self._about_the_budget(ruling)),
        )

    def _about_the_budget(self, ruling: Ruling) -> list[str]:
        used_up = ruling.word is Word.UNDECIDED and self._terms.most < self._terms.policy.most
        # What blocks nothing has no share of the budget: nobody spends conversations on it.
        return ["the share of gate.max_talks is used up"] if used_up and self._terms.mode == "block" else []

    @property
    def _fails(self) -> list[bool]:
        return [_has_failed(one) for one in self.results if is_judged(one)]

    def _is_over(self) -> bool:
        fails, talks = self._fails, len(self._results)
        if talks < self._terms.policy.first:
            return False
        decided = bool(fails) and self._terms.policy.rule(fails) is not None
        hopeless = not fails and talks >= _HOPELESS
        return decided or hopeless or talks >= self._terms.most


def free_trials(taken: Iterable[int], count: int) -> list[int]:
    """The lowest numbers of trials that aren't taken; numbers begin with 1."""
    used = set(taken)
    return [trial for trial in range(1, len(used) + count + 1) if trial not in used][:count]


def kept_for_rerun(results: Iterable[ScenarioResult]) -> list[ScenarioResult]:
    """What counts when the item is run again: every verdict. The others are to be had again.

    If a rerun began with nothing, a failure could be run again until it passes, and the gate would be wrong
    more often than it says.
    """
    return [one for one in results if is_judged(one)]


def is_unjudged(result: ScenarioResult) -> bool:
    """Whether the judge gave no verdict, whatever `run.inconclusive` makes of that."""
    return result.blame is Blame.JUDGE and not result.passed


def _has_failed(result: ScenarioResult) -> bool:
    return is_judged(result) and not result.passed


def _is_overruled(result: CriterionResult) -> bool:
    """Whether the first vote spoke against the agent, and the votes together don't."""
    return result.votes[0].holds is False and result.holds is not False
