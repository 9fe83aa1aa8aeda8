"""From judged mutants to scores: of scenarios, of criteria, and who let something through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..judging.criteria import criteria_of
from ..judging.types import Criterion
from ..redaction import Redactor
from ..results.mutation_file import CriterionScore, Remark, ScenarioMutations
from ..text import shorten
from .probing import Probed, digest

_LONGEST = 300


def scores(probed: Sequence[Probed], run: str, at: float, redactor: Redactor) -> list[ScenarioMutations]:
    """What came of each scenario's mutants, in their order, without secrets.

    `at` is the time, in seconds since 1970.
    """
    by_scenario: dict[str, list[Probed]] = {}
    for one in probed:
        by_scenario.setdefault(one.talk.row.scenario_id, []).append(one)
    found = [_scenario(name, same, run, at) for name, same in by_scenario.items()]
    # A scenario may have a key of the settings in its texts, and stored trials have them masked.
    return [redactor.record(one) for one in found]


def _scenario(name: str, probed: Sequence[Probed], run: str, at: float) -> ScenarioMutations:
    first = probed[0].talk
    mutants = [one for one in probed if not one.mutant.is_control and one.came_out]
    passed = [one.passed for one in mutants]
    criteria = criteria_of(first.scenario.evaluation)
    assert first.settings is not None  # noqa: S101 - a talk with mutants has its settings
    return ScenarioMutations(
        scenario_id=name,
        run=run,
        at=at,
        judge=first.settings.judge.model or "",
        prints=first.prints,
        by_code=sum(bool(one.mutant.by_code) for one in mutants),
        caught=passed.count(False),
        survived=passed.count(True),
        undecided=passed.count(None),
        criteria=tuple(_criterion(criterion, mutants) for criterion in criteria),
        verdicts=_verdicts(probed),
        survivors=tuple(_remarks(mutants, criteria, wrong=True)),
        failed_controls=tuple(
            _remarks((one for one in probed if one.mutant.is_control), criteria, wrong=False)
        ),
    )


def _is_asked(one: Probed) -> bool:
    return one.answers is not None or bool(one.problem)


def _verdicts(probed: Iterable[Probed]) -> dict[str, dict[str, bool | None]]:
    """What the judge decided, for the next run. What it could not tell is asked again."""
    decided = (one for one in probed if one.answers and all(map(_is_decided(one), one.mutant.criteria)))
    return {digest(one.mutant): dict(one.answers or {}) for one in decided}


def _is_decided(one: Probed) -> Callable[[str], bool]:
    return lambda criterion: one.holds(criterion) is not None


def _criterion(criterion: Criterion, mutants: Iterable[Probed]) -> CriterionScore:
    # A mutant that a check decides says nothing of a criterion: the judge was not asked.
    asked = [one for one in mutants if _is_asked(one) and criterion.id in one.mutant.must_fail]
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
