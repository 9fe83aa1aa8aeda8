"""A user that a language model speaks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import prompts
from ..errors import ReplayMiss, SimulatorError, StructuredReplyError
from ..llm.port import LLM, CallContext, LLMRequest, Message, Role
from ..llm.structured import ask
from ..settings.model_settings import ModelSettings
from ..text import is_blank, shorten
from ..thoughts import without_thoughts
from ..transcript import Turn, with_user
from .guard import excerpt, fault, says_goodbye
from .guard_question import read_message
from .port import Status, UserMessage
from .reply import UserReply
from .suspicion import suspect
from .swapped_roles import said, swapped

_SHOWN = 300


@dataclass(frozen=True)
class Direction:
    """Instructions for the user's next message alone, as a director gives them to an actor.

    `may_end` says whether the user may be done with that message. It may always give up.
    """

    instructions: tuple[str, ...] = ()
    may_end: bool = True


_FREE = Direction()


@dataclass(frozen=True)
class _Said:
    """A message with its `fault`, if any, and whether it is a goodbye after another one."""

    message: UserMessage
    fault: str | None
    leaves_again: bool


class SimulatedUser:
    """Asks a model for each message of the user; a guard looks at it before the target does.

    `prompt` is the name of the system prompt and `values` what it is filled in with; on top of
    them it gets `instructions` and `may_end` (of the `Direction`) and `extra_instructions` (of the
    model's settings). It may also open the conversation: without turns it is asked for the
    first message. With `asks_guard`, the guard asks the model about messages in languages that its rules
    don't know. Recordings of earlier releases have no such calls: with `guard_may_be_unrecorded`, a call
    that a replay can't answer leaves it to the rules.
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
        asks_guard: bool = False,
        guard_may_be_unrecorded: bool = False,
    ) -> None:
        self._llm = llm
        self._model = model
        self._values = dict(values)
        self._prompt = prompt
        self._context = CallContext(Role.SYNTHETIC_USER, scenario, trial)
        self._asks_guard = asks_guard
        self._guard_may_be_unrecorded = guard_may_be_unrecorded

    async def next_message(self, turns: Sequence[Turn], direction: Direction = _FREE) -> UserMessage:
        """The next message; one that no user would write is asked for again, once.

        Raises `SimulatorError` if the second has a fault too, or if the model never replies
        in the format that was asked for.
        """
        request = self._request(turns, direction)
        spoken = await self._said(request, turns, direction)
        if spoken.fault is not None:
            spoken = await self._said(_repair(request, spoken.message, spoken.fault), turns, direction)
            _refuse(spoken.fault, spoken.message, request.context.turn)
        return replace(spoken.message, status=_settled(spoken, direction.may_end))

    async def _said(self, request: LLMRequest, turns: Sequence[Turn], direction: Direction) -> _Said:
        """A message, and what the guard finds in it."""
        message = await self._ask(request)
        found = fault(message, turns, may_end=direction.may_end)
        if found is None and self._asks_guard and suspect(message.text, turns, self._facts):
            try:
                return await self._read(message, request.context, turns)
            except ReplayMiss:
                if not self._guard_may_be_unrecorded:
                    raise
        leaves = bool(turns) and says_goodbye(message.text) and says_goodbye(turns[-1].user)
        return _Said(message, found, leaves)

    async def _read(self, message: UserMessage, context: CallContext, turns: Sequence[Turn]) -> _Said:
        """The same by a question to the model, for what the rules can't read."""
        read = await read_message(self._llm, self._model, context, message.text, turns)
        found = f"it talks as the assistant ({excerpt(message.text)})" if read.by_assistant else None
        return _Said(message, found, bool(turns) and read.takes_leave and read.took_leave_before)

    @property
    def _facts(self) -> Sequence[str]:
        facts: Sequence[str] = self._values.get("known_facts", ())
        return facts

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
            replace(self._context, turn=len(with_user(turns)) + 1),
            schema_name="user_reply",
        )

    async def _ask(self, request: LLMRequest) -> UserMessage:
        try:
            reply = await ask(self._llm, request, UserReply)
        except StructuredReplyError as error:
            raise SimulatorError(f"turn {request.context.turn}: {error}") from error
        # The target must not see thoughts. The rest may be a good message, so it isn't asked for again.
        said, _ = without_thoughts(reply.message)
        # A message of invisible characters would look empty in every report.
        return UserMessage("" if is_blank(said) else said.strip(), Status(reply.status))


def _repair(request: LLMRequest, message: UserMessage, found: str) -> LLMRequest:
    again = Message("user", prompts.render("guard_repair", fault=found))
    return replace(request, messages=(*request.messages, said(message), again))


def _refuse(found: str | None, message: UserMessage, turn: int) -> None:
    if found is not None:
        raise SimulatorError(
            f"turn {turn}: the synthetic user wrote what no user would, also when asked again: {found}. "
            f"It wrote: {shorten(message.text, _SHOWN)!r}"
        )


def _settled(spoken: _Said, may_end: bool) -> Status:
    """The status that counts: nobody leaves before their time, and nobody says goodbye for ever."""
    status = spoken.message.status
    if status is Status.DONE and not may_end:
        return Status.CONTINUE
    return Status.DONE if status is Status.CONTINUE and may_end and spoken.leaves_again else status
