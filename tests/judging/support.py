"""Short ways to say a scenario and a conversation."""

from __future__ import annotations

from typing import Any

from pytest_convoprobe.scenario.models import Evaluation, Scenario
from pytest_convoprobe.transcript import Reply, Termination, ToolCall, Transcript, Turn


def talk(
    *turns: tuple[str, Reply | str],
    ended: Termination | None = Termination.USER_DONE,
    pending: str | None = None,
) -> Transcript:
    """A conversation of (user's message, reply) pairs."""
    replies = [(user, Reply(reply) if isinstance(reply, str) else reply) for user, reply in turns]
    numbered = tuple(Turn(number, user, reply) for number, (user, reply) in enumerate(replies, start=1))
    return Transcript(numbered, ended, pending)


def calling(*turns: list[ToolCall]) -> Transcript:
    """A conversation with these tool calls, turn by turn."""
    return talk(*(("Please", Reply("Done", tuple(calls))) for calls in turns))


def call(name: str, **arguments: Any) -> ToolCall:
    """A call that gave back nothing."""
    return ToolCall(name, arguments)


def evaluation(**sections: Any) -> Evaluation:
    """An evaluation with one criterion, unless others are given."""
    return Evaluation.model_validate({"correctness_criteria": ["The agent answers"], **sections})


def scenario(**sections: Any) -> Scenario:
    """A scenario with this evaluation."""
    user = {"persona": "Someone", "initial_query": "Hi"}
    return Scenario(
        name="Weather",
        description="Tests the weather",
        synthetic_user=user,
        evaluation=evaluation(**sections),
    )
