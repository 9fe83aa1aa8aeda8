"""One conversation with an object in Python: how it gets its agent, calls it, and lets go of it."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

from ..cutting import MOST_TEXT
from ..errors import TargetError, TargetStartError
from ..project_code.agent_loops import CallTask, Home
from ..project_code.calls import Raised, StartsCalls, in_thread_of
from ..threads import CallThread
from ..transcript import PendingRequest, Reply, SaidBefore, ToolCall, Usage
from .adapters.registry import adapter_for
from .adapters.sessions import AgentSession
from .agent_sources import AdaptedAgent, AgentSource, calling_of
from .call_style import (
    Calling,
    History,
    Later,
    calling,
    is_async,
    needs_nothing,
)
from .earlier_messages import as_chat
from .failures import failure, start_failure, unusable
from .frameworks import framework_of
from .given_objects import Use, claim, owner_of
from .hosted import closing
from .port import CANNOT_GREET, CANNOT_RESUME, SoFar
from .reply_forms import Collecting, ReplyReader, Stream
from .reply_parts import done_so_far
from .session_options import MakesOptions

Step = tuple[Callable[[], Any], bool]
"""Something to call, and whether that has to be done on the loop."""

_NO_HISTORY = (
    "give its function a parameter `history`, or let it read `context.history` and set "
    "`takes_history = True` in its class"
)
_NO_CONTEXT = "`takes_history` is True, but it is made without a `context`: give `__init__` that parameter"


class PythonConversation:
    """One conversation: an agent of its own, what was said, and a thread and a task for the agent's code."""

    def __init__(
        self,
        name: str,
        home: Home,
        worker: StartsCalls | None = None,
        most_text: int = MOST_TEXT,
        options: MakesOptions | None = None,
    ) -> None:
        self._name = name
        self._home = home
        self._options = options
        self._worker: StartsCalls = worker or CallThread()
        self._task: CallTask | None = None
        self._history: History = []
        self._replies = ReplyReader(most_text)
        self._calling: Calling | None = None
        self._closers: list[Step] = []
        self._let_go: Callable[[], None] | None = None
        self._closed = False
        self._done = SoFar()
        self.adapted: AdaptedAgent | None = None
        """The agent of a framework that it talks with; None before it is open, and for other objects."""

    async def open(self, source: AgentSource, use: Use) -> None:
        """Get an agent that no other conversation has, from the object that the settings or a test name."""
        doing = f"`{self._name}` could not be started"
        failed = functools.partial(start_failure, doing)
        read = functools.partial(_calling_or_failed, doing)
        if not source.makes_agents:
            if source.owner is not None:
                self._let_go = claim(source.owner, use, self._name)
            # Whoever has made an object opens and closes it, too.
            found = await self._guarded(lambda: source.value, source.on_loop, failed, read)
        else:
            make = self._maker(source)
            enter, close, on_loop = await self._guarded(make, source.on_loop, failed, _entering)
            found = await self._guarded(enter, on_loop, failed, read)
            self._closers += [close] if close else []
        own = source.makes_agents
        self._calling = (
            await self._session(found, own) if isinstance(found, AdaptedAgent) else self._plain(found)
        )
        history = self._options.history if self._options is not None else ()
        self._begin_with(history, source.makes_agents and source.takes_context)

    def _maker(self, source: AgentSource) -> Callable[[], Any]:
        if not source.takes_context or self._options is None:
            return cast("Callable[[], Any]", source.value)
        return functools.partial(source.value, context=self._options.given_context)

    def _plain(self, found: Calling) -> Calling:
        """How an object of the project answers, which has no place for what only adapters can use."""
        if self._options is not None and (unusable := self._options.only_for_adapters):
            raise TargetStartError(
                f"`{self._name}` is not an agent of a framework that has an adapter: {unusable}"
            )
        return found

    def _begin_with(self, history: tuple[SaidBefore, ...], has_context: bool) -> None:
        """Give what was said before to whoever takes it, or raise `TargetStartError`."""
        self._history = as_chat(history)
        self._replies = ReplyReader(self._replies.most_text, self._history)
        adapter = self.adapted.adapter if self.adapted is not None else None
        if adapter is not None:
            takes_it, why = (
                adapter.takes_history,
                f"agents of {adapter.framework} get the messages alone here",
            )
        else:
            # Code of the project may read `context.history`, but only it can say so.
            own = getattr(type(self._agent), "takes_history", False) is True
            takes_it = (own and has_context) or self._takes_earlier
            why = _NO_CONTEXT if own and not has_context else _NO_HISTORY
        if history and not takes_it:
            raise TargetStartError(f"`history`: `{self._name}` can't begin with what was said before: {why}")

    @property
    def _takes_earlier(self) -> bool:
        return self._calling is not None and self._calling.history != "none"

    async def _session(self, found: AdaptedAgent, own: bool) -> Calling:
        """Open a session with an agent of a framework, which is this conversation's `own` or shared."""
        self.adapted = found
        doing = f"a session with `{self._name}` ({found.adapter.framework}) could not be opened"
        options = self._options or MakesOptions()

        async def opened() -> AgentSession:
            return await found.adapter.open(found.agent, await options.make(own))

        wrap = functools.partial(start_failure, doing)
        calling_, close = await self._guarded(opened, True, wrap, _calling_and_close)
        # A session is closed before its agent.
        self._closers[:0] = [close] if close else []
        found_calling: Calling = calling_
        return found_calling

    async def send(self, message: str) -> Reply:
        if self._calling is None:
            raise TargetStartError(f"`{self._name}` was not started")
        earlier = [dict(entry) for entry in self._history]
        call = functools.partial(self._calling, message, earlier)
        reply = await self._answered(call, self._calling.on_loop)
        self._history.append({"role": "user", "content": message})
        self._history.append({"role": "assistant", "content": reply.text})
        return reply

    async def greet(self) -> Reply:
        found = getattr(self._agent, "greet", None)
        if not callable(found) or not needs_nothing(found):
            raise TargetStartError(CANNOT_GREET)
        reply = await self._answered(found, is_async(found))
        self._history.append({"role": "assistant", "content": reply.text})
        return reply

    async def resume(self, answered: tuple[PendingRequest, ...]) -> Reply:
        found = getattr(self._agent, "resume", None)
        if not callable(found):
            raise TargetStartError(CANNOT_RESUME)
        reply = await self._answered(functools.partial(found, answered), is_async(found))
        if self._history:
            # For whoever gets the history, the rest of a reply is a part of it.
            said = self._history[-1]["content"]
            self._history[-1]["content"] = "\n\n".join(filter(None, (said, reply.text)))
        return reply

    async def _answered(self, call: Callable[[], Any], on_loop: bool) -> Reply:
        self._done = SoFar()
        try:
            reply: Reply = await self._guarded(call, on_loop, failure, self._read, self._note)
        except asyncio.CancelledError as error:
            # Code in a thread may go on, but what a session of ours has written down can be read meanwhile.
            if self.adapted is not None:
                self._note(error)
            raise
        return reply

    async def with_agent(self, call: Callable[[object], Any]) -> Any:
        """See `port.WithAgent`. Of a framework, it is the agent that its session talks with."""
        found = await in_thread_of(self._worker, functools.partial(call, self._talked_with))
        return await self._on_loop(lambda: _waited_for(found)) if inspect.isawaitable(found) else found

    @property
    def _talked_with(self) -> object:
        if self.adapted is not None:
            return getattr(self._agent, "agent", self.adapted.agent)
        return self._agent or (self._calling and self._calling.function)

    @property
    def _agent(self) -> object:
        """The object whose method answers messages; None for a function."""
        return None if self._calling is None else owner_of(self._calling.function)

    def calls_so_far(self) -> tuple[ToolCall, ...]:
        """The calls that the agent reported when the message failed; none if its code could not be ended."""
        return self._done.calls

    def usage_so_far(self) -> Usage | None:
        """The tokens that the agent reported when the message failed."""
        return self._done.usage

    def _note(self, error: BaseException) -> None:
        """Ask the agent, where its code runs, what it has done for the message that fails."""
        self._done = done_so_far(error, self._agent)

    def _read(self, value: object) -> Reply | _Failed:
        try:
            return self._replies.read(value)
        except ValueError as error:
            return _Failed(unusable(error))

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        abandoned = self._worker.busy or (self._task is not None and self._task.unusable)
        try:
            for step in () if abandoned else self._closers:
                await closing(self._guarded(*step, failure, _nothing), self._name)
        finally:
            self._worker.stop()
            # Code that was abandoned may still run: nobody else may talk with its object.
            if self._let_go is not None and not abandoned:
                self._let_go()
            if self._task is not None:
                self._task.stop()

    async def _guarded(
        self,
        call: Callable[[], Any],
        on_loop: bool,
        wrap: Callable[[BaseException], TargetError],
        read: Callable[[Any], Any],
        failing: Callable[[BaseException], None] = lambda _: None,
    ) -> Any:
        """What `read` makes of what the user's code gives; `failing` is called there if it gives nothing.

        `read` and `wrap` run user code too (properties, `__str__`): so they are called where that runs, and
        have its time limit. Whatever it raises, a `SystemExit` included, is its own fault.
        """
        reading = _Reading(read, wrap, failing, self._replies.most_text)
        try:
            result: Any = Later(None)
            if not on_loop:
                result = await in_thread_of(self._worker, lambda: reading.in_thread(call))
                call = functools.partial(_given, result)
            if isinstance(result, Later):
                result = await self._on_loop(lambda: reading.on_loop(call))
        except Raised as raised:
            raise wrap(raised.error) from None
        if isinstance(result, _Failed):
            raise result.error
        return result

    async def _on_loop(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        if self._task is None:
            self._task = self._home.open()
        return await self._task.run(make)


async def _waited_for(found: Any) -> Any:
    return await found


def _entering(agent: object) -> tuple[Callable[[], Any], Step | None, bool]:
    """How a context manager is entered and left, how anything else is closed; and whether on the loop."""
    kind: Any = type(agent)
    for enter, leave, on_loop in (("__aenter__", "__aexit__", True), ("__enter__", "__exit__", False)):
        if hasattr(kind, enter) and hasattr(kind, leave):
            close = functools.partial(getattr(kind, leave), agent, None, None, None)
            return functools.partial(_enter, getattr(kind, enter), agent), (close, on_loop), on_loop
    closers = (getattr(agent, name, None) for name in ("aclose", "close"))
    closer = next((close for close in closers if callable(close) and needs_nothing(close)), None)
    return lambda: agent, None if closer is None else (closer, is_async(closer)), True


async def _entered(entering: Any, agent: object) -> object:
    return _to_talk_with(agent, await entering)


def _to_talk_with(agent: object, entered: object) -> object:
    """What entering gives, or the agent itself if that is nothing.

    Frameworks' agents that wrap others may give the wrapped one, which is not what the project made.
    """
    return agent if entered is None or framework_of(agent) is not None else entered


def _enter(method: Callable[[Any], Any], agent: object) -> Any:
    """See `_to_talk_with`."""
    entered = method(agent)
    if inspect.isawaitable(entered):
        return _entered(entered, agent)
    return _to_talk_with(agent, entered)


@dataclass(frozen=True)
class _Failed:
    """A failure of the user's code that has been looked at where that code runs."""

    error: TargetError


def _given(later: Later) -> Any:
    return later.value


@dataclass(frozen=True)
class _Reading:
    """Runs a call of the user's code and reads what it gives, where that code runs.

    `read` makes something of what the call gives, `wrap` of what it raises, and `failing` is called before
    that. Of a stream, at most `most` characters are kept.
    """

    read: Callable[[Any], Any]
    wrap: Callable[[BaseException], TargetError]
    failing: Callable[[BaseException], None]
    most: int

    def in_thread(self, call: Callable[[], Any]) -> Any:
        """What comes of the call in a thread. A generator is run in the thread that it was made in."""
        try:
            result = call()
            if inspect.isawaitable(result) or inspect.isasyncgen(result):
                return Later(result)
            return self.read(_whole(result, self.most))
        except BaseException as error:
            if failed := self._failed(error):
                return failed
            raise

    async def on_loop(self, call: Callable[[], Any]) -> Any:
        """What comes of the call in the end, on the loop."""
        try:
            result = call()
            if inspect.isawaitable(result):
                result = await result
            if inspect.isasyncgen(result):
                result = await self._collected(result)
            return self.read(_whole(result, self.most))
        except BaseException as error:
            if failed := self._failed(error):
                return failed
            raise

    async def _collected(self, chunks: AsyncIterator[object]) -> Stream:
        collecting = Collecting(self.most)
        async for chunk in chunks:
            collecting.add(chunk)
        return collecting.stream

    def _failed(self, error: BaseException) -> _Failed | None:
        """What the caller gets for what the user's code raised; None if that has to be raised on."""
        if isinstance(error, StopIteration):
            return None  # it cannot leave a thread or a coroutine: Python makes another error of it
        self.failing(error)
        # What isn't an Exception is the end of its time, or a call of sys.exit().
        return _Failed(self.wrap(error)) if isinstance(error, Exception) else None


def _nothing(_: object) -> None:
    """What is made of the result of closing."""


def _whole(result: object, most: int) -> object:
    """What the call gave; a generator is run to its end."""
    if not inspect.isgenerator(result):
        return result
    collected = Collecting(most)
    for chunk in result:
        collected.add(chunk)
    return collected.stream


def _calling_and_close(session: AgentSession) -> tuple[Calling, Step | None]:
    close = getattr(session, "aclose", None)
    return calling(session.send), None if close is None else (close, is_async(close))


def _calling_or_failed(doing: str, agent: object) -> Calling | AdaptedAgent | _Failed:
    if (adapter := adapter_for(agent)) is not None:
        return AdaptedAgent(adapter, agent)
    try:
        return calling_of(agent)
    except ValueError as error:
        return _Failed(TargetStartError(f"{doing}: {error}"))
