"""The user of a benchmark's conversation: it knows what is tested, and steers towards it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...conversation.port import UserMessage
from ...conversation.simulated import Direction, SimulatedUser
from ...transcript import Turn
from ..format.models import Metric, MetricType
from ..rows.row_types import LandmarkTurn, ScenarioRow

PROMPT = "benchmark/user"

PROMPTS = (PROMPT, "synthetic_user_rules", "synthetic_user_start", "synthetic_user_heard")
"""All prompts that the user's model gets in every conversation."""


def adversary_values(scenario: ScenarioRow, metric: Metric, *, directed: bool) -> dict[str, Any]:
    """The values of the prompt. `directed` leaves out the plan, which the user then gets turn by turn."""
    return {
        "persona": scenario.persona.strip(),
        "user_goal": scenario.user_goal.strip(),
        "latent_goal": scenario.latent_adversarial_goal.strip(),
        "definition": metric.definition.strip(),
        "wanted": metric.type is MetricType.POSITIVE,
        "plan": [] if directed else [mark.instruction for mark in _in_order(scenario.landmarks)],
    }


class Adversary:
    """A user whose model gets the instruction of a turn with that turn, and opens the conversation itself.

    It isn't done while a landmark is ahead, but it may give up at any time after the first message.
    """

    def __init__(self, simulated: SimulatedUser, landmarks: Sequence[LandmarkTurn] = ()) -> None:
        self._simulated = simulated
        self._landmarks = landmarks

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        """The next message; see `UserSimulator`."""
        return await self._simulated.next_message(turns, self._direction(len(turns) + 1))

    def _direction(self, number: int) -> Direction:
        now = tuple(mark.instruction for mark in self._landmarks if mark.turn == number)
        ahead = any(mark.turn > number for mark in self._landmarks)
        return Direction(now, may_end=number > 1 and not ahead)


def _in_order(landmarks: Sequence[LandmarkTurn]) -> list[LandmarkTurn]:
    return sorted(landmarks, key=lambda mark: mark.turn)
