"""Criteria for the judge that stand for a comparison with a reference."""

from __future__ import annotations

from collections.abc import Sequence

from .building import shorten_line

_MOST_SAID = 80


def says_the_same(references: Sequence[str], asked: str = "") -> str:
    """The answer, to what the user asked if it is given, means the same as one of the references."""
    where = f"In its answer to “{shorten_line(asked, _MOST_SAID)}”, the agent" if asked else "The agent"
    if len(references) == 1:
        return f"{where} says the same as this, in its own words: {references[0].strip()}"
    shown = "\n".join(f"- {reference.strip()}" for reference in references)
    return f"{where} says the same as one of these, in its own words:\n{shown}"


def agrees_with(facts: str) -> str:
    """Nothing in the answer contradicts the facts."""
    return f"What the agent says agrees with this, and contradicts nothing of it: {facts.strip()}"
