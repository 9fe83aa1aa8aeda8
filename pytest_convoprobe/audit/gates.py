"""Gates that are drawn from stored conversations: how often they are red, and what they miss.

Half of a suite's conversations plays the past and the other half a new run of the same agent. Nothing has
changed between the two, so each red gate is a false one. The cut is drawn again for each gate. Then some
scenarios of the same gate are broken: their conversations fail, if the scenario can notice a fault at all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ..gate.forecast import with_second_looks
from ..gate.policies import Confirm, Each, Paired
from ..gate.prior import Prior, prior_of
from ..gate.suite import decide_suite
from ..gate.types import Decision, Past, Policy, Ruling, Word
from .suite import AuditedScenario, Halves, Rules, halves

PARTS: Mapping[str, float] = {"always": 1.0, "half": 0.5, "a third": 1 / 3}
"""How much of what was right is wrong now."""

EXTENTS: Mapping[str, float] = {"one": 0.0, "a tenth": 0.1, "all": 1.0}
"""How many of the scenarios that gate are broken: this share of them, and at least one."""


@dataclass
class Drawn:
    """What became of the gates. `talks` are those of each unchanged gate, over all its scenarios.

    `red_scenarios`, `undecided` and `spent` count, by scenario, red decisions, undecided ones and
    conversations of unchanged gates. `caught` counts the red gates of a suite that is broken, by part and
    extent; it is empty where nobody knows what the scenarios can notice, or where none gates.
    """

    gates: int = 0
    red: int = 0
    drifted: int = 0
    talks: list[int] = field(default_factory=list)
    red_scenarios: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    spent: Counter[str] = field(default_factory=Counter)
    caught: Counter[tuple[str, str]] = field(default_factory=Counter)
    broken: int = 0
    """How many gates were drawn for each part and extent."""

    def missed(self, part: str, extent: str) -> float | None:
        """The share of the gates that were not red, from 0 to 1; None where none was drawn."""
        return 1 - self.caught[part, extent] / self.broken if self.broken else None


@dataclass(frozen=True)
class _Course:
    """A scenario's conversations in one gate. `first` says whether the first one failed."""

    word: Word
    failed: int
    talks: int
    first: bool


def draw_gates(scenarios: Sequence[AuditedScenario], rules: Rules, gates: int, seed: int = 0) -> Drawn:
    """So many gates; the same seed draws the same ones. Scenarios without a conversation are left out."""
    suite = sorted((one for one in scenarios if one.talks), key=lambda one: one.scenario_id)
    drawn = Drawn()
    for number in range(gates if suite else 0):
        _draw(suite, rules, random.Random(f"{seed}/{number}"), drawn)  # noqa: S311 - nothing is secret
    return drawn


def _draw(suite: Sequence[AuditedScenario], rules: Rules, rng: random.Random, drawn: Drawn) -> None:
    cut = _cut(suite, rng)
    policies = _policies(suite, cut, rules, str(rng.random()))
    limits = _limits(suite, policies, rules)
    courses = {
        one.scenario_id: _course(
            policies[one.scenario_id], _as_before(cut[one.scenario_id].head, rng), limits[one.scenario_id]
        )
        for one in suite
    }
    _note_unchanged(drawn, suite, policies, courses, rules)
    sees = known_sight(suite)
    gating = [one for one in suite if one.gates]
    if sees is None or not gating:
        return
    drawn.broken += 1
    for extent, share in EXTENTS.items():
        victims = rng.sample(gating, max(1, round(share * len(gating))))
        # A fault is the same one in each conversation, so the scenario sees it always or never.
        visible = {
            one.scenario_id: rng.random() < (sees if one.sees is None else one.sees) for one in victims
        }
        for part, chance in PARTS.items():
            changed = {
                name: _course(policies[name], _broken(cut[name].head, chance, seen, rng), limits[name])
                for name, seen in visible.items()
            }
            word, _ = _decided(suite, policies, {**courses, **changed}, rules)
            drawn.caught[part, extent] += word is Word.RED


def known_sight(suite: Sequence[AuditedScenario]) -> float | None:
    """The mean share of mutants that the scenarios notice, of those where it is known."""
    known = [one.sees for one in suite if one.gates and one.sees is not None]
    return sum(known) / len(known) if known else None


def _cut(suite: Sequence[AuditedScenario], rng: random.Random) -> dict[str, Halves]:
    runs = sorted({talk.run for one in suite for talk in one.talks})
    order = rng.sample(runs, len(runs))
    # Within a run no conversation comes before another.
    return {one.scenario_id: halves(rng.sample(one.talks, len(one.talks)), order) for one in suite}


