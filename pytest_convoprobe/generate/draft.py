"""What a model writes of a scenario, and the mapping that becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from ..scenario.new_files import MOST_NAME
from ..text import one_line


class Draft(BaseModel):
    """A scenario as a model writes it."""

    name: str = Field(description="A short title of the scenario.")
    description: str = Field(description="What the scenario tests, in one sentence.")
    persona: str = Field(description="Who the user is, what it wants, and how it writes.")
    initial_query: str = Field(description="The user's first message, word for word.")
    known_facts: list[str] = Field(default=[], description="What the user knows, and says when asked.")
    unknown_facts: list[str] = Field(default=[], description="What the user doesn't know.")
    required_tools: list[str] = Field(default=[], description="Tools that a right agent must call.")
    prohibited_tools: list[str] = Field(default=[], description="Tools that it must not call.")
    correctness_criteria: list[str] = Field(
        description="What a right agent does or says, one plain fact that can be seen in each sentence."
    )
    failure_criteria: list[str] = Field(default=[], description="What a wrong agent does or says.")
    max_turns: int = Field(default=6, description="How many turns the conversation takes at most.")
    max_tool_calls: int | None = Field(default=None, description="A limit, for efficiency only.")


def as_scenario(
    draft: Draft, tags: Sequence[str], made_from: Mapping[str, Any], script: Sequence[str] = ()
) -> dict[str, Any]:
    """The mapping of a scenario file, without empty parts. `script` has the user's later words."""
    facts = _filled({"known_facts": _lines(draft.known_facts), "unknown_facts": _lines(draft.unknown_facts)})
    user = {
        "persona": draft.persona.strip(),
        "initial_query": draft.initial_query.strip(),
        "max_turns": 1 + len(script) if script else draft.max_turns,
        "clarification_behavior": facts,
        "script": list(script),
    }
    tools = {
        "required_tools": _lines(draft.required_tools),
        "prohibited_tools": _lines(draft.prohibited_tools),
    }
    evaluation = {
        "correctness_criteria": _lines(draft.correctness_criteria),
        "failure_criteria": _lines(draft.failure_criteria),
        "tool_usage": _filled(tools),
        "efficiency": _filled({"max_tool_calls": draft.max_tool_calls}),
    }
    return {
        "name": one_line(draft.name)[:MOST_NAME].strip(),
        "description": draft.description.strip(),
        "synthetic_user": _filled(user),
        "evaluation": _filled(evaluation),
        "tags": list(tags),
        "metadata": {"generated": dict(made_from)},
    }


def with_greeting(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The same where the agent speaks first."""
    return {**scenario, "synthetic_user": {**scenario["synthetic_user"], "first": "agent"}}


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, [], {}, "")}


def _lines(values: Sequence[str]) -> list[str]:
    """The texts, trimmed, without blank and repeated ones."""
    return list(dict.fromkeys(one_line(value).strip() for value in values if value.strip()))
