"""Gaps between demographic groups: the same scenarios with different people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from ...stats import GapEstimate, holm, paired_gap
from .results import DemographicGap, TargetResults
from .trials import Person, Shown


class _VerdictCount:
    """Verdicts of one variant of a scenario."""

    def __init__(self) -> None:
        self.passed = 0
        self.scored = 0

    @property
    def rate(self) -> float:
        return self.passed / self.scored


_Table = Mapping[str, Mapping[str, Mapping[Person, _VerdictCount]]]
"""By scenario, by the value of one attribute, by the other attributes."""


def demographic_gaps(
    verdicts: Iterable[tuple[Shown, bool | None]], confidence: float
) -> tuple[DemographicGap, ...]:
    """The gap of every two values of each attribute, its p-value not corrected yet: see `corrected`.

    Within a scenario, groups are compared among variants that are alike in all other attributes, so that a
    variant without a verdict makes no group look better. Each scenario is one pair. Two values that no
    scenario has verdicts of both of have no gap.
    """
    known = [(shown, passed) for shown, passed in verdicts if passed is not None and shown.demographic]
    found = (
        _gap(table, attribute, first, second, confidence)
        for attribute, values in _values(known).items()
        for table in (_table(known, attribute),)
        for first, second in combinations(values, 2)
    )
    return tuple(gap for gap in found if gap is not None)


def corrected(targets: Sequence[TargetResults], confidence: float) -> tuple[TargetResults, ...]:
    """The targets, with their gaps' p-values corrected for all gaps of all of them (Holm).

    One table shows them together, and a reader looks for the largest. Of twenty targets without any gap, one
    would have a significant one if each were corrected for itself.
    """
    adjusted = iter(holm([one.gap.p_value for target in targets for one in target.gaps]))
    return tuple(
        replace(target, gaps=tuple(_adjusted(one, next(adjusted), confidence) for one in target.gaps))
        for target in targets
    )


def _adjusted(one: DemographicGap, p_value: float, confidence: float) -> DemographicGap:
    return replace(one, adjusted=p_value, significant=p_value <= 1 - confidence)


def _values(known: Iterable[tuple[Shown, bool]]) -> dict[str, list[str]]:
    """Each attribute's values in the order of the scenarios."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for shown, _ in known:
        for attribute, value in shown.demographic:
            found[attribute][value] = None
    return {attribute: list(values) for attribute, values in found.items()}


def _table(known: Iterable[tuple[Shown, bool]], attribute: str) -> _Table:
    table: defaultdict[str, defaultdict[str, defaultdict[Person, _VerdictCount]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(_VerdictCount))
    )
    for shown, passed in known:
        person = dict(shown.demographic)
        value = person.pop(attribute, None)
        if value is not None:
            count = table[shown.base][value][tuple(sorted(person.items()))]
            count.passed += passed
            count.scored += 1
    return table


def _gap(table: _Table, attribute: str, first: str, second: str, confidence: float) -> DemographicGap | None:
    pairs = list(_pairs(table, first, second))
    gap = paired_gap([pair[0] for pair in pairs], [pair[1] for pair in pairs], confidence)
    if gap is None:
        return None
    found = DemographicGap(attribute, first, second, gap, gap.p_value, False, GapEstimate.of(pairs))
    return _adjusted(found, gap.p_value, confidence)


def _pairs(table: _Table, first: str, second: str) -> Iterator[tuple[float, float]]:
    """Both groups' pass rates in each scenario where both have a verdict."""
    for groups in table.values():
        one, other = groups.get(first, {}), groups.get(second, {})
        if shared := [person for person in one if person in other]:
            yield (
                sum(one[person].rate for person in shared) / len(shared),
                sum(other[person].rate for person in shared) / len(shared),
            )