def _policies(
    suite: Sequence[AuditedScenario], cut: Mapping[str, Halves], rules: Rules, key: str
) -> dict[str, Policy]:
    prior = prior_of(past for one in suite if (past := cut[one.scenario_id].past) is not None)
    paired: dict[str, Paired] = {}
    others: dict[str, Policy] = {}
    for one in suite:
        past = cut[one.scenario_id].past
        if rules.policy == "each":
            others[one.scenario_id] = Each()
        elif rules.policy == "confirm" or past is None:
            others[one.scenario_id] = Confirm(min(one.first, Confirm().most))
        else:
            paired[one.scenario_id] = Paired(past, prior, len(suite), rules.alpha, one.first, one.most)
    if rules.max_talks is None:
        alone = {name: policy for name, policy in paired.items() if policy.first == 1}
        paired |= with_second_looks(alone, key, rules.per_scenario)
    # No decision looks at the prior: without it, gates with like pasts share one computation.
    return {name: replace(policy, prior=_ANY) for name, policy in paired.items()} | others


_ANY = Prior(1.0, 1.0)


def _limits(suite: Sequence[AuditedScenario], policies: Mapping[str, Policy], rules: Rules) -> dict[str, int]:
    """How many conversations each scenario may have; each has its own share of `max_talks`."""
    if rules.max_talks is None:
        return {name: policy.most for name, policy in policies.items()}
    each, rest = divmod(rules.max_talks, len(suite))
    shares = {one.scenario_id: each + (at < rest) for at, one in enumerate(suite)}
    return {name: min(policy.most, policy.first + shares[name]) for name, policy in policies.items()}


def _course(policy: Policy, verdicts: Iterator[bool], most: int) -> _Course:
    fails: list[bool] = []
    while True:
        fails.append(next(verdicts))
        ruling = _ruling(policy, fails)
        if ruling is not None or len(fails) >= most:
            word = Word.UNDECIDED if ruling is None else ruling.word
            return _Course(word, sum(fails), len(fails), fails[0])


def _ruling(policy: Policy, fails: Sequence[bool]) -> Ruling | None:
    """What the policy says; nothing was decided by the conversations before the last one."""
    if not isinstance(policy, Paired):
        return policy.rule(fails)
    return None if len(fails) < policy.first else _after(policy, sum(fails), len(fails))


@lru_cache(maxsize=100_000)
def _after(policy: Paired, failed: int, talks: int) -> Ruling | None:
    return policy.after(failed, talks)


def _as_before(head: Sequence[bool], rng: random.Random) -> Iterator[bool]:
    """The conversations of the new run, each once while there are some; then any of them again."""
    yield from rng.sample(head, len(head))
    while True:
        yield rng.choice(head)


def _broken(head: Sequence[bool], part: float, seen: bool, rng: random.Random) -> Iterator[bool]:
    """The same, where this part of the conversations is broken: they fail if that can be seen."""
    for failed in _as_before(head, rng):
        yield seen if rng.random() < part else failed


def _decided(
    suite: Sequence[AuditedScenario],
    policies: Mapping[str, Policy],
    courses: Mapping[str, _Course],
    rules: Rules,
) -> tuple[Word, bool]:
    """The word of the gate, and whether all scenarios together made it red."""
    decisions = {
        one.scenario_id: _decision(one, policies[one.scenario_id], courses[one.scenario_id]) for one in suite
    }
    found = decide_suite(decisions, {name: course.first for name, course in courses.items()}, rules.alpha)
    return found.word, found.has_drifted


def _decision(one: AuditedScenario, policy: Policy, course: _Course) -> Decision:
    past: Past | None = policy.past if isinstance(policy, Paired) else None
    mode = "block" if one.gates else "report"
    return Decision(
        one.scenario_id, policy.name, course.word, course.failed, course.talks, past=past, mode=mode
    )


def _note_unchanged(
    drawn: Drawn,
    suite: Sequence[AuditedScenario],
    policies: Mapping[str, Policy],
    courses: Mapping[str, _Course],
    rules: Rules,
) -> None:
    word, drifted = _decided(suite, policies, courses, rules)
    drawn.gates += 1
    drawn.red += word is Word.RED
    drawn.drifted += drifted
    drawn.talks.append(sum(course.talks for course in courses.values()))
    for one in suite:
        course = courses[one.scenario_id]
        drawn.red_scenarios[one.scenario_id] += one.gates and course.word is Word.RED
        drawn.undecided[one.scenario_id] += course.word is Word.UNDECIDED
        drawn.spent[one.scenario_id] += course.talks
