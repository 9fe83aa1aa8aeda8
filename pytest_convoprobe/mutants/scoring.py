"""From judged mutants to scores: of scenarios, of criteria, and who let something through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..judging.criteria import criteria_of
from ..judging.types import Criterion
from ..redaction import Redactor
from ..results.fingerprints import take_prints
from ..results.mutation_file import CriterionScore, Remark, ScenarioMutations
from ..targets.port import Description
from ..text import shorten
from .probing import Probed

_LONGEST = 300


def scores(probed: Sequence[Probed], run: str, at: float, redactor: Redactor) -> list[ScenarioMutations]:
    """What came of each scenario's mutants, in their order. `at` is the time, in seconds since 1970."""
    by_scenario: dict[str, list[Probed]] = {}
    for one in probed:
        by_scenario.setdefault(one.talk.row.scenario_id, []).append(one)
    return [_scenario(name, found, run, at, redactor) for name, found in by_scenario.items()]


def _scenario(
    name: str, probed: Sequence[Probed], run: str, at: float, redactor: Redactor
) -> ScenarioMutations:
    first = probed[0].talk
    mutants = [one for one in probed if not one.mutant.is_control and one.is_known]
    passed = [one.passed for one in mutants]
    criteria = criteria_of(first.scenario.evaluation)
    assert first.settings is not None  # noqa: S101 - a talk with mutants has its settings
    return ScenarioMutations(
        scenario_id=name,
        run=run,
        at=at,
        judge=first.settings.judge.model or "",
        prints=take_prints(first.scenario, first.settings, Description(), redactor),
        by_code=sum(bool(one.mutant.by_code) for one in mutants),
        caught=passed.count(False),
        survived=passed.count(True),
        undecided=passed.count(None),
        criteria=tuple(_criterion(criterion, mutants) for criterion in criteria),
        survivors=tuple(_remarks(mutants, criteria, wrong=True)),
        failed_controls=tuple(
            _remarks((one for one in probed if one.mutant.is_control), criteria, wrong=False)
        ),
    )


def _criterion(criterion: Criterion, mutants: Iterable[Probed]) -> CriterionScore:
    # A mutant that a check decides says nothing of a criterion: the judge was not asked.
    asked = [one for one in mutants if one.judged is not None and criterion.id in one.mutant.must_fail]
    found = [one.holds(criterion.id) for one in asked]
    return CriterionScore(
        criterion.id, criterion.text, found.count(False), found.count(True), found.count(None)
    )


def _remarks(probed: Iterable[Probed], criteria: Sequence[Criterion], *, wrong: bool) -> Iterator[Remark]:
    """The mutants and criteria with an answer that is wrong: `wrong` is what it may not be."""
    for one in probed:
        for criterion in criteria:
            if criterion.id in one.mutant.criteria and one.holds(criterion.id) is wrong:
                sentence = shorten(one.mutant.sentence, _LONGEST)
                mutant = one.mutant
                yield Remark(
                    mutant.kind.value, criterion.id, criterion.text, mutant.turn, sentence, mutant.why
                )
