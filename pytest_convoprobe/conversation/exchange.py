"""One message and the whole reply to it: what the agent asks a person meanwhile is answered at once."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import replace

from ..cutting import MOST_TEXT, at_most, cut_text, noticed
from ..errors import ScenarioError
from ..excerpts import fitting
from ..targets.port import SoFar, TargetConversation, greet, resume, so_far
from ..transcript import GREETING_TURN, PendingRequest, Reply, ToolCall, Usage
from .port import Approver

MOST_ROUNDS = 20
"""How often an agent may wait for answers within one turn."""


class Exchange:
    """Sends messages, and has `approver` answer what comes up before the reply is complete.

    A question that it doesn't answer is the agent's reply: the next message answers it. An approval can't be
    left to a message, since words are no permission.
    """

    def __init__(self, target: TargetConversation, approver: Approver, max_text: int = MOST_TEXT) -> None:
        self._max_text = max_text
        self._target = target
        self._approver = approver
        self._waiting: tuple[PendingRequest, ...] = ()
        self._failed = SoFar()
        self.so_far = SoFar()
        """What was done for the message that failed."""

    async def sent(self, message: str, turn: int) -> Reply:
        """The whole reply to the message of this turn. Raises `ScenarioError` for an unanswered approval."""
        return await self._whole(self._first(message), turn)

    async def greeting(self, cue: str) -> Reply:
        """The whole of what the agent says first. Raises `TargetStartError` if it can't speak first."""
        return await self._whole(self._from_target(greet(self._target, cue)), GREETING_TURN)

    async def _whole(self, first: Awaitable[Reply], turn: int) -> Reply:
        rounds: list[Reply] = []
        try:
            rounds.append(await first)
            while answered := self._answers(rounds, turn):
                rounds.append(await self._rest(answered))
        except BaseException:
            self.so_far = _together(rounds, self._failed)
            raise
        with at_most(self._max_text):
            return whole_reply(rounds)

    async def _first(self, message: str) -> Reply:
        waiting, self._waiting = self._waiting, ()
        if not waiting:
            return await self._from_target(self._target.send(message))
        return await self._rest(tuple(replace(one, answer=message) if one.waits else one for one in waiting))

    async def _rest(self, answered: tuple[PendingRequest, ...]) -> Reply:
        return _with_refused(await self._from_target(resume(self._target, answered)), answered)

    async def _from_target(self, asking: Awaitable[Reply]) -> Reply:
        try:
            return await asking
        except BaseException as error:
            # A cancellation too: what the agent did before its time was up has been done.
            self._failed = so_far(error, self._target)
            raise

    def _answers(self, rounds: list[Reply], turn: int) -> tuple[PendingRequest, ...]:
        """What the last round waits for, with its answers; nothing if the next message has to answer."""
        pending = tuple(one for one in rounds[-1].pending if one.waits)
        if not pending:
            return ()
        if len(rounds) > MOST_ROUNDS:
            raise ScenarioError(
                f"turn {turn}: the agent waited for answers {MOST_ROUNDS} times before it replied, and waits "
                "again, which is more than a turn may have: ask for less in one message, or see why it asks"
            )
        before = sum(len(reply.tool_calls or ()) for reply in rounds)
        answered = self._approver.answered(pending, turn=turn, pause=len(rounds) - 1)
        rounds[-1] = replace(rounds[-1], pending=tuple(replace(one, after=before) for one in answered))
        self._require_permissions(answered, turn)
        if not any(one.waits for one in answered):
            return rounds[-1].pending
        if not all(one.waits for one in answered):
            # Some are answered already, which a message alone would not hand over.
            self._waiting = rounds[-1].pending
        return ()

    def _require_permissions(self, answered: Sequence[PendingRequest], turn: int) -> None:
        for one in answered:
            if one.waits and one.is_approval:
                asked = f"{one.tool}({fitting(dict(one.arguments))})" if one.tool else one.text or one.id
                raise ScenarioError(
                    f"turn {turn}: the agent waits for a permission that nothing answers: {fitting(asked)}. "
                    f"{self._approver.advice}"
                )


def whole_reply(rounds: Sequence[Reply]) -> Reply:
    """The rounds of one turn as one reply: the words below each other, all calls, and the tokens together."""
    if len(rounds) == 1:
        return _with_questions(rounds[0])
    reported = [reply.tool_calls for reply in rounds if reply.tool_calls is not None]
    usages = [reply.usage for reply in rounds if reply.usage is not None]
    text, was_cut = noticed(lambda: cut_text(_joined(reply.text for reply in rounds)))
    cut = (*(part for reply in rounds for part in reply.cut), *(["text"] if was_cut else []))
    return _with_questions(
        Reply(
            text=text,
            # Who reports its calls in one round only may have made others.
            tool_calls=_calls(rounds) if len(reported) == len(rounds) else None,
            usage=sum(usages, Usage()) if len(usages) == len(rounds) else None,
            ended=rounds[-1].ended,
            thoughts=_joined(reply.thoughts for reply in rounds),
            gaps={part: why for reply in rounds for part, why in reply.gaps.items()},
            cut=tuple(dict.fromkeys(cut)),
            pending=tuple(one for reply in rounds for one in reply.pending),
            startup=sum(reply.startup for reply in rounds),
        )
    )


def _with_questions(reply: Reply) -> Reply:
    """The questions that the user has to answer are words of the agent, wherever they came from."""
    asked = [_in_words(one) for one in reply.pending if one.waits]
    missing = [text for text in asked if text and text not in reply.text]
    return replace(reply, text=_joined((reply.text, *missing))) if missing else reply


def _in_words(question: PendingRequest) -> str:
    return "\n".join((question.text, *(f"- {choice}" for choice in question.choices))).strip()


def _with_refused(reply: Reply, answered: Sequence[PendingRequest]) -> Reply:
    """Calls that were refused are calls that were not carried out, also where the agent leaves them out."""
    refused = [one for one in answered if one.is_approval and one.tool and one.answer == "reject"]
    if reply.tool_calls is None:
        return reply  # one that reports nothing must not look as if it had called nothing else
    calls = reply.tool_calls
    missing = [_refused(one) for one in refused if not any(_is_of(call, one) for call in calls)]
    return replace(reply, tool_calls=(*missing, *calls)) if missing else reply


def _is_of(call: ToolCall, request: PendingRequest) -> bool:
    return call.id == request.id or (call.name == request.tool and call.arguments == request.arguments)


def _refused(request: PendingRequest) -> ToolCall:
    return ToolCall(request.tool, request.arguments, executed=False, id=request.id)


def _calls(rounds: Sequence[Reply]) -> tuple[ToolCall, ...]:
    return tuple(call for reply in rounds for call in reply.tool_calls or ())


def _together(rounds: Sequence[Reply], last: SoFar) -> SoFar:
    usages = [one for one in (*(reply.usage for reply in rounds), last.usage) if one is not None]
    asked = tuple(one for reply in rounds for one in reply.pending)
    return SoFar((*_calls(rounds), *last.calls), sum(usages, Usage()) if usages else None, asked)


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
