"""What an audit shows of the gate's promise, and what to change where it doesn't hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..formatting import counted, exact_percent, number, percent
from ..gate.policies import LEAST_PAST
from ..results.audit_file import Audit, GateFigures, ScenarioAudit

MOST_MISSED = 0.1
"""The share of runs that may be green with a scenario that is broken for good."""

_HALF_MISSED = 0.4
_TRIED_FIRST = (2, 3, 5)
_SHOWN = 3

TryFirst = Callable[[int], GateFigures]
"""The figures of the same suite with another number of first conversations."""


def with_promise(audit: Audit, first: int, try_first: TryFirst) -> Audit:
    """The audit with its promises, what is unknown, and advice. `first` is the setting `gate.first`."""
    checked = replace(audit, broken=tuple(_broken(audit)), unknown=tuple(_unknown(audit)))
    return replace(checked, advice=tuple(_advice(checked, first, try_first)))


def _broken(audit: Audit) -> Iterator[str]:
    gate = audit.gate
    if gate.gates and gate.red_at_most > audit.alpha:
        yield (
            f"{gate.red} of {gate.gates:,} gates without a change were red, so up to "
            f"{percent(gate.red_at_most)} may be; {exact_percent(audit.alpha)} are promised"
        )
    missed = gate.missed_of("always", "one")
    if missed is not None and missed > MOST_MISSED:
        yield (
            f"{percent(missed)} of the gates missed a scenario that was broken for good; at most "
            f"{percent(MOST_MISSED)} are promised"
        )


def _unknown(audit: Audit) -> Iterator[str]:
    if not audit.gate.gates:
        yield "the false-red rate: no stored conversation rests on today's scenarios, prompts and judge"
    elif words := _few(audit):
        yield f"the false-red rate: {words}"
    if audit.gate.gates and audit.gate.missed_of("always", "one") is None:
        yield "what is missed: no scenario that gates has mutants that were judged"


def _few(audit: Audit) -> str:
    """Why the drawn gates show little: whoever talked once and passed can't fail in any of them."""
    few = sum(one.talks <= LEAST_PAST for one in audit.scenarios)
    if 2 * few <= len(audit.scenarios):
        return ""
    return f"{few} of {counted(len(audit.scenarios), 'scenario')} with {LEAST_PAST} conversations or fewer"


def _advice(audit: Audit, first: int, try_first: TryFirst) -> Iterator[str]:
    yield from _of_gates(audit)
    yield from _of_judge(audit)
    yield from _of_sight(audit)
    yield from _of_pasts(audit)
    yield from _of_first(audit, first, try_first)


def _of_gates(audit: Audit) -> Iterator[str]:
    if not audit.broken:
        return
    if audit.gate.red == 0 and audit.gate.red_at_most > audit.alpha:
        yield f"draw more gates, 300 for example: {audit.gate.gates} without a red one show no less"
    red = sorted((one for one in audit.scenarios if one.red), key=lambda one: -one.red)
    for one in red[:_SHOWN]:
        yield (
            f"{one.scenario_id}: red in {one.red} of {audit.gate.gates:,} gates without a change; it failed "
            f"{one.failed} of {one.talks} before. Make its criteria clearer, or set it aside with "
            "`gate: {mode: report}`"
        )


def _of_judge(audit: Audit) -> Iterator[str]:
    for one in audit.scenarios:
        for criterion, times in sorted(one.flipping.items(), key=lambda found: -found[1]):
            yield (
                f'{one.scenario_id}: "{criterion}" flipped {times} of {one.flips.asked} times in another '
                "order. Say what shows it"
            )
        for criterion in one.blind:
            yield f'{one.scenario_id}: "{criterion}" let a changed conversation through (`convoprobe mutate`)'


def _of_sight(audit: Audit) -> Iterator[str]:
    blind = [one for one in audit.scenarios if one.sees is None]
    if blind and audit.unknown:
        yield (
            f"{counted(len(blind), 'scenario')} without a mutant that was decided ({_named(blind)}): nobody "
            "knows what they notice. Have criteria name what shows them: a word, a number, a tool"
        )


def _of_pasts(audit: Audit) -> Iterator[str]:
    short = [one for one in audit.scenarios if one.talks <= LEAST_PAST]
    if short:
        yield (
            f"{counted(len(short), 'scenario')} with {LEAST_PAST} conversations or fewer on today's "
            f"fingerprints ({_named(short)}): run them nightly until there are twenty"
        )


def _named(scenarios: list[ScenarioAudit]) -> str:
    names = ", ".join(one.scenario_id for one in scenarios[:_SHOWN])
    more = len(scenarios) - _SHOWN
    return f"{names} and {more} more" if more > 0 else names


def _of_first(audit: Audit, first: int, try_first: TryFirst) -> Iterator[str]:
    """The smallest number of first conversations that halves what is missed of a half-broken scenario."""
    missed = audit.gate.missed_of("half", "one")
    if audit.policy == "each" or missed is None or missed <= _HALF_MISSED:
        return
    for more in (tried for tried in _TRIED_FIRST if tried > first):
        figures = try_first(more)
        better = figures.missed_of("half", "one")
        if better is not None and better <= missed / 2 and figures.red_at_most <= audit.alpha:
            yield (
                f"`gate.first: {more}` misses {percent(better)} of what is half broken instead of "
                f"{percent(missed)}, at {number(figures.talks, 1)} conversations a scenario instead of "
                f"{number(audit.gate.talks, 1)}: for nightly runs"
            )
            return
