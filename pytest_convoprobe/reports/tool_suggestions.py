"""What models suggested about the agent's tools in a run, gathered by severity and tool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..formatting import counted
from ..judging.types import Severity, Suggestion
from ..result import Outcome, ScenarioResult
from ..text import one_line

VERSION = 1
_MOST_NAMED = 5


@dataclass(frozen=True)
class Given:
    """A suggestion, and the scenario of each conversation that led to it."""

    suggestion: Suggestion
    scenarios: tuple[str, ...]


@dataclass(frozen=True)
class ToolGroup:
    """All suggestions of one severity about one tool, the most frequent first."""

    severity: Severity
    tool: str
    given: tuple[Given, ...]

    @property
    def count(self) -> int:
        return sum(len(one.scenarios) for one in self.given)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Each once, in the order of the suggestions."""
        return tuple(dict.fromkeys(name for one in self.given for name in one.scenarios))


@dataclass(frozen=True)
class GatheredSuggestions:
    """The groups, the most serious first; how many conversations failed, and for how many a model was asked.

    `notes` say why there was no answer, or what of it was left out, with how often.
    """

    groups: tuple[ToolGroup, ...]
    failed: int
    asked: int
    notes: tuple[tuple[str, int], ...] = ()

    @property
    def sentence(self) -> str:
        """What there is to know besides the suggestions: none of them is not the same as nobody asked."""
        if not self.failed:
            return "no conversation failed, so no model was asked for suggestions"
        if not self.asked:
            talks = counted(self.failed, "failed conversation")
            return (
                f"no model was asked for suggestions about {talks}: judge.suggestions was off. "
                "With `judge.suggestions: true`, the next run asks"
            )
        number = sum(group.count for group in self.groups)
        words = counted(number, "suggestion") if number else "no suggestions"
        return f"{words} from {self.asked} of {counted(self.failed, 'failed conversation')}"


def gathered(results: Iterable[ScenarioResult]) -> GatheredSuggestions:
    """The suggestions of the conversations that failed."""
    failed = [one for one in results if one.outcome is Outcome.FAILED]
    asked = [(one.scenario_id, one.suggestions) for one in failed if one.suggestions is not None]
    pairs = [(suggestion, name) for name, given in asked for suggestion in given.found]
    notes = Counter(given.note for _, given in asked if given.note)
    return GatheredSuggestions(tuple(_groups(pairs)), len(failed), len(asked), tuple(notes.most_common()))


def _groups(pairs: Sequence[tuple[Suggestion, str]]) -> Iterator[ToolGroup]:
    by_words: dict[Suggestion, list[str]] = {}
    for suggestion, name in pairs:
        by_words.setdefault(suggestion, []).append(name)
    by_tool: dict[tuple[Severity, str], list[Given]] = {}
    for suggestion, names in by_words.items():
        given = Given(suggestion, tuple(names))
        by_tool.setdefault((suggestion.severity, suggestion.tool), []).append(given)
    groups = [
        ToolGroup(severity, tool, tuple(sorted(given, key=lambda one: -len(one.scenarios))))
        for (severity, tool), given in by_tool.items()
    ]
    order = list(Severity)
    yield from sorted(groups, key=lambda one: (order.index(one.severity), -one.count, one.tool))


def suggestions_json(run: str, found: GatheredSuggestions) -> dict[str, Any]:
    """As plain data. `asked` and `failed` count conversations."""
    return {
        "version": VERSION,
        "run": run,
        "failed": found.failed,
        "asked": found.asked,
        "sentence": found.sentence,
        "tools": [_group_json(group) for group in found.groups],
        "notes": [{"note": note, "count": count} for note, count in found.notes],
    }


def _group_json(group: ToolGroup) -> dict[str, Any]:
    return {
        "severity": group.severity.value,
        "tool": group.tool,
        "count": group.count,
        "scenarios": list(group.scenarios),
        "suggestions": [
            {**one.suggestion.to_json(), "count": len(one.scenarios), "scenarios": _once(one.scenarios)}
            for one in group.given
        ],
    }


def suggestions_text(found: GatheredSuggestions) -> str:
    """Lines for a terminal; who prints them makes them harmless."""
    lines: list[str] = []
    for group in found.groups:
        number = counted(group.count, "suggestion")
        scenarios = counted(len(group.scenarios), "scenario")
        lines.append(f"{group.severity.value}  {one_line(group.tool)}: {number} from {scenarios}")
        for one in group.given:
            lines += [
                f"    {one.suggestion.category}: {one_line(one.suggestion.issue)}",
                f"        {one_line(one.suggestion.suggestion)}",
                f"        from {_named(_once(one.scenarios))}",
            ]
        lines.append("")
    lines += [f"{one_line(note)} ({counted(count, 'conversation')})" for note, count in found.notes]
    return "\n".join([*lines, found.sentence]) + "\n"


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    shown = ", ".join(map(one_line, names[:_MOST_NAMED]))
    return f"{shown} and {more:,} more" if more > 0 else shown
