"""Pasts that grow from runs of the gate, which adds conversations where one fails and leaves out red runs.

Such a past isn't a plain sample. This asks whether an unchanged scenario is red more often because of it.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from pytest_convoprobe.gate.policies import DRIFT_SHARE, Paired
from pytest_convoprobe.gate.prior import Prior
from pytest_convoprobe.gate.types import Past, Word

from .gate_model import BEFORE

SCENARIOS, ALPHA, NEWEST = 20, 0.05, 50
CHAINS, NIGHTS = 1500, 25
RATES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
SHARE = (1 - DRIFT_SHARE) * ALPHA / SCENARIOS
"""The part of the pull requests that an unchanged scenario may make red."""


def nights(seed: int) -> list[dict[str, Any]]:
    """Of each failure rate: how many pull requests were red of how many, and the mean rate of the pasts."""
    rng = random.Random(f"{seed}/nights")
    return [{"rate": rate, **_counted(rate, rng)} for rate in RATES]


def _counted(rate: float, rng: random.Random) -> dict[str, float]:
    red = failed = talks = 0
    for _ in range(CHAINS):
        past = [rng.random() < rate for _ in range(BEFORE)]
        for _ in range(NIGHTS):
            red += _run(past, 1, rate, rng)[0] is Word.RED
            word, fails = _run(past, 3, rate, rng)
            past = past if word is Word.RED else (past + fails)[-NEWEST:]
        failed, talks = failed + sum(past), talks + len(past)
    return {"red": red, "runs": CHAINS * NIGHTS, "mean": round(failed / talks, 4)}


def _run(past: list[bool], first: int, rate: float, rng: random.Random) -> tuple[Word, list[bool]]:
    fails: list[bool] = []
    while True:
        fails.append(rng.random() < rate)
        if len(fails) >= first:
            word = _word(sum(past), len(past), first, sum(fails), len(fails))
            if word is not None:
                return word, fails


@cache
def _word(failed_before: int, before: int, first: int, failed: int, talks: int) -> Word | None:
    past = Past(failed_before, before)
    ruling = Paired(past, Prior(1, 1), SCENARIOS, ALPHA, first).after(failed, talks)
    return ruling and ruling.word
