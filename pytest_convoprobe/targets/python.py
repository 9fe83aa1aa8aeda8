"""A target in Python: a function, a class, a zero-argument factory, or an object that can be copied."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import TargetError, TargetStartError
from ..project_code.agent_loops import CallTask, Home
from ..project_code.calls import Raised, in_thread_of
from ..project_code.tracebacks import describe
from ..threads import CallThread
from ..transcript import Reply
from .call_style import (
    METHODS,
    Calling,
    History,
    Later,
    answering,
    calling,
    is_answered_on_loop,
    is_async,
    needs_nothing,
    takes_nothing,
)
from .failures import failure, start_failure, unusable
from .hosted import Hosted, closing, home_of
from .loading import Once, Reference, load_object
from .port import ConversationContext, Description, Target, TargetConversation, description_of
from .reply_forms import ReplyReader, Stream
from .reply_parts import described

_PER_CONVERSATION = "give a class, or a function without parameters that makes one for each conversation"
Step = tuple[Callable[[], Any], bool]
"""Something to call, and whether that has to be done on the loop."""

_ABSENT = object()
_METHODS = ", ".join(f"`{name}`" for name in METHODS)


class PythonAgent:
    """Talks with an object in Python.

    `source` is the object, or where to import it from: that is done once, in a thread, when the first
    conversation starts. An object that is itself a `Target` is used as it is.
    """

    runs_elsewhere = True

    def __init__(self, source: object, *, rootdir: Path, name: str) -> None:
        self.name = name
        self._agent: Once[object] = Once(functools.partial(_load, source, rootdir, name))
        self._hosted: Hosted | None = None

    async def start(self, context: ConversationContext) -> TargetConversation:
        agent = await self._agent.get()
        if is_target(agent):
            self._hosted = self._hosted or Hosted(as_port(agent))
            return await self._hosted.start(context)
        conversation = _Conversation(self.name, home_of(context))
        try:
            await conversation.open(agent)
        except BaseException:
            await conversation.aclose()
            raise
        return conversation

    async def aclose(self) -> None:
        if self._hosted is not None:
            await self._hosted.aclose()

    def describe(self) -> Description:
        """What the object tells, if it is a target itself and has been loaded."""
        agent = self._agent.value
        return description_of(as_port(agent)) if is_target(agent) else Description()


def is_target(value: object) -> bool:
    """Whether it has what the port `Target` asks for."""
    # The name comes last: it may be a property of some other object, whose code is better not run here.
    return not isinstance(value, type) and _has_methods_of_target(value) and _has_name(value)


def _has_name(value: object) -> bool:
    static = inspect.getattr_static(value, "name", _ABSENT)
    return hasattr(value, "name") if static is _ABSENT else True


def _has_methods_of_target(value: object) -> bool:
    return is_async(getattr(value, "start", None)) and callable(getattr(value, "aclose", None))


def as_port(value: object) -> Target:
    """The same object, for what `is_target` was asked about."""
    target: Target = value  # type: ignore[assignment]
    return target


def _load(source: object, rootdir: Path, name: str) -> object:
    """The object, looked at: what can't take messages is told before the first conversation."""
    agent = load_object(source, rootdir) if isinstance(source, Reference) else source
    if isinstance(agent, type) and _has_methods_of_target(agent):
        agent = _make(agent, name)
    if not is_target(agent):
        try:
            _inspect(agent)
        except ValueError as error:
            raise TargetStartError(f"`{name}` can't be used as a target: {error}") from None
    return agent


def _make(kind: type, name: str) -> object:
    try:
        return kind()
    except BaseException as error:  # noqa: BLE001 - the user's code, whatever it raises
        raise start_failure(f"can't make `{name}`", error) from None


def _inspect(agent: object) -> None:
    """Raises `ValueError` for what can't be a target."""
    if isinstance(agent, type):
        if not needs_nothing(agent):
            raise ValueError(
                f"{agent.__qualname__}{inspect.signature(agent)} needs arguments: "
                "give a function without parameters that makes one"
            )
    elif not (_is_function(agent) and takes_nothing(agent)):
        _calling_of(agent)


def _is_function(agent: object) -> bool:
    return inspect.isroutine(agent) or isinstance(agent, functools.partial)


def _calling_of(agent: object) -> Calling:
    function = None if isinstance(agent, type) else answering(agent)
    if function is None:
        kind = "a class" if isinstance(agent, type) else described(agent)
        raise ValueError(f"{kind} takes no messages: it can't be called and has none of {_METHODS}")
    return calling(function)


