"""What the gate decided about a run, in lines for people who have never heard of an e-value."""

from __future__ import annotations

from collections import Counter

from ..formatting import counted, exact_percent
from ..gate.suite import SuiteDecision
from ..gate.types import Decision, Word
from ..text import harmless, one_line, shorten
from .decisions import drift_in_words, figures_in_words, listed, sentence

_LISTED = 20


def gate_lines(suite: SuiteDecision, alpha: float, *, verbosity: int = 0) -> list[str]:
    """The line about the run, one for each scenario that didn't simply pass, and what there is to note.

    `alpha` is the share of runs that may fail on an unchanged agent. Without a decision there are no lines.
    """
    if not suite.decisions:
        return []
    lines = [_about_run(suite, alpha), *_about_scenarios(suite, verbosity), *_drift(suite), *_notes(suite)]
    nothing_green = suite.word is Word.UNDECIDED and not suite.count(Word.GREEN)
    return [*lines, "no scenario was decided green: the run fails"] if nothing_green else lines


def _about_run(suite: SuiteDecision, alpha: float) -> str:
    """`gate (paired, alpha 5 %): green. 20 scenarios, 34 conversations (baseline 20 each), …`."""
    every = suite.decisions
    talks = sum(one.talks + one.unjudged for one in every)
    parts = [
        counted(len(every), "scenario"),
        f"{counted(talks, 'conversation')}{_baseline(every)}",
        f"{counted(sum(one.failed for one in every), 'fail')} confirmed",
        f"{sum(one.overruled for one in every):,} overruled by the second vote",
        f"{suite.count(Word.UNDECIDED):,} undecided",
    ]
    if suite.broken:
        parts.append(f"{suite.broken:,} not decided because of an error")
    if unjudged := sum(one.unjudged for one in every):
        parts.insert(2, f"{unjudged:,} without a verdict")
    return f"gate ({_policies(every, alpha)}): {suite.word.value}. {', '.join(parts)}"


def _policies(every: tuple[Decision, ...], alpha: float) -> str:
    counts = Counter(one.policy for one in every)
    if "paired" not in counts:
        return ", ".join(sorted(counts))
    others = [f"{count:,} by {policy}" for policy, count in sorted(counts.items()) if policy != "paired"]
    return ", ".join(["paired", f"alpha {exact_percent(alpha)}", *others])


def _baseline(every: tuple[Decision, ...]) -> str:
    """` (baseline 20 each)`, or from and to where the scenarios differ; ` (compared with no baseline)`."""
    talks = sorted({one.past.talks for one in every if one.past is not None})
    if not talks:
        return " (compared with no baseline)"
    return (
        f" (baseline {talks[0]} each)" if len(talks) == 1 else f" (baseline {talks[0]} to {talks[-1]} each)"
    )


def _about_scenarios(suite: SuiteDecision, verbosity: int) -> list[str]:
    """Red and undecided ones are all there, whatever their number."""
    found = listed(suite.decisions)
    needed = sum(one.word is not Word.GREEN for one in found)
    shown = found if verbosity > 0 else found[: max(_LISTED, needed)]
    names = _names(suite.decisions)
    lines = [f"  {names[one.scenario_id]}: {_sentence(one, verbosity)}" for one in shown]
    more = len(found) - len(shown)
    return [*lines, f"  and {more:,} more (-v lists them)"] if more else lines


def _sentence(decision: Decision, verbosity: int) -> str:
    return f"{sentence(decision)} ({figures_in_words(decision)})" if verbosity > 0 else sentence(decision)


def _names(every: tuple[Decision, ...]) -> dict[str, str]:
    """What each scenario is called: its name, or its whole id where two have the same one."""
    short = {one.scenario_id: one.scenario_id.rpartition("::")[2] for one in every}
    counts = Counter(short.values())
    best = {one: name if counts[name] == 1 else one for one, name in short.items()}
    return {one: harmless(shorten(one_line(name), 80)) for one, name in best.items()}


def _drift(suite: SuiteDecision) -> list[str]:
    words = drift_in_words(suite)
    return [f"  {words}"] if words else []


def _notes(suite: SuiteDecision) -> list[str]:
    """Each note once, with how many scenarios it is about."""
    counts = Counter(note for one in suite.decisions for note in one.notes)
    names = {note: one.scenario_id for one in suite.decisions for note in one.notes}
    known = _names(suite.decisions)
    about = {
        note: known[names[note]] if count == 1 else counted(count, "scenario")
        for note, count in counts.items()
    }
    return [f"  note: {who}: {harmless(one_line(note))}" for note, who in about.items()]
