"""What a crew is given for a message: the inputs for the placeholders of its tasks and agents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import TargetStartError

MESSAGE_NAMES = ("message", "user_message", "question", "query", "input", "user_input", "request")
HISTORY_NAMES = ("history", "chat_history", "conversation_history", "conversation", "messages")
_NOTHING_YET = "(nothing was said before)"


@dataclass(frozen=True)
class Inputs:
    """The inputs of a crew: `given` the same for each message, `message` and `history` by these names.

    Without a placeholder for the history, CrewAI's own input for conversations has it.
    """

    message: str
    history: str | None
    given: Mapping[str, Any]

    def of(self, message: str, history: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """The inputs for a message; `history` is what was said before, each with `role` and `content`."""
        if self.history is not None:
            said = "\n".join(f"{one['role'].capitalize()}: {one['content']}" for one in history)
            return {**self.given, self.message: message, self.history: said or _NOTHING_YET}
        # CrewAI adds it to the descriptions of all tasks.
        earlier = {"crew_chat_messages": json.dumps(list(history))} if history else {}
        return {**self.given, self.message: message, **earlier}


def inputs_of(crew: Any, given: Mapping[str, Any]) -> Inputs:
    """How messages become the inputs of a crew. Raises `TargetStartError` where that isn't clear."""
    names = crew.fetch_inputs()
    free = sorted(names - set(given))
    history = next((name for name in HISTORY_NAMES if name in free), None)
    others = [name for name in free if name != history]
    only = others[0] if len(others) == 1 else None
    message = next((name for name in MESSAGE_NAMES if name in others), only)
    if message is None:
        raise TargetStartError(_no_place(others))
    missing = [name for name in others if name != message]
    if missing:
        raise TargetStartError(
            f"the crew has the placeholder `{{{message}}}` for the user's message, and needs more inputs: "
            f"{_listed(missing)}. Give them as a mapping by `target.context`"
        )
    return Inputs(message, history, given)


def _no_place(others: Sequence[str]) -> str:
    if not others:
        return (
            "the crew has no place for the user's message: write `{message}` into the description of a task, "
            "and `{history}` where it is to get what was said before"
        )
    return (
        f"which of the crew's placeholders is the user's message? It has {_listed(others)}. Name one "
        "`{message}`, and give the others as a mapping by `target.context`"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{{{name}}}`" for name in names)