class _Conversation:
    """One conversation: an agent of its own, what was said, and a thread and a task for the agent's code."""

    def __init__(self, name: str, home: Home) -> None:
        self._name = name
        self._home = home
        self._worker = CallThread()
        self._task: CallTask | None = None
        self._history: History = []
        self._replies = ReplyReader()
        self._calling: Calling | None = None
        self._close: Step | None = None
        self._closed = False

    async def open(self, source: object) -> None:
        """Get an agent that no other conversation has, from the object that the settings name."""
        doing = f"`{self._name}` could not be started"
        failed = functools.partial(start_failure, doing)
        read = functools.partial(_calling_or_failed, doing)
        if _is_function(source) and not takes_nothing(source):
            self._calling = await self._guarded(*_maker(source), failed, read)
            return
        enter, close, on_loop = await self._guarded(*_maker(source), failed, _entering)
        self._calling = await self._guarded(enter, on_loop, failed, read)
        self._close = close

    async def send(self, message: str) -> Reply:
        if self._calling is None:
            raise TargetStartError(f"`{self._name}` was not started")
        earlier = [dict(entry) for entry in self._history]
        call = functools.partial(self._calling, message, earlier)
        reply: Reply = await self._guarded(call, self._calling.on_loop, failure, self._read)
        self._history.append({"role": "user", "content": message})
        self._history.append({"role": "assistant", "content": reply.text})
        return reply

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
            if self._close is not None and not abandoned:
                await closing(self._guarded(*self._close, failure, _nothing), self._name)
        finally:
            self._worker.stop()
            if self._task is not None:
                self._task.stop()

    async def _guarded(
        self,
        call: Callable[[], Any],
        on_loop: bool,
        wrap: Callable[[BaseException], TargetError],
        read: Callable[[Any], Any],
    ) -> Any:
        """What `read` makes of what the user's code gives.

        `read` and `wrap` run user code too (properties, `__str__`): so they are called where that runs, and
        have its time limit. Whatever it raises, a `SystemExit` included, is its own fault.
        """
        try:
            result: Any = Later(None)
            if not on_loop:
                result = await in_thread_of(self._worker, lambda: _drained(call, wrap, read))
                call = functools.partial(_given, result)
            if isinstance(result, Later):
                result = await self._on_loop(lambda: _settled(call, wrap, read))
        except Raised as raised:
            raise wrap(raised.error) from None
        if isinstance(result, _Failed):
            raise result.error
        return result

    async def _on_loop(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        if self._task is None:
            self._task = self._home.open()
        return await self._task.run(make)


def _maker(source: object) -> Step:
    """How a conversation gets its agent, and whether that has to be done on the loop."""
    if isinstance(source, type):
        return source, is_answered_on_loop(source)
    if _is_function(source) and takes_nothing(source):
        return source, is_async(source)  # type: ignore[return-value]
    return functools.partial(_copied, source), inspect.isfunction(source)


def _copied(agent: object) -> object:
    """A copy that shares no state; a function stays itself."""
    try:
        return copy.deepcopy(agent)
    except Exception as error:  # noqa: BLE001 - anything may stand in the way of a copy
        raise TargetStartError(
            f"one {type(agent).__qualname__} would be shared by all conversations, and it can't be copied "
            f"({describe(error)}): {_PER_CONVERSATION}"
        ) from None


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
    entered = await entering
    return agent if entered is None else entered


def _enter(method: Callable[[Any], Any], agent: object) -> Any:
    """What `__enter__` gives, or the agent itself if that is nothing."""
    entered = method(agent)
    if inspect.isawaitable(entered):
        return _entered(entered, agent)
    return agent if entered is None else entered


@dataclass(frozen=True)
class _Failed:
    """A failure of the user's code that has been looked at where that code runs."""

    error: TargetError


def _given(later: Later) -> Any:
    return later.value


def _drained(
    call: Callable[[], Any], wrap: Callable[[BaseException], TargetError], read: Callable[[Any], Any]
) -> Any:
    """What comes of the call in a thread. A generator is run in the thread that it was made in."""
    try:
        result = call()
        if inspect.isawaitable(result) or inspect.isasyncgen(result):
            return Later(result)
        return read(_whole(result))
    except StopIteration:
        raise  # the thread makes another error of it
    except Exception as error:  # noqa: BLE001 - the user's code, whatever it raises
        return _Failed(wrap(error))


async def _settled(
    call: Callable[[], Any], wrap: Callable[[BaseException], TargetError], read: Callable[[Any], Any]
) -> Any:
    """What comes of the call in the end, on the loop."""
    try:
        result = call()
        if inspect.isawaitable(result):
            result = await result
        if inspect.isasyncgen(result):
            result = Stream(tuple([chunk async for chunk in result]))
        return read(_whole(result))
    except StopIteration:
        raise  # Python makes another error of it
    except Exception as error:  # noqa: BLE001 - the user's code, whatever it raises
        return _Failed(wrap(error))


def _nothing(_: object) -> None:
    """What is made of the result of closing."""


def _whole(result: object) -> object:
    """What the call gave; a generator is run to its end."""
    return Stream(tuple(result)) if inspect.isgenerator(result) else result


def _calling_or_failed(doing: str, agent: object) -> Calling | _Failed:
    try:
        return _calling_of(agent)
    except ValueError as error:
        return _Failed(TargetStartError(f"{doing}: {error}"))
