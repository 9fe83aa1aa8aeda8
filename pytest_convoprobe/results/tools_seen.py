"""Names of tools that no stored conversation has seen: most likely misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import ResultsError
from ..text import one_line, visible
from ..tool_patterns import matches
from .reading import RunRef

RUNS = 20
"""How many of the newest runs are looked at."""


def never_called(names: Iterable[str], runs: Iterable[RunRef]) -> tuple[str, ...]:
    """The names and patterns that match no tool call in the newest of these runs, which come newest first."""
    left = list(dict.fromkeys(names))
    for called in _called(runs):
        left = [name for name in left if not any(matches(name, tool) for tool in called)]
        if not left:
            break
    return tuple(left)


def unseen_words(names: Iterable[str]) -> str:
    """The sentence on what `never_called` gives, for every report."""
    listed = ", ".join(one_line(visible(name)) for name in names)
    return (
        f"no stored run has a call of {listed}; list all tools of the agent in target.tools, so that a "
        "misspelt name is an error"
    )


def _called(runs: Iterable[RunRef]) -> Iterator[set[str]]:
    """The names of the tools that were called, trial by trial."""
    for number, run in enumerate(runs):
        if number == RUNS:
            return
        stored = run.open()
        for row in run.rows([]):  # a lost run says nothing
            try:
                transcript = stored.trial(row).result.transcript
            except ResultsError:
                continue  # nor does a lost trial
            calls = (*(call for _, call in transcript.tool_calls), *transcript.pending_calls)
            yield {call.name for call in calls}
