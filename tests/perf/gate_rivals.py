"""Other ways to gate, simulated beside ours. Each judges a conversation once, as most suites do today."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from .gate_model import Scenario

Result = tuple[bool, int]
"""Whether the scenario is red, and how many conversations it took."""

Rival = Callable[[Scenario, Scenario, random.Random], Result]
"""A way to gate: from the scenario as it was, the scenario as it is, and random numbers."""


def _fails(scenario: Scenario, rng: random.Random) -> bool:
    return rng.random() < scenario.single_fail


def single(_: Scenario, now: Scenario, rng: random.Random) -> Result:
    """One trial: any FAIL is red."""
    return _fails(now, rng), 1


def reruns(_: Scenario, now: Scenario, rng: random.Random) -> Result:
    """A failure is run again, twice at most: red if it never passes."""
    for talks in (1, 2, 3):
        if not _fails(now, rng):
            return False, talks
    return True, 3


def three_of_five(_: Scenario, now: Scenario, rng: random.Random) -> Result:
    """Five trials, and no more than needed: red if three fail."""
    failed = 0
    for talks in range(1, 6):
        failed += _fails(now, rng)
        if failed == 3 or talks - failed == 3:
            return failed == 3, talks
    raise AssertionError("five trials always decide")


def five_and_five(before: Scenario, now: Scenario, rng: random.Random) -> Result:
    """Five trials beside the five of the base: red if fewer pass."""
    base, head = (sum(_fails(one, rng) for _ in range(5)) for one in (before, now))
    return head > base, 5


def wald(_: Scenario, now: Scenario, rng: random.Random) -> Result:
    """Wald's sequential test of a failure rate of 10 % against 40 %, alpha 5 %, beta 10 %, at most 20."""
    upper, lower = math.log(0.9 / 0.05), math.log(0.1 / 0.95)
    if_failed, if_passed = math.log(0.4 / 0.1), math.log(0.6 / 0.9)
    evidence = 0.0
    for talks in range(1, 21):
        evidence += if_failed if _fails(now, rng) else if_passed
        if evidence >= upper or evidence <= lower:
            return evidence >= upper, talks
    return False, 20


RIVALS: dict[str, Rival] = {
    "1 trial, any FAIL": single,
    "2 reruns of a FAIL": reruns,
    "3 of 5": three_of_five,
    "regression, 5 beside 5": five_and_five,
    "Wald's test, 10 % or 40 %": wald,
}
