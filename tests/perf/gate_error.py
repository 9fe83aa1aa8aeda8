"""How often the gate of a suite is wrong, on simulated suites: false red, missed regressions, and cost.

`python -m tests.perf.gate_error` simulates for some minutes with two processes, and writes
`gate_error.json` beside this file and the page `docs/trust.md` from it. With `--page`, only the page is made
again. The same seed gives the same figures. All decisions of our policies come from the package.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from pytest_convoprobe.gate.drift import Drift
from pytest_convoprobe.gate.forecast import with_second_looks
from pytest_convoprobe.gate.policies import Confirm, Paired, out_of_talks
from pytest_convoprobe.gate.prior import Prior, prior_of
from pytest_convoprobe.gate.types import Past, Word

from .gate_model import AGENTS, BEFORE, BROKEN, Scenario, World, suite
from .gate_nights import nights
from .gate_rivals import RIVALS, Result
from .gate_tried import tried
from .trust_page import PAGE, rendered

STORED = Path(__file__).with_name("gate_error.json")
SEED = 20261128
RUNS, MANY, FEW = 250, 3500, 12

SIZES, ERRORS = (6, 20, 100), (0.0, 0.05, 0.1)
ALPHA = 0.05

WORLDS = [
    World(size, error, agents, systematic)
    for systematic, agents, error, size in product((True, False), AGENTS, ERRORS, SIZES)
]


@dataclass
class Counts:
    """What became of the simulated runs of one way to gate."""

    runs: int = 0
    red: int = 0
    talks: int = 0
    scenarios: int = 0
    undecided: int = 0

    def add(self, words: Sequence[Word], talks: int, drift: bool = False) -> None:
        """One run of an unchanged agent."""
        self.runs += 1
        self.red += drift or Word.RED in words
        self.talks += talks
        self.scenarios += len(words)
        self.undecided += sum(word is Word.UNDECIDED for word in words)


@cache
def _word(past: Past, scenarios: int, first: int, failed: int, talks: int) -> Word | None:
    ruling = Paired(past, Prior(1, 1), scenarios, ALPHA, first).after(failed, talks)
    return ruling and ruling.word


def _paired(policy: Paired, now: Scenario, rng: random.Random, every: bool) -> tuple[Word, int, bool | None]:
    """The word, the conversations, and whether the first one with a verdict failed."""
    fails: list[bool] = []
    for talks, verdict in enumerate(now.verdicts(rng, every=every), 1):
        if verdict is not None:
            fails.append(verdict)
        if len(fails) >= policy.first and verdict is not None:
            word = _word(policy.past, policy.scenarios, policy.first, sum(fails), len(fails))
            if word is not None:
                return word, talks, fails[0]
        if talks == policy.most:
            return out_of_talks(policy, fails).word, talks, fails[0] if fails else None
    raise AssertionError("verdicts never end")


def _confirm(now: Scenario, rng: random.Random) -> tuple[Word, int]:
    policy, fails = Confirm(), list[bool]()
    for talks, verdict in enumerate(now.verdicts(rng), 1):
        fails += [] if verdict is None else [verdict]
        ruling = policy.rule(fails)
        if ruling is not None:
            return ruling.word, talks
        if talks == 20:
            return Word.UNDECIDED, talks
    raise AssertionError("verdicts never end")


def _policies(pasts: list[Past], first: int, again: bool, key: str) -> list[Paired]:
    prior = prior_of(pasts)
    policies = {
        f"s{number}": Paired(past, prior, len(pasts), ALPHA, first) for number, past in enumerate(pasts)
    }
    return list((with_second_looks(policies, key) if again else policies).values())


@dataclass(frozen=True)
class Way:
    """A paired gate: first conversations, whether some get a second look, whether a PASS is said twice."""

    first: int = 1
    again: bool = False
    every: bool = False


WAYS = {
    "paired, pull request": Way(again=True),
    "the same, all said twice": Way(again=True, every=True),
    "paired, 1 first": Way(),
    "paired, 3 first": Way(first=3),
}


def simulated(world: World, number: int, runs: int) -> dict[str, Any]:
    """All figures of one world. Each run: one suite, unchanged, and with one scenario broken."""
    rng = random.Random(f"{SEED}/{number}")
    counts: dict[str, Counts] = {}
    caught: Counter[tuple[str, str]] = Counter()
    for run in range(runs):
        scenarios = suite(world, rng)
        victim = rng.randrange(len(scenarios))
        for way, words, talks, drift, broken in _one_run(scenarios, victim, f"{number}/{run}", rng):
            counts.setdefault(way, Counts()).add(words, talks, drift)
            caught.update((way, name) for name in BROKEN if broken(name))
    ways = {way: {**asdict(count), "caught": _of(caught, way)} for way, count in counts.items()}
    return {**asdict(world), "ways": ways}


Broken = Callable[[str], bool]
OneRun = tuple[str, list[Word], int, bool, Broken]


def _one_run(scenarios: list[Scenario], victim: int, key: str, rng: random.Random) -> Iterator[OneRun]:
    for name, way in WAYS.items():
        yield (name, *_paired_run(way, scenarios, victim, key, rng))
    confirmed = [_confirm(one, rng) for one in scenarios]
    broken = _breaks(scenarios[victim], lambda now: _confirm(now, rng)[0] is Word.RED)
    yield "confirm, without a past", *_split(confirmed), False, broken
    for name, rival in RIVALS.items():
        results: list[Result] = [rival(one, one, rng) for one in scenarios]
        words = [(Word.RED if red else Word.GREEN, talks) for red, talks in results]
        before = scenarios[victim]
        broken = _breaks(before, lambda now, rival=rival, before=before: rival(before, now, rng)[0])  # type: ignore[misc]
        yield name, *_split(words), False, broken


def _paired_run(
    way: Way, scenarios: list[Scenario], victim: int, key: str, rng: random.Random
) -> tuple[list[Word], int, bool, Broken]:
    pasts = [Past(one.past(rng, every=way.every), BEFORE) for one in scenarios]
    policies = _policies(pasts, way.first, way.again, key)
    found = [_paired(policy, one, rng, way.every) for policy, one in zip(policies, scenarios, strict=True)]
    firsts = [(past, one[2]) for past, one in zip(pasts, found, strict=True) if one[2] is not None]
    drifted = Drift(prior_of(pasts), ALPHA).rule(firsts).word is Word.RED
    policy = policies[victim]
    broken = _breaks(scenarios[victim], lambda now: _paired(policy, now, rng, way.every)[0] is Word.RED)
    return [one[0] for one in found], sum(one[1] for one in found), drifted, broken


def _breaks(scenario: Scenario, red: Callable[[Scenario], bool]) -> Broken:
    return lambda name: red(scenario.broken(BROKEN[name]))


def _split(found: list[tuple[Word, int]]) -> tuple[list[Word], int]:
    return [word for word, _ in found], sum(talks for _, talks in found)


def _of(caught: Counter[tuple[str, str]], way: str) -> dict[str, int]:
    return {name: caught[way, name] for name in BROKEN}


def runs_of(world: World) -> int:
    """More runs where a promise is checked: mixed agents, and a judge error of 5 %."""
    return MANY if world.agents == "mixed" and world.error == 0.05 else RUNS


def _simulated(number: int) -> dict[str, Any]:
    return simulated(WORLDS[number], number, runs_of(WORLDS[number]))


def _all_figures() -> dict[str, Any]:
    with Pool(2) as pool:
        cells = []
        for cell in pool.imap(_simulated, range(len(WORLDS))):
            cells.append(cell)
            sys.stderr.write(f"{len(cells)} of {len(WORLDS)}\n")
    few = simulated(WORLDS[1], 1, FEW)
    others = {"tried": tried(), "nights": nights(SEED)}
    return {"seed": SEED, "before": BEFORE, "alpha": ALPHA, "cells": cells, "few": few, **others}


def main() -> None:
    """With `--page`, only the page is made again, from what is stored."""
    if "--page" not in sys.argv:
        STORED.write_text(json.dumps(_all_figures(), indent=1) + "\n", "utf-8")
    PAGE.write_text(rendered(json.loads(STORED.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
