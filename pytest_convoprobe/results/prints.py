"""Fingerprints: what an outcome rests on, so that a change of it has a name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

_WORDS = {
    "scenario": "scenario",
    "prompts": "prompts",
    "target_prompt": "target's system prompt",
    "target_tools": "target's tools",
}


@dataclass(frozen=True, slots=True)
class Prints:
    """Hex digests of what a trial was made of; None where the target doesn't tell.

    `scenario` is of what the scenario says, wherever it stands; `prompts` of our own prompts and of
    the settings of the judge and the synthetic user; `target_prompt` and `target_tools` of the
    target's system prompt and the schemas of its tools.
    """

    scenario: str | None = None
    prompts: str | None = None
    target_prompt: str | None = None
    target_tools: str | None = None

    def to_json(self) -> dict[str, str | None]:
        """A plain dict."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, data: Any) -> Prints:
        """What `to_json` gave; keys of another version are ignored."""
        known = data if isinstance(data, dict) else {}
        return cls(**{field.name: known.get(field.name) for field in fields(cls)})


NO_PRINTS = Prints()


def changes(before: Prints, after: Prints) -> tuple[str, ...]:
    """What is different, in words: "scenario", "prompts", "target's system prompt", "target's tools"."""
    return tuple(words for name, words in _WORDS.items() if getattr(before, name) != getattr(after, name))
