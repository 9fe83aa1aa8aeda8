"""Suites that are simulated: agents that misbehave at a rate, and a judge that errs at a rate.

A conversation of an agent that misbehaves at rate r is judged by a judge that errs at rate e. The first vote
says FAIL with the chance r (1 - e) + (1 - r) e. A FAIL is put to a second vote, which errs at the same rate,
independently; two that differ are no verdict, and another conversation takes its place. A PASS stays. Where
a scenario is misread, every vote is FAIL, and where its faults aren't seen, every vote is PASS: there the
votes aren't independent at all.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import comb

BEFORE = 20
"""Conversations with a verdict in the past of each scenario."""

MISREAD = UNSEEN = 0.03
"""The parts of the scenarios that the judge always misreads, and never sees a fault in."""

AGENTS: Mapping[str, Mapping[float, float]] = {
    "never": {0.0: 1.0},
    "10 %": {0.1: 1.0},
    "30 %": {0.3: 1.0},
    "mixed": {0.0: 0.8, 0.1: 0.15, 0.3: 0.05},
}
"""How often agents misbehave, by name: the rates, and the part of the scenarios that has each."""

BROKEN = {"always": 1.0, "half": 0.5, "a third": 1 / 3}
"""What is broken, by name: the part of the conversations that was right and is wrong now."""


@dataclass(frozen=True)
class World:
    """Where a suite is run: its size, the judge's error, the agents, and whether anything is systematic."""

    scenarios: int
    error: float
    agents: str
    systematic: bool


@dataclass(frozen=True)
class Scenario:
    """One simulated scenario: how often the agent misbehaves, and what the judge makes of it."""

    rate: float
    error: float
    kind: str = "seen"

    def broken(self, part: float) -> Scenario:
        """The same scenario, where this part of what was right is wrong."""
        return Scenario(self.rate + (1 - self.rate) * part, self.error, self.kind)

    @property
    def single_fail(self) -> float:
        """The chance that one vote says FAIL."""
        if self.kind != "seen":
            return float(self.kind == "misread")
        return self.rate * (1 - self.error) + (1 - self.rate) * self.error

    def twice(self, *, every: bool = False) -> tuple[float, float]:
        """The chances that FAIL is said twice, and that two votes differ. `every`: a PASS needs two, too."""
        if self.kind != "seen":
            return self.single_fail, 0.0
        fail = self.rate * (1 - self.error) ** 2 + (1 - self.rate) * self.error**2
        return fail, (1 + every) * (self.single_fail - fail)

    def verdicts(self, rng: random.Random, *, every: bool = False) -> Iterator[bool | None]:
        """Conversation after conversation: True if it failed, None without a verdict."""
        fail, differ = self.twice(every=every)
        while True:
            drawn = rng.random()
            yield True if drawn < fail else None if drawn < fail + differ else False

    def past(self, rng: random.Random, *, every: bool = False) -> int:
        """How many of the `BEFORE` conversations with a verdict failed."""
        fail, differ = self.twice(every=every)
        return bisect(_cumulated(round(fail / (1 - differ), 9)), rng.random())


@cache
def _cumulated(rate: float) -> list[float]:
    chances = [
        comb(BEFORE, failed) * rate**failed * (1 - rate) ** (BEFORE - failed) for failed in range(BEFORE)
    ]
    return list(accumulate(chances))


def suite(world: World, rng: random.Random) -> list[Scenario]:
    """The scenarios of one simulated suite."""
    rates = AGENTS[world.agents]
    chosen = rng.choices(list(rates), list(rates.values()), k=world.scenarios)
    return [Scenario(rate, world.error, _kind(world, rng)) for rate in chosen]


def _kind(world: World, rng: random.Random) -> str:
    drawn = rng.random() if world.systematic else 1.0
    return "misread" if drawn < MISREAD else "unseen" if drawn < MISREAD + UNSEEN else "seen"
