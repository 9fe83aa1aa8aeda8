"""Answers calls from a recording, and records the calls that it cannot answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from ..errors import (
    Blame,
    ConvoprobeError,
    JudgeError,
    NoTokenChances,
    ReplayMiss,
    SimulatorError,
    StructuredReplyError,
)
from ..redaction import Redactor
from .agent_replay import AgentModelCalls
from .fingerprint import Fingerprint, Fingerprints
from .misses import miss
from .port import LLM, LLMReply, LLMRequest, Role
from .recording import Mode, Recording
from .recording_format import RecordedCall

T = TypeVar("T")

_UNUSABLE = (StructuredReplyError, SimulatorError, JudgeError, NoTokenChances)
"""Unusable replies. They are not recorded: a model may do better next time, a recording never will."""


class Replaying:
    """The models of one trial of one scenario, by way of its recording.

    `off` passes every call on. `auto` replays recorded calls and records the others. `only` raises
    `ReplayMiss` for a call that is not recorded, and never uses `inner`. `record` passes every call on and
    records it again. A replayed reply has `replayed` set and no attempts, because nothing is spent for it
    now. Its usage and cost are those of the recording.

    The recording is written only at the end of the trial: wrap it with `around`, or call `finish` after it.
    The calls that the agent made itself, if there is a gateway for them, are written with the others.
    """

    def __init__(
        self,
        inner: LLM,
        recording: Recording,
        mode: Mode,
        redactor: Redactor | None = None,
        agent: AgentModelCalls | None = None,
    ) -> None:
        self._inner = inner
        self._recording = recording
        self._mode = mode
        self._agent = agent
        self._redactor = redactor or Redactor()
        self._fingerprints = Fingerprints(self._redactor)
        self._made: Counter[tuple[Role, int]] = Counter()
        self._equal: Counter[tuple[Role, int, str]] = Counter()
        self._replayed: list[RecordedCall] = []
        self._trial = 1
        self._added = False

    @cached_property
    def _earlier_fingerprints(self) -> tuple[Fingerprints, ...]:
        """When an old recording was made, less was masked: there, the same call has another fingerprint."""
        return tuple(map(Fingerprints, self._redactor.earlier()))

    async def complete(self, request: LLMRequest) -> LLMReply:
        """The reply to one call, recorded or live."""
        if self._mode == "off":
            return await self._inner.complete(request)
        # Counted before anything is awaited: which call gets which reply must not depend on timing.
        fingerprint, ordinal, repeat = self._place(request)
        context = request.context
        if self._mode != "record":
            call = self._recorded(request, fingerprint, repeat)
            if call is not None:
                self._replayed.append(replace(call, ordinal=ordinal))
                return self._as_said(call.reply, context.role)
        # The check comes after the look-up: a miss names what differs from the nearest recorded call.
        if self._mode == "only":
            used = frozenset(used.request.digest for used in self._replayed)
            raise ReplayMiss(miss(self._recording, context, fingerprint, ordinal, repeat, used))
        return await self._live(request, fingerprint, ordinal)

    async def aclose(self) -> None:
        """Close the live models."""
        await self._inner.aclose()

    async def around(self, trial: Awaitable[T]) -> T:
        """Run the trial; record its calls unless replaying them could only repeat a failure."""
        kept, complete = True, False
        try:
            outcome = await trial
            complete = True
            return outcome
        except _UNUSABLE:
            kept = False
            raise
        except ConvoprobeError as error:
            # A crash of the agent is a finding. A recording of any other failure would only repeat it.
            complete = error.blame is Blame.AGENT
            raise
        finally:
            if kept:
                await self.finish(complete=complete)

    async def finish(self, *, complete: bool) -> None:
        """Write what was recorded. `complete` says that the trial came to its end.

        After a complete trial, the recording contains exactly its calls, so no outdated calls pile up. An
        interrupted trial (cancelled, or a provider is down) adds to the recording under `auto`, and does not
        change it under `record`. Raises `RecordingUnusable`.
        """
        if self._redactor.problem is not None:
            return  # texts in it are withheld: no replay could go on with them
        if not (self._added or (self._agent and self._agent.added)) or (
            self._mode == "record" and not complete
        ):
            return
        # Writing waits for the disk, and for other processes that write. It must not block the loop.
        await asyncio.to_thread(self._save, complete)

    def _save(self, complete: bool) -> None:
        if complete:
            agent = self._agent
            trial = self._trial if self._added or agent is None else agent.trial
            self._recording.save(instead_of=trial, keep=[*self._replayed, *(agent.replayed if agent else ())])
        else:
            self._recording.save()

    def _recorded(self, request: LLMRequest, fingerprint: Fingerprint, repeat: int) -> RecordedCall | None:
        context = request.context
        place = context.trial, context.role, context.turn
        call = self._recording.lookup(*place, fingerprint, repeat)
        for earlier in () if call else self._earlier_fingerprints:
            call = call or self._recording.lookup(*place, earlier.of(request), repeat)
        return call

    def _place(self, request: LLMRequest) -> tuple[Fingerprint, int, int]:
        """The call's fingerprint, its number in the turn, and its number among equal ones."""
        fingerprint, context = self._fingerprints.of(request), request.context
        turn = (context.role, context.turn)
        same = (*turn, fingerprint.digest)
        self._made[turn] += 1
        self._equal[same] += 1
        return fingerprint, self._made[turn], self._equal[same]

    async def _live(self, request: LLMRequest, fingerprint: Fingerprint, ordinal: int) -> LLMReply:
        # Before money is spent: the file may come from a later release, and must not be overwritten.
        if self._mode == "record" and not self._added:
            self._recording.check()
        reply = await self._inner.complete(request)
        context = request.context
        self._recording.add(
            RecordedCall(
                context.trial, context.role, context.turn, ordinal, fingerprint, self._harmless(reply)
            )
        )
        # Only now: a failed call leaves nothing to write.
        self._trial, self._added = context.trial, True
        return reply

    def _as_said(self, reply: LLMReply, role: Role) -> LLMReply:
        """A recorded reply. Where a conversation goes on with it, known personal data is put back.

        The agent gets a real address then. The judge has quoted a conversation with placeholders.
        """
        return self._redactor.restored(reply) if role in (Role.SYNTHETIC_USER, Role.TARGET) else reply

    def _harmless(self, reply: LLMReply) -> LLMReply:
        """The reply without secrets, as it is stored."""
        asked = (replace(tool, arguments=self._redactor.text(tool.arguments)) for tool in reply.tool_requests)
        likely = {self._redactor.text(token): chance for token, chance in reply.top_tokens.items()}
        text = self._redactor.text(reply.text)
        thoughts = self._redactor.text(reply.thoughts)
        return replace(reply, text=text, tool_requests=tuple(asked), top_tokens=likely, thoughts=thoughts)
