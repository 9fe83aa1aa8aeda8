"""What the user of an import can say about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GREETING = "Hello, I need some help."
"""The first message where the source has none, since its simulated user makes it up."""


@dataclass(frozen=True)
class ImportOptions:
    """`first_message` is said where the source has no first message; with `agent_first`, the agent greets.

    `message` is what the user says in tests of promptfoo, with `{{variables}}`, instead of the prompts.
    `criteria` is the file with the criteria of an ADK suite.
    """

    first_message: str = GREETING
    message: str = ""
    criteria: Path | None = None
    agent_first: bool = False
