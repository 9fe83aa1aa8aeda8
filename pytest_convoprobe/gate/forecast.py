"""How many conversations a suite will need, and which scenarios get a second one in any case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256

from .policies import RARELY, Paired, fit_to_gate
from .prior import Prior
from .types import Past

PER_SCENARIO = 1.7
"""Conversations a scenario that a pull request may need on average, those without a verdict not counted."""


def expected_talks(policy: Paired, rate: float | None = None) -> float:
    """How many conversations a scenario needs on average, if it fails at this rate: by default as before.

    Those without a verdict aren't counted; each of them is one more.
    """
    if rate is None:
        rate = policy.prior.rate(policy.past)
    # Decisions don't look at the prior, so scenarios and suites with like pasts share one computation.
    return _expected(replace(policy, prior=_ANY), round(rate, 3))


_ANY = Prior(1.0, 1.0)


@lru_cache(maxsize=4096)
def _expected(policy: Paired, rate: float) -> float:
    # The chance of each number of fails, while nothing is decided.
    open_with, expected = {0: 1.0}, 0.0
    for talks in range(1, policy.most + 1):
        expected += sum(open_with.values())
        after: dict[int, float] = {}
        for failed, chance in open_with.items():
            after[failed] = after.get(failed, 0.0) + chance * (1 - rate)
            after[failed + 1] = after.get(failed + 1, 0.0) + chance * rate
        open_with = {
            failed: chance
            for failed, chance in after.items()
            if talks < policy.first or policy.after(failed, talks) is None
        }
    return expected


def with_second_looks(
    policies: Mapping[str, Paired], key: str, per_scenario: float = PER_SCENARIO
) -> dict[str, Paired]:
    """The same policies, where some scenarios have one more first conversation.

    A first conversation shows a scenario that is half broken in half of the cases, and no statistic can
    find what no conversation showed. So what is left of `per_scenario` is spent on further first
    conversations, for as many scenarios as it is enough for. `key` names the run, as a commit does: another
    key chooses others. It doesn't matter in which order the scenarios are given.
    """
    left = per_scenario * len(policies) - sum(map(expected_talks, policies.values()))
    chosen = dict(policies)
    for scenario_id in sorted(policies, key=lambda one: _rank(policies[one].past, key, one)):
        more = replace(policies[scenario_id], first=policies[scenario_id].first + 1)
        left -= expected_talks(more) - expected_talks(policies[scenario_id])
        if left < 0:
            break
        if more.first <= more.most and fit_to_gate(more.past):
            chosen[scenario_id] = more
    return chosen


def _rank(past: Past, key: str, scenario_id: str) -> tuple[bool, str]:
    return past.failed > RARELY * past.talks, sha256(f"{key}\n{scenario_id}".encode()).hexdigest()
