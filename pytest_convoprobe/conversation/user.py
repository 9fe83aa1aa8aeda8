"""The user of a scenario: its opening, its script, and a model for what the script leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from .. import prompts
from ..scenario.earlier_messages import said_before
from ..scenario.models import ScriptedAnswer, SimulatedTurns, SyntheticUser
from ..scenario.rules import is_open, turns_of
from ..start_time import in_words
from ..transcript import Origin, Turn, with_user
from .port import Status, UserMessage
from .simulated import Direction, SimulatedUser

PATIENCE: Mapping[str, int] = {"low": 1, "medium": 3, "high": 6}
"""How many clarifying questions a user answers before it shows that it is tired of them."""

_UNTIL_DONE = "until_done"


def persona_values(user: SyntheticUser, now: datetime | None = None) -> dict[str, Any]:
    """What the `synthetic_user` prompt needs to know of a scenario's user, and of when it begins to talk."""
    behaviour = user.clarification_behavior
    known = [landmark.instruction for landmark in user.landmarks if landmark.turn == 1]
    return {
        "now": in_words(now) if now else "",
        "persona": user.persona,
        "background": [*known, *_beginning(user)],
        "known_facts": behaviour.known_facts,
        "unknown_facts": behaviour.unknown_facts,
        "patience": PATIENCE[behaviour.traits.patience],
        "may_give_up": behaviour.traits.patience == "low",
        "verbosity": behaviour.traits.verbosity,
        "expertise": behaviour.traits.expertise,
    }


def _beginning(user: SyntheticUser) -> Iterator[str]:
    """What the user knows of how the conversation begins, where that is out of the ordinary."""
    if user.history:
        yield prompts.render("before/user_history", history=said_before(user.history))
    if not user.initial_query:
        yield prompts.render("before/user_answers")


def unsaid(user: SyntheticUser, turns: int) -> int:
    """How many literal messages of the scenario come after so many turns of the user."""
    # The opening is turn 1 and not part of the script. It is unsaid where the agent ended with its greeting.
    rest = tuple(_turn_by_turn(user.script))[max(0, turns - 1) :]
    return sum(isinstance(part, str) for part in rest) + (turns == 0 and bool(user.initial_query))


class ScenarioUser:
    """Says the opening, then what the script says; `simulated` speaks where the script leaves it to a model.

    Without an opening, it answers the agent's greeting in words of its own.

    Without a script every message after the opening is simulated. With one, the message of its
    last turn is the user's last. The user is not done before that, nor while a landmark is
    still ahead, but it may give up in any simulated turn.
    """

    def __init__(self, user: SyntheticUser, simulated: SimulatedUser) -> None:
        self._opening = user.initial_query
        self._simulated = simulated
        self._landmarks = {landmark.turn: landmark.instruction for landmark in user.landmarks}
        free = (SimulatedTurns(simulate=_UNTIL_DONE),)
        self._plan = tuple(_turn_by_turn(user.script)) if user.script else free

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        """The next message of the scenario; see `UserSimulator`."""
        number = len(with_user(turns)) + 1
        if number == 1:
            # A script that only has answers ends with the opening.
            status = Status.CONTINUE if self._plan else Status.DONE
            first = await self._first(turns)
            return first if first.status is Status.GAVE_UP else replace(first, status=status)
        part = self._part(number)
        if isinstance(part, str):
            message = UserMessage(part, origin=Origin.SCRIPT)
        else:
            message = await self._simulated.next_message(turns, self._direction(part, number))
        # A model that gave up in the last turn keeps that: reports distinguish the two.
        ends_here = self._is_last(number) and message.status is Status.CONTINUE
        return replace(message, status=Status.DONE) if ends_here else message

    async def _first(self, turns: Sequence[Turn]) -> UserMessage:
        if self._opening:
            return UserMessage(self._opening, origin=Origin.INITIAL)
        return await self._simulated.next_message(turns, Direction(may_end=False))

    def _part(self, number: int) -> str | SimulatedTurns:
        """What the plan has for a turn; turn 1 is the opening, and the last part may go on for ever."""
        return self._plan[min(number - 2, len(self._plan) - 1)]

    def _is_last(self, number: int) -> bool:
        return number - 1 == len(self._plan) and not is_open(self._plan[-1])

    def _direction(self, part: SimulatedTurns, number: int) -> Direction:
        instructions = [part.instruction, self._landmarks.get(number)]
        landmark_ahead = any(turn > number for turn in self._landmarks)
        may_end = (is_open(part) or self._is_last(number)) and not landmark_ahead
        return Direction(tuple(text for text in instructions if text), may_end)


def _turn_by_turn(script: Sequence[str | SimulatedTurns | ScriptedAnswer]) -> Iterator[str | SimulatedTurns]:
    """A script's part for each of its turns; a part without a number of turns comes once, at the end."""
    for part in script:
        if not isinstance(part, ScriptedAnswer):
            yield from [part] * turns_of(part)
