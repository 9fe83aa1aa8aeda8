"""Scenarios that ran more than once: how many of their trials passed, with each of the targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...result import Outcome, ScenarioResult
from ...text import one_line, shorten
from ..target_table import TargetCell, plain_name
from .anchors import anchor
from .turns import shown

_NAME = 120


@dataclass(frozen=True)
class TrialLink:
    """A trial: its symbol, what the link says, and the anchor that it leads to."""

    outcome: str
    label: str
    to: str


@dataclass(frozen=True)
class MatrixCell:
    """The trials of a scenario with one target, in words: `2 of 3, 1 error`. `outcome` is the worst."""

    outcome: str
    words: str
    trials: tuple[TrialLink, ...]


@dataclass(frozen=True)
class Matrix:
    """`targets` are the columns, one without a name where there is no choice of targets.

    `rows` are the scenarios with a cell for each column; None where it didn't run.
    """

    targets: tuple[str, ...]
    rows: tuple[tuple[str, tuple[MatrixCell | None, ...]], ...]


def matrix(results: Sequence[ScenarioResult]) -> Matrix | None:
    """The scenarios with more than one trial or target, in the order of the results; None without any."""
    scenarios: dict[str, list[ScenarioResult]] = {}
    for one in results:
        scenarios.setdefault(one.base_id, []).append(one)
    several = [found for found in scenarios.values() if len(found) > 1]
    targets = tuple(sorted({one.target_name for found in several for one in found}))
    rows = [(_name(found), _cells(found, targets)) for found in several]
    return Matrix(tuple(map(_target, targets)), tuple(rows)) if rows else None


def _name(found: Sequence[ScenarioResult]) -> str:
    return shorten(shown(one_line(plain_name(found[0]))), _NAME)


def _target(name: str) -> str:
    return shown(one_line(name))


def _cells(found: Iterable[ScenarioResult], targets: Iterable[str]) -> tuple[MatrixCell | None, ...]:
    by_target: dict[str, list[ScenarioResult]] = {}
    for one in found:
        by_target.setdefault(one.target_name, []).append(one)
    return tuple(_cell(by_target[name]) if name in by_target else None for name in targets)


def _cell(found: Sequence[ScenarioResult]) -> MatrixCell:
    trials = sorted(found, key=lambda one: one.trial)
    words = TargetCell(tuple(one.outcome for one in trials)).words
    return MatrixCell(_worst(trials).value, words, tuple(map(_link, trials)))


def _worst(found: Iterable[ScenarioResult]) -> Outcome:
    outcomes = {one.outcome for one in found}
    order = (Outcome.FAILED, Outcome.ERROR, Outcome.PASSED, Outcome.SKIPPED)
    return next(outcome for outcome in order if outcome in outcomes)


def _link(one: ScenarioResult) -> TrialLink:
    return TrialLink(one.outcome.value, f"trial {one.trial}, {one.outcome.value}", anchor(one))
