"""The user of a scenario: its opening, its script, and a model for what the script leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..scenario.models import SimulatedTurns, SyntheticUser
from ..transcript import Origin, Turn
from .port import Status, UserMessage
from .simulated import Direction, Ending, SimulatedUser

PATIENCE: Mapping[str, int] = {"low": 1, "medium": 3, "high": 6}
"""How many clarifying questions a user answers before it shows that it is tired of them."""

_TO_THE_END = SimulatedTurns(simulate="until_done")


def persona_values(user: SyntheticUser) -> dict[str, Any]:
    """What the `synthetic_user` prompt needs to know of a scenario's user."""
    behaviour = user.clarification_behavior
    return {
        "persona": user.persona.strip(),
        "known_facts": behaviour.known_facts,
        "unknown_facts": behaviour.unknown_facts,
        "patience": PATIENCE[behaviour.traits.patience],
        "may_give_up": behaviour.traits.patience == "low",
        "verbosity": behaviour.traits.verbosity,
        "expertise": behaviour.traits.expertise,
    }


class ScenarioUser:
    """Says the opening, then what the script says; `simulated` speaks where the script leaves it to a model.

    Without a script all messages after the opening are simulated. A simulated part of a script
    ends when its messages are used up or the user is done with it; a user that gives up ends
    the talk at any point. The last message of the script is the user's last one. The talk doesn't
    end while a landmark is still ahead.
    """

    def __init__(self, user: SyntheticUser, simulated: SimulatedUser) -> None:
        self._user = user
        self._simulated = simulated
        self._script: tuple[str | SimulatedTurns, ...] = tuple(user.script) or (_TO_THE_END,)
        self._position = 0
        self._said_in_part = 0

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        """The next message of the scenario; see `UserSimulator`."""
        if not turns:
            return UserMessage(self._user.initial_query, origin=Origin.INITIAL)
        part = self._script[self._position]
        if isinstance(part, str):
            return self._part_ends_with(UserMessage(part, origin=Origin.SCRIPT))
        message = await self._simulated.next_message(turns, self._direction(part, len(turns) + 1))
        self._said_in_part += 1
        if message.status is Status.DONE or self._said_in_part == part.simulate:
            return self._part_ends_with(message)
        return message

    def _part_ends_with(self, message: UserMessage) -> UserMessage:
        if message.status is Status.GAVE_UP:
            return message
        status = Status.DONE if self._is_last_part else Status.CONTINUE
        self._position += 1
        self._said_in_part = 0
        return replace(message, status=status)

    @property
    def _is_last_part(self) -> bool:
        return self._position == len(self._script) - 1

    def _direction(self, part: SimulatedTurns, turn: int) -> Direction:
        now = [landmark.instruction for landmark in self._user.landmarks if landmark.turn == turn]
        if part.instruction is not None:
            now.insert(0, part.instruction)
        return Direction(tuple(now), self._ending(turn))

    def _ending(self, turn: int) -> Ending:
        if not self._is_last_part:
            return Ending.PART
        ahead = any(turn < landmark.turn <= self._user.max_turns for landmark in self._user.landmarks)
        return Ending.NOT_YET if ahead else Ending.TALK
