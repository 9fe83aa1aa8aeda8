"""What the gate decided about a scenario, as reports show it."""

from __future__ import annotations

from collections.abc import Iterable

from ..formatting import counted
from ..gate.suite import SuiteDecision, blocks
from ..gate.types import Decision, Word
from ..result import Outcome
from ..text import one_line, visible


def stops(decision: Decision) -> bool:
    """Whether the scenario makes its run fail."""
    return decision.word is Word.RED and blocks(decision)


def is_excused(outcome: Outcome, decision: Decision | None) -> bool:
    """Whether a conversation with this outcome failed or erred without making its scenario fail."""
    if decision is None or outcome not in (Outcome.FAILED, Outcome.ERROR):
        return False
    # An error in a decided scenario is a conversation that another one has replaced.
    return outcome is Outcome.ERROR or not stops(decision)


def sentence(decision: Decision) -> str:
    """The decision for people, with what keeps it from blocking: `…; in quarantine, so it blocks nothing`."""
    said = decision.sentence()
    if blocks(decision):
        return said
    return f"{said}; {_MODES.get(decision.mode, one_line(visible(decision.mode)))}, so it blocks nothing"


_MODES = {"report": "only reported", "quarantine": "in quarantine"}


def drift_in_words(suite: SuiteDecision) -> str:
    """What all scenarios together show, where that makes the run fail; else empty."""
    if not suite.has_drifted:
        return ""
    return (
        f"all scenarios together fail more often than before: {suite.first_failed:,} of "
        f"{counted(suite.first_talks, 'first conversation')} failed, and {suite.expected:.1f} were expected"
    )


def badge(decision: Decision) -> str:
    """The decision in two words, beside the outcome of one of its conversations; empty if all is plain."""
    if not blocks(decision):
        return decision.mode
    if decision.word is not Word.GREEN:
        return str(decision.word.value)
    if not decision.failed:
        return ""
    return "as before" if decision.past else "not confirmed"


def listed(decisions: Iterable[Decision]) -> list[Decision]:
    """Those that a reader has to know of, the most serious first: all but those that simply passed."""
    shown = [one for one in decisions if one.failed or one.word is not Word.GREEN or not blocks(one)]
    return sorted(shown, key=lambda one: (not stops(one), _SERIOUS.index(one.word), one.scenario_id))


_SERIOUS = (Word.RED, Word.UNDECIDED, Word.GREEN)


def figures_in_words(decision: Decision) -> str:
    """The figures behind the sentence, for whoever wants to check it."""
    parts = [f"decided by {decision.policy}"]
    if decision.past:
        parts.append(f"compared with {decision.past.source or 'its past'}")
    if decision.e_value is not None and decision.red_from is not None:
        parts.append(f"e-value {decision.e_value:.2g}, red from {decision.red_from:.3g}")
    if decision.votes:
        parts.append(f"{counted(decision.votes, 'second vote')}, {decision.overruled} took a failure back")
    if decision.unjudged:
        parts.append(f"{decision.unjudged} without a verdict")
    return "; ".join(parts)


def figures_of(decision: Decision) -> dict[str, str | int | float]:
    """The figures by name, for properties of tests; what isn't known is left out.

    `gate_failed` of `gate_talks` conversations failed now, `base_failed` of `base_talks` before.
    """
    past = decision.past
    found = {
        "gate": decision.word.value,
        "gate_policy": decision.policy,
        "gate_mode": decision.mode,
        "gate_failed": decision.failed,
        "gate_talks": decision.talks,
        "base_failed": past.failed if past else None,
        "base_talks": past.talks if past else None,
        "base": past.source if past else None,
        "e_value": None if decision.e_value is None else float(f"{decision.e_value:.4g}"),
        "red_from": None if decision.red_from is None else float(f"{decision.red_from:.4g}"),
        "second_votes": decision.votes,
        "overruled": decision.overruled,
        "decision": sentence(decision),
    }
    return {name: value for name, value in found.items() if value is not None}
