"""The recording of a conversation's model calls, as the gateway asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from ..llm.agent_replay import AgentModelCalls, AgentRequest, CountedCall
from ..llm.recorded_answer import KEPT_HEADERS, RecordedAnswer
from .exchange import Answered, Asked


class RecordedTape:
    """A `Tape` that replays and records the calls of one trial."""

    def __init__(self, calls: AgentModelCalls) -> None:
        self._calls = calls
        # By identity: equal requests are different calls. Each is kept, so that no other one gets its id.
        self._made: dict[int, tuple[Asked, CountedCall]] = {}
        self._lacking: set[int] = set()

    def recorded(self, asked: Asked, turn: int, said: Sequence[str]) -> Answered | None:
        """The recorded answer; None if the call is to be made.

        Raises `ReplayMiss`, `RecordingUnusable` and `SettingsError`.
        """
        counted = self._calls.begin(AgentRequest(asked.method, asked.path, asked.body, turn, said))
        answer = self._calls.answer(counted)
        if answer is None:
            self._made[id(asked)] = asked, counted
            self._lacking.add(id(asked))
            return None
        return Answered(answer.status, answer.body, answer.headers)

    def keep(self, asked: Asked, answered: Answered, turn: int, seconds: float) -> None:
        """Record the answer to a call that was made."""
        _, counted = self._made.get(id(asked), (asked, None))
        if counted is None:
            return
        headers = {name: answered.headers[name] for name in KEPT_HEADERS if name in answered.headers}
        if self._calls.keep(counted, RecordedAnswer(answered.status, answered.body, headers, seconds)):
            # A replay answers the first of several attempts with what the last one got. Of equal calls that
            # are made at once, the answers come in any order: each of them is recorded.
            self._lacking -= {
                key
                for key, (_, other) in self._made.items()
                if other.fingerprint.digest == counted.fingerprint.digest and other.repeat <= counted.repeat
            }

    def lacks(self, asked: Asked) -> bool:
        """Whether the call was made, and neither its answer nor that of an equal later one is recorded."""
        return id(asked) in self._lacking

    def none_came(self) -> None:
        """Raise `ReplayMiss` if only recorded calls may be made, and some are recorded."""
        self._calls.none_came()
