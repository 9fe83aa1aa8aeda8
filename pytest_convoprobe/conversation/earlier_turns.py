"""A user that begins as in an earlier conversation and goes on live."""

from __future__ import annotations

from collections.abc import Sequence

from ..transcript import Turn, with_user
from .port import UserMessage, UserSimulator


class Repeating:
    """Says word for word what was said in `earlier`, turn by turn, then leaves the rest to `user`.

    Only the messages are repeated. The replies are those of the target as it is now, and the
    user goes on from them.
    """

    def __init__(self, earlier: Sequence[Turn], user: UserSimulator) -> None:
        self._earlier = with_user(earlier)  # to greet is up to the agent
        self._user = user

    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        """The next message; see `UserSimulator`."""
        number = len(with_user(turns))
        if number < len(self._earlier):
            again = self._earlier[number]
            return UserMessage(again.user, origin=again.origin)
        return await self._user.next_message(turns)
