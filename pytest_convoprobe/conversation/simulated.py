"""A user that a language model speaks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import prompts
from ..errors import SimulatorError, StructuredReplyError
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..settings.models import ModelSettings
from ..text import shorten
from ..thoughts import without_thoughts
from ..transcript import Turn
from .guard import fault, says_goodbye
from .port import Status, UserMessage
from .reply import UserReply
from .swapped_roles import said, swapped

_SHOWN = 300


@dataclass(frozen=True)
class Direction:
    """What the user is told for its next message alone, as an actor is by a director.

    `may_end` says whether the user may be done with that message. It may always give up.
    """

    instructions: tuple[str, ...] = ()
    may_end: bool = True


_FREE = Direction()


class SimulatedUser:
    """Asks a model for each message of the user; a guard looks at it before the target does.

    `prompt` is the name of the system prompt and `values` what it is filled in with; on top of
    them it gets `instructions` and `may_end` (of the `Direction`) and `extra_instructions` (of the
    model's settings). It may also open the conversation: without turns it is asked for the
    first message.
    """

    def __init__(
        self,
        llm: LLM,
        model: ModelSettings,
        *,
        values: Mapping[str, Any],
        prompt: str = "synthetic_user",
        scenario: str = "",
        trial: int = 1,
    ) -> None:
        self._llm = llm
        self._model = model
        self._values = dict(values)
        self._prompt = prompt
        self._context = CallContext(Role.SYNTHETIC_USER, scenario, trial)

    async def next_message(self, turns: Sequence[Turn], direction: Direction = _FREE) -> UserMessage:
        """The next message; one that no user would write is asked for again, once.

        Raises `SimulatorError` if the second is no better or the model never keeps to the
        shape it is asked for.
        """
        request = self._request(turns, direction)
        message = await self._ask(request)
        found = fault(message, turns, may_end=direction.may_end)
        if found is not None:
            message = await self._ask(_repair(request, message, found))
            _refuse(fault(message, turns, may_end=direction.may_end), message, request.context.turn)
        return replace(message, status=_settled(message, turns, direction.may_end))

    def _request(self, turns: Sequence[Turn], direction: Direction) -> LLMRequest:
        system = prompts.render(
            self._prompt,
            **self._values,
            instructions=direction.instructions,
            may_end=direction.may_end,
            extra_instructions=self._model.extra_instructions or "",
        )
        return LLMRequest(
            self._model,
            (Message("system", system), *swapped(turns)),
            replace(self._context, turn=len(turns) + 1),
            schema_name="user_reply",
        )

    async def _ask(self, request: LLMRequest) -> UserMessage:
        try:
            reply = await ask(self._llm, request, UserReply)
        except StructuredReplyError as error:
            raise SimulatorError(f"turn {request.context.turn}: {error}") from error
        # Thoughts are no words of a person; where the rest may be said, nothing needs to be asked again.
        said, _ = without_thoughts(reply.message)
        return UserMessage(said.strip(), Status(reply.status))


def _repair(request: LLMRequest, message: UserMessage, found: str) -> LLMRequest:
    again = Message("user", prompts.render("guard_repair", fault=found))
    return replace(request, messages=(*request.messages, said(message), again))


def _refuse(found: str | None, message: UserMessage, turn: int) -> None:
    if found is not None:
        raise SimulatorError(
            f"turn {turn}: the synthetic user wrote what no user would, also when asked again: {found}. "
            f"It wrote: {shorten(message.text, _SHOWN)!r}"
        )


def _settled(message: UserMessage, turns: Sequence[Turn], may_end: bool) -> Status:
    """The status that counts: nobody leaves before their time, and nobody says goodbye for ever."""
    if message.status is Status.DONE and not may_end:
        return Status.CONTINUE
    takes_leave_again = turns and says_goodbye(message.text) and says_goodbye(turns[-1].user)
    if message.status is Status.CONTINUE and may_end and takes_leave_again:
        return Status.DONE
    return message.status
