"""A target of the project's own, whose code runs on the project's event loop instead of ours."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ..errors import CloseTimeout, ConvoprobeError, LoopLost
from ..faults.spoiling import ToolFailed
from ..llm.port import LLM, LLMReply, LLMRequest
from ..project_code.agent_loops import CallTask, Home, LoopHome
from ..project_code.calls import Raised, in_own_thread
from ..project_code.clock import current_clock
from ..project_code.deadline import Deadline
from ..project_code.tracebacks import describe
from ..settings.target_section import TargetSection
from ..transcript import PendingRequest, Reply, ToolCall, Usage
from .availability import alone
from .failures import failure, of_the_wiring, unusable
from .port import (
    ConversationContext,
    SoFar,
    Target,
    TargetConversation,
    greet,
    refuse_faults,
    refuse_history,
    resume,
)
from .reply_forms import as_reply
from .reply_parts import done_so_far

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_CLOSE_SECONDS = 3.0


_NO_HISTORY = "let it begin with `context.history`, and set `takes_history = True` in its class"


class RunsElsewhere:
    """Base of targets that see to it themselves that no code of the project runs on the caller's loop.

    `given_settings` are those that were given as the target, if it was made of some. Those of the project's
    own target come with the settings of each scenario.
    """

    given_settings: TargetSection | None = None

    describes_at_once = False
    """Whether its name and description are texts that it keeps: asking runs no code of the project."""


def hosted(target: Target) -> Target:
    """The target, fit to be used from the loop that calls models."""
    # By the type alone: `isinstance` would ask the object for its `__class__`, perhaps code of the project.
    return target if issubclass(type(target), RunsElsewhere) else Hosted(target)


class Hosted(RunsElsewhere):
    """Runs `start`, `send` and `aclose` of a target, and its conversations, on their own loop."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._home: Home | None = None

    @property
    def name(self) -> str:
        return self._target.name

    async def start(self, context: ConversationContext) -> TargetConversation:
        # Asked by name alone: a target that doesn't say so never looked at `context.faults`.
        if not getattr(type(self._target), "injects_faults", False):
            refuse_faults(type(self._target).__qualname__, context)
        if not getattr(type(self._target), "takes_history", False):
            refuse_history(type(self._target).__qualname__, context, _NO_HISTORY)
        self._home = home_of(context)
        task = self._home.open()
        conversation = _HostedConversation(task, context)
        try:
            await conversation.open(self._target)
        except BaseException:
            await conversation.aclose()
            raise
        return conversation

    async def aclose(self) -> None:
        """Close it where its conversations were; nothing is open if there were none."""
        if self._home is not None:
            task = self._home.open()
            await closing(task.run(lambda: self._target.aclose()), f"`{type(self._target).__qualname__}`")
            task.stop()


class _HostedConversation:
    def __init__(self, task: CallTask, context: ConversationContext) -> None:
        self._task = task
        self._llm = LLMFromElsewhere(context.llm)
        self._context = replace(context, llm=self._llm)
        self._inner: TargetConversation | None = None
        self._done = SoFar()

    async def open(self, target: Target) -> None:
        self._inner = await self._run(lambda: target.start(self._context))

    async def send(self, message: str) -> Reply:
        return await self._answered(lambda inner: inner.send(message))

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        return await self._answered(lambda inner: resume(inner, answered))

    async def greet(self) -> Reply:
        return await self._answered(greet)

    async def _answered(self, ask: Callable[[TargetConversation], Coroutine[Any, Any, Reply]]) -> Reply:
        assert self._inner is not None  # noqa: S101 - nobody has the conversation before it is open
        inner = self._inner
        self._done = SoFar()
        return await self._run(lambda: self._sent(inner, ask))

    async def _sent(
        self, inner: TargetConversation, ask: Callable[[TargetConversation], Coroutine[Any, Any, Reply]]
    ) -> Reply:
        try:
            return await _as_data(ask(inner), self._context.max_text)
        except BaseException as error:
            # On its own loop, a cancellation included: it knows what it has done by now.
            self._done = done_so_far(error, inner)
            raise

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that the conversation reported when the message failed."""
        return self._done.calls

    def usage_so_far(self) -> Usage | None:
        """The tokens that the conversation reported when the message failed."""
        return self._done.usage

    async def with_agent(self, call: Callable[[object], Any]) -> Any:
        """See `port.WithAgent`: here it is the conversation that the target has started."""
        found = await in_own_thread(partial(call, self._inner))
        return await self._task.run(lambda: _waited_for(found)) if inspect.isawaitable(found) else found

    async def aclose(self) -> None:
        inner, self._inner = self._inner, None
        try:
            if inner is not None and not self._task.unusable:
                await closing(self._run(lambda: inner.aclose()), "the conversation")
        finally:
            self._llm.over = True
            self._task.stop()

    async def _run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            return await self._task.run(make)
        except Raised as raised:
            if (wiring := of_the_wiring(raised.error)) is not None:
                raise wiring from None
            # A tool's injected failure says nothing of who is to blame: the agent should have coped with it.
            others = (asyncio.CancelledError, ToolFailed)
            error = alone(raised.error)  # a task group wraps what was raised in it
            if isinstance(error, Exception) and not isinstance(error, others):
                raise error from None  # a target says by its error who is to blame
            raise failure(raised.error) from None


async def _waited_for(found: Any) -> Any:
    return await found


async def _as_data(sending: Coroutine[Any, Any, Reply], most_text: int) -> Reply:
    """The reply as plain data: what the project's objects do while they are read belongs to its own loop."""
    reply = await sending
    try:
        return as_reply(reply, most_text)
    except ValueError as error:
        raise unusable(error) from None
    except Exception as error:  # noqa: BLE001 - the properties of the project's objects may raise anything
        raise failure(error) from None


async def closing(close: Coroutine[Any, Any, object], what: str) -> None:
    """Close something of the project's. All has been said: a failure is logged and changes nothing."""
    try:
        # It doesn't count as the conversation's time, but has a limit of its own.
        with current_clock().stop():
            async with Deadline(_CLOSE_SECONDS, CloseTimeout(_CLOSE_SECONDS), real_time=True):
                await close
    except Exception as error:  # noqa: BLE001 - the project's code, whatever it raises
        if isinstance(error, LoopLost):
            return
        trace = getattr(error, "trace", "")
        _LOG.warning("%s could not be closed: %s", what, trace or describe(error))


def home_of(context: ConversationContext) -> Home:
    """Where the project's code runs: on the caller's loop, unless the context names another place."""
    return context.home or LoopHome.here()


class LLMFromElsewhere:
    """The way to the models for code that runs on another loop than they do.

    Their clients and limits belong to one loop: the calls go there.
    """

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._loop = asyncio.get_running_loop()
        self.over = False
        """Whether the conversation is over: an agent that was left alone must not spend anything."""

    async def complete(self, request: LLMRequest) -> LLMReply:
        if self.over:
            raise ConvoprobeError("the conversation is over: no model can be called for it any more")
        return await self._there(self._llm.complete(request))

    async def aclose(self) -> None:
        await self._there(self._llm.aclose())

    async def _there(self, coro: Coroutine[Any, Any, T]) -> T:
        if asyncio.get_running_loop() is self._loop:
            return await coro
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coro, self._loop))
