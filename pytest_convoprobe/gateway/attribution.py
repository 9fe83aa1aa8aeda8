"""Finds out whose a request is that came to the address of the session: of all conversations in flight.

What counts first are ids that only one of them has got from a model (a call of a tool, an earlier response).
Then the user's message that is being answered, which the request contains. Of several, the one that is the
last message of the user's; then the one whose earlier turns are in the request too, the one with the longer
message, the one that comes last. Two turns with the same message are never in flight together (see
`turns.py`), so there is never a tie. Then whatever else only one of them has got from a model in this turn:
agents pass on what their models have written. Last, an agent that greets calls its model without a message of
the user's, or with one from before the conversation. It is never in flight with another one (see `turns.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from .exchange import Answered
from .texts import LEAST_ID, RequestTexts, contents_of_answer

_LEAST_TEXT = 16
"""Characters from which a text of a model's is taken for its own."""
_MOST_SEEN = 2000
"""How many texts are remembered of one conversation."""


@dataclass(frozen=True)
class TurnInFlight:
    """The turn that an agent is answering. `earlier` are the user's messages before it, and the replies.

    `message` is empty where the agent greets.
    """

    turn: int
    message: str
    earlier: Sequence[tuple[str, str]] = ()


class SeenTexts:
    """What one conversation's agent has got from its models: ids, and the texts of the turn in flight."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._texts: dict[str, None] = {}

    def new_turn(self) -> None:
        """Forget the texts: where two conversations take the same way, one is ahead of the other."""
        self._texts.clear()

    def learn(self, answered: Answered) -> None:
        """Remember what an answer contains."""
        texts, ids = contents_of_answer(answered)
        _add(self._ids, (one for one in ids if len(one) >= LEAST_ID))
        _add(self._texts, (one for one in texts if len(one) >= _LEAST_TEXT))

    def ids_in(self, request: RequestTexts) -> frozenset[str]:
        return frozenset(one for one in request.ids if one in self._ids)

    def texts_in(self, request: RequestTexts) -> frozenset[str]:
        return frozenset(one for one in self._texts if request.place_of(one) >= 0)


def _add(known: dict[str, None], found: Iterable[str]) -> None:
    known.update((one, None) for one in islice(found, max(0, _MOST_SEEN - len(known))))


class Attributable(Protocol):
    """What is needed of a conversation to find out which requests are its own."""

    @property
    def in_flight(self) -> TurnInFlight | None: ...

    @property
    def seen(self) -> SeenTexts: ...


@dataclass(frozen=True, order=True)
class Claim:
    """How well a request fits a conversation: the higher, the better. Those of several sessions compare.

    `kind` is 2 for ids, 1 for the message, 0 for other texts, -1 for a greeting. The rest is about the
    message: 1 if it is all that was asked, how much of the earlier turns is there, how long it is, and where
    it ends.
    """

    kind: int
    asked: int = 0
    explained: int = 0
    length: int = 0
    place: int = 0


def claim_of(request: RequestTexts, conversations: Iterable[Attributable]) -> tuple[int, Claim] | None:
    """The place of the conversation that a request belongs to, and how sure that is; None if it isn't."""
    talks = {place: one for place, one in enumerate(conversations) if one.in_flight is not None}
    by_id = _only_one({place: one.seen.ids_in(request) for place, one in talks.items()})
    if by_id is not None:
        return by_id, Claim(2)
    turns = {place: one.in_flight for place, one in talks.items() if one.in_flight is not None}
    said = {place: fit for place, turn in turns.items() if (fit := _fit(request, turn)) is not None}
    if said:
        # Equal messages may be in flight where conversations have an address of their own.
        best = max(said.values())
        found = _single(place for place, fit in said.items() if fit == best)
        return None if found is None else (found, best)
    by_text = _only_one({place: one.seen.texts_in(request) for place, one in talks.items()})
    if by_text is not None:
        return by_text, Claim(0)
    greeting = _single(place for place, turn in turns.items() if _may_greet(request, turn))
    return None if greeting is None else (greeting, Claim(-1))


def _may_greet(request: RequestTexts, turn: TurnInFlight) -> bool:
    """Whether it may be the call of an agent that speaks first: nobody asks it anything new."""
    said = [user for user, _ in turn.earlier if user]
    return not turn.message and (request.asks_nothing or any(map(request.is_asked, said)))


def _fit(request: RequestTexts, turn: TurnInFlight) -> Claim | None:
    place = request.place_of(turn.message)
    if place < 0:
        return None
    earlier = [text for turn_before in turn.earlier for text in turn_before if text]
    there = sum(request.place_of(text) >= 0 for text in earlier)
    asked = int(request.is_asked(turn.message))
    return Claim(1, asked, 2 * there - len(earlier), len(turn.message), place)


def _only_one(found: Mapping[int, frozenset[str]]) -> int | None:
    """The place that has something which no other has; None if there is none, or more than one."""
    return _single(
        place
        for place, texts in found.items()
        if texts.difference(*(other for at, other in found.items() if at != place))
    )


def _single(places: Iterable[int]) -> int | None:
    every = list(places)
    return every[0] if len(every) == 1 else None
