"""The mutants of a stored conversation. Pure: nothing is asked and nothing is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ..errors import ScenarioError
from ..judging.checks import run_checks
from ..judging.criteria import criteria_of
from ..result import ScenarioResult
from ..scenario.models import Scenario
from ..text import is_blank
from ..transcript import Transcript
from .harmless import paraphrased
from .of_calls import changes_of_calls
from .of_prohibitions import changes_of_prohibitions
from .of_replies import changes_of_replies
from .of_words import changes_of_words
from .proofs import criteria_that_held
from .types import ChangedTalk, Mutant, MutantKind


def mutants_of(result: ScenarioResult, scenario: Scenario) -> list[Mutant]:
    """Changed conversations that must fail, each with what must fail and why, and one that must still pass.

    Only what is certain is claimed: a mutant takes away what the stored verdict quotes, and code finds out
    which checks it breaks. A criterion that did not hold, or whose evidence can't be taken away for certain,
    has no mutants. So has a conversation without a turn.
    """
    if not result.transcript.turns:
        return []
    before = _failing(scenario, result.transcript)
    makers = (changes_of_words, changes_of_prohibitions, changes_of_replies, changes_of_calls)
    changes = chain.from_iterable(make(result, scenario) for make in makers)
    made = [mutant for change in changes for mutant in _mutant(change, scenario, before)]
    return [*_united(made), *_controls(result, scenario, before)]


def unclaimed(result: ScenarioResult, scenario: Scenario, mutants: Iterable[Mutant]) -> tuple[str, ...]:
    """The ids of the criteria that no mutant is about: whether they can fail is not known."""
    claimed = {one for mutant in mutants if not mutant.is_control for one in mutant.criteria}
    return tuple(one.id for one in criteria_of(scenario.evaluation) if one.id not in claimed)


def _failing(scenario: Scenario, transcript: Transcript) -> frozenset[str] | None:
    """The checks that a conversation breaks; None where they can't be decided."""
    try:
        return frozenset(one.name for one in run_checks(scenario.evaluation, transcript) if not one.holds)
    except ScenarioError:
        return None


def _mutant(change: ChangedTalk, scenario: Scenario, before: frozenset[str] | None) -> Iterator[Mutant]:
    broken = _failing(scenario, change.transcript)
    if before is not None and broken is None:
        return  # it isn't judged at all, so it shows nothing
    by_code = tuple(sorted((broken or frozenset()) - (before or frozenset())))
    must_fail = (*by_code, *change.claims)
    if must_fail:
        reasons = dict.fromkeys([*change.claims.values(), *(f"it breaks the check {one}" for one in by_code)])
        yield Mutant(
            change.kind,
            change.transcript,
            must_fail,
            "; ".join(reasons),
            change.sentence,
            change.turn,
            by_code,
        )


def _united(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Mutants with the same conversation as one: it is one question to the judge."""
    found: dict[tuple[MutantKind, str], Mutant] = {}
    for mutant in mutants:
        key = (mutant.kind, repr(mutant.transcript))
        other = found.get(key)
        found[key] = mutant if other is None else _both(other, mutant)
    return list(found.values())


def _both(one: Mutant, other: Mutant) -> Mutant:
    must_fail = tuple(dict.fromkeys((*one.must_fail, *other.must_fail)))
    why = "; ".join(dict.fromkeys((one.why, other.why)))
    return Mutant(one.kind, one.transcript, must_fail, why, one.sentence, one.turn, one.by_code)


def _controls(result: ScenarioResult, scenario: Scenario, before: frozenset[str] | None) -> Iterator[Mutant]:
    must_hold = tuple(criterion.id for criterion, _ in criteria_that_held(result, scenario))
    if not must_hold:
        return
    changed = paraphrased(result.transcript, (one.text for one in criteria_of(scenario.evaluation)))
    if changed == result.transcript or _failing(scenario, changed) != before:
        return
    turn = next(turn for turn in changed.turns if not is_blank(turn.reply.text))
    yield Mutant(
        MutantKind.PARAPHRASE,
        changed,
        (),
        "it says the same with other spaces and, in English, politer",
        turn.reply.text.strip(),
        turn.number,
        must_hold=must_hold,
    )
