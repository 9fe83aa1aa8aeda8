"""The parts of the page on groups of conversations: people, variants, samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...formatting import counted, number, p_value, percent, points
from ..analysis.results import DemographicGap, Rate, TargetResults
from .charts import Whisker, scale_of, whisker
from .rate_text import (
    Figure,
    figure,
    gap_words,
    name,
    person_words,
)

Key = TypeVar("Key")


@dataclass(frozen=True)
class GroupRow:
    """One group's rate on each target; `more` says what the group is."""

    label: str
    more: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class GapRow:
    """How far apart two groups are."""

    attribute: str
    first: str
    second: str
    whisker: Whisker
    words: str
    scenarios: str
    p: str
    significant: bool


@dataclass(frozen=True)
class Gaps:
    """The gaps of one target; `scale` is the number of points at the ends of the plot."""

    target: str
    rows: tuple[GapRow, ...]
    scale: tuple[str, str]
    significant: str


@dataclass(frozen=True)
class AgreementRow:
    """How far the samples of one target agree, and its rate in each sample."""

    target: str
    units: str
    numbers: tuple[str, ...]


def people(targets: Sequence[TargetResults]) -> list[tuple[str, list[GroupRow]]]:
    """By attribute, the rates of each value."""
    attributes = _keys(target.by_demographic for target in targets)
    return [
        (name(one), list(_values([t.by_demographic.get(one, {}) for t in targets]))) for one in attributes
    ]


def _values(of_targets: Sequence[Mapping[str, Rate]]) -> Iterator[GroupRow]:
    for value in _keys(of_targets):
        yield GroupRow(name(value), "", tuple(figure(rates.get(value, Rate())) for rates in of_targets))


def _keys(mappings: Iterable[Mapping[Key, object]]) -> list[Key]:
    """All keys, in the order of the mappings that have them."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def gaps(targets: Sequence[TargetResults]) -> list[Gaps]:
    """Of each target that has any, all on one scale."""
    scale = scale_of(one.gap for target in targets for one in target.gaps)
    return [_gaps(target, scale) for target in targets if target.gaps]


def _gaps(target: TargetResults, scale: float) -> Gaps:
    significant = sum(gap.significant for gap in target.gaps)
    said = f"{significant:,} of {counted(len(target.gaps), 'gap')} more than chance"
    rows = tuple(_gap(one, scale) for one in target.gaps)
    return Gaps(name(target.id), rows, (points(-scale), points(scale)), said)


def _gap(one: DemographicGap, scale: float) -> GapRow:
    return GapRow(
        name(one.attribute),
        name(one.first),
        name(one.second),
        whisker(one.gap, scale),
        gap_words(one.gap),
        f"{one.gap.pairs:,}",
        p_value(one.adjusted),
        one.significant,
    )


def variants(targets: Sequence[TargetResults], people_of: Mapping[str, Mapping[str, str]]) -> list[GroupRow]:
    """The rates of each variant, with who speaks in it."""
    return [
        GroupRow(
            name(variant) or "without a variant",
            person_words(people_of.get(variant, {})),
            tuple(figure(target.by_variant.get(variant, Rate())) for target in targets),
        )
        for variant in _keys(target.by_variant for target in targets)
    ]


def agreement(targets: Sequence[TargetResults]) -> list[AgreementRow]:
    """Of the targets with more than one sample."""
    return [
        AgreementRow(
            name(target.id),
            f"{found.units:,}",
            (
                percent(found.unanimous),
                number(found.fleiss_kappa),
                number(found.krippendorff_alpha),
                percent(found.single_with_majority),
                ", ".join(percent(rate.pass_rate) for rate in target.by_sample.values()),
            ),
        )
        for target in targets
        if (found := target.agreement) is not None
    ]
