from __future__ import annotations

from collections.abc import Sequence

from pytest_convoprobe.conversation.earlier_turns import Repeating
from pytest_convoprobe.conversation.port import Status, UserMessage
from pytest_convoprobe.transcript import Origin, Reply, Turn

EARLIER = (
    Turn(1, "Hello", Reply("Hi"), Origin.INITIAL),
    Turn(2, "Again", Reply("Yes?"), Origin.SCRIPT),
)


class Live:
    async def next_message(self, turns: Sequence[Turn]) -> UserMessage:
        return UserMessage(f"live after {len(turns)}", Status.DONE)


async def test_what_was_said_is_said_again_and_then_the_user_is_live() -> None:
    user, turns, said = Repeating(EARLIER, Live()), [], []
    for number in range(1, 4):
        said.append(await user.next_message(turns))
        turns.append(Turn(number, said[-1].text, Reply("something else")))
    assert said == [
        UserMessage("Hello", origin=Origin.INITIAL),
        UserMessage("Again", origin=Origin.SCRIPT),
        UserMessage("live after 2", Status.DONE),
    ]
