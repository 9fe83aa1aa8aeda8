"""The words of the gate: what was seen, what it was compared with, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol


class Word(str, Enum):
    """What the gate says of a scenario."""

    RED = "red"
    GREEN = "green"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Past:
    """How often a scenario failed before: `failed` of `talks` conversations. `source` says who knows."""

    failed: int
    talks: int
    source: str = ""


@dataclass(frozen=True)
class Ruling:
    """What a policy says after some conversations; `e_value` and the value that is red, where it has one."""

    word: Word
    e_value: float | None = None
    red_from: float | None = None


class Policy(Protocol):
    """Decides one scenario. It depends on nothing but that scenario's own conversations."""

    @property
    def name(self) -> str:
        """`paired`, `confirm` or `each`."""

    @property
    def first(self) -> int:
        """How many conversations there are in any case."""

    @property
    def most(self) -> int:
        """How many there may be."""

    def rule(self, fails: Sequence[bool]) -> Ruling | None:
        """What is decided after these conversations, in their order; None asks for one more.

        Each is True if it failed. One without a verdict isn't among them.
        """


@dataclass(frozen=True)
class Decision:
    """What was decided about a scenario, and why.

    `failed` of `talks` conversations with a verdict failed; `unjudged` had none. `votes` counts the second
    votes, `overruled` those that took a failure back. `mode` is what the scenario's own `gate` says.
    """

    scenario_id: str
    policy: str
    word: Word
    failed: int
    talks: int
    past: Past | None = None
    e_value: float | None = None
    red_from: float | None = None
    votes: int = 0
    overruled: int = 0
    unjudged: int = 0
    mode: str = "block"
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The decision for people: `1 of 1 failed, base 3 of 40: as before`."""
        base = f", base {self.past.failed} of {self.past.talks}" if self.past else ""
        return f"{self.failed} of {self.talks} failed{base}: {self._in_words()}"

    def _in_words(self) -> str:
        if self.word is Word.UNDECIDED:
            return "undecided"
        if self.word is Word.RED:
            return "more often than before" if self.past else "confirmed"
        if not self.failed:
            return "passed"
        return "as before" if self.past else "not confirmed"

    def to_json(self) -> dict[str, Any]:
        """A plain dict."""
        past = self.past and {
            "failed": self.past.failed, "talks": self.past.talks, "source": self.past.source
        }  # fmt: skip
        return {
            "scenario_id": self.scenario_id,
            "policy": self.policy,
            "word": self.word.value,
            "failed": self.failed,
            "talks": self.talks,
            "past": past,
            "e_value": self.e_value,
            "red_from": self.red_from,
            "votes": self.votes,
            "overruled": self.overruled,
            "unjudged": self.unjudged,
            "mode": self.mode,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Decision:
        """What `to_json` gave; keys of another version are ignored. Raises KeyError and ValueError."""
        past = data.get("past")
        return cls(
            scenario_id=data["scenario_id"],
            policy=data["policy"],
            word=Word(data["word"]),
            failed=int(data["failed"]),
            talks=int(data["talks"]),
            past=Past(past["failed"], past["talks"], past.get("source", "")) if past else None,
            e_value=data.get("e_value"),
            red_from=data.get("red_from"),
            votes=int(data.get("votes", 0)),
            overruled=int(data.get("overruled", 0)),
            unjudged=int(data.get("unjudged", 0)),
            mode=data.get("mode", "block"),
            notes=tuple(data.get("notes", ())),
        )
