"""An event loop for the project's code: who runs on it, who blocks it, and how it is given up."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from ..loop_thread import LoopThread
from ..threads import interrupt_thread
from .clock import CURRENT, Clock
from .code_place import frames_of_thread

_LATE = 0.1  # seconds without an answer after which the loop counts as blocked
_GRACE = 2.0
INTERRUPT_SIGNAL: int | None = getattr(signal, "SIGURG", None)
"""Nobody minds this one: its default is to be ignored."""


_used_loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []
"""The first loops that code of the project has run on; two are enough to know that there were several."""


def used_several_loops() -> bool:
    """Whether code of the project has run on more than one event loop in this process."""
    return len(_used_loops) > 1


def _note(loop: asyncio.AbstractEventLoop) -> None:
    if len(_used_loops) < 2 and all(used() is not loop for used in _used_loops):
        _used_loops.append(weakref.ref(loop))


class Waiting(Protocol):
    """A call on the loop that somebody waits for."""

    clock: Clock

    def lose_loop(self) -> None: ...


class HostLoop:
    """A loop that code of the project runs on.

    `thread` owns it; without one the loop is somebody else's (a test's), which is never closed or given up.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, ident: int | None, thread: LoopThread | None = None
    ) -> None:
        _note(loop)
        self.loop = loop
        self.lost = False
        self._ident = ident
        self._thread = thread
        self._calls: dict[Waiting, None] = {}
        self._asked = 0.0
        self._answered = True
        self._checked = 0.0
        self._stuck = 0.0

    @classmethod
    def start(cls, name: str) -> HostLoop:
        """A new loop in a thread of its own."""
        thread = LoopThread(name)
        loop, ident = thread.run(_here())
        return cls(loop, ident, thread)

    @classmethod
    def running(cls) -> HostLoop:
        """The loop that the caller runs on."""
        return cls(asyncio.get_running_loop(), threading.get_ident())

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Call a function on the loop soon; nothing happens once the loop is closed."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(function, *args)

    def enter(self, call: Waiting) -> None:
        """Somebody waits for a call on this loop."""
        self._calls[call] = None

    def leave(self, call: Waiting) -> None:
        self._calls.pop(call, None)

    @property
    def in_use(self) -> bool:
        return bool(self._calls) and not self.lost and not self.loop.is_closed()

    # Who blocks it

    @property
    def blocked(self) -> bool:
        """Whether the loop has not answered for a while."""
        return not self._answered and time.monotonic() - self._asked > _LATE

    def owner(self) -> Clock | None:
        """Whose code the loop's thread runs now: the conversation's that it inherited its context from."""
        for frame, _ in reversed(frames_of_thread(self._ident or 0)):
            if frame.f_code is asyncio.Handle._run.__code__:
                handle = frame.f_locals.get("self")
                context = getattr(handle, "_context", None)
                return context.get(CURRENT) if context is not None else None
        return None

    def check(self) -> None:
        """Called every now and then while the loop is in use: who has lost time to whom?"""
        now = time.monotonic()
        if self._answered:
            self._answered, self._asked, self._checked, self._stuck = False, now, now, 0.0
            return self.post(self._answer)
        if not self.blocked:
            return
        lost, self._checked = now - self._checked, now
        owner = self.owner()
        for clock in {call.clock for call in list(self._calls)} - {owner}:
            clock.give_back(lost)
        if self._thread is not None and (owner is None or owner.over):
            self._give_up_slowly(owner, lost)

    def _answer(self) -> None:
        self._answered = True

    def _give_up_slowly(self, owner: Clock | None, lost: float) -> None:
        """Nobody waits for the code that blocks the loop, so no time limit will end it."""
        self._stuck += lost
        if self._stuck > _GRACE:
            self.interrupt(owner)
        if self._stuck > 2 * _GRACE:
            self.give_up(owner)

    # What is done about it

    def interrupt(self, owner: Clock | None) -> None:
        """Raise `Interrupted` in the code that blocks the loop, if it is this conversation's."""
        if self._ident is None or self.owner() is not owner:
            return
        if self._thread is not None:
            interrupt_thread(self._ident)
        elif _signals_reach(self._ident):
            signal.pthread_kill(self._ident, INTERRUPT_SIGNAL)  # type: ignore[arg-type]
        else:
            interrupt_thread(self._ident)

    def give_up(self, culprit: Clock | None) -> None:
        """Let nobody wait for this loop any more: its conversations, except the culprit's, begin again."""
        if self._thread is None or self.lost:
            return
        self.lost = True
        self.post(self.loop.stop)
        forget_tasks(self.loop)
        for call in [call for call in self._calls if call.clock is not culprit]:
            call.lose_loop()
        self._calls.clear()

    def disown(self, clock: Clock, task: asyncio.Task[Any] | None) -> None:
        """Forget tasks of a conversation that don't end, so that the owner of the loop can close it.

        A test's loop waits for all its tasks at the end. Before Python 3.12 the tasks that a task has started
        can't be distinguished from others, so only the conversation's own is forgotten.
        """
        if self._thread is None:
            self.post(_forget_tasks_of, self.loop, clock, task)

    def close(self, seconds: float) -> None:
        """End what runs on the loop, as far as it lets itself be ended. Blocks."""
        if self._thread is None:
            return
        if self.lost or not self._thread.close(seconds):
            self.post(self.loop.stop)
            forget_tasks(self.loop)


async def _here() -> tuple[asyncio.AbstractEventLoop, int]:
    return asyncio.get_running_loop(), threading.get_ident()


def _signals_reach(ident: int) -> bool:
    """Whether a signal's handler of ours runs in this thread."""
    if INTERRUPT_SIGNAL is None or ident != threading.main_thread().ident:
        return False
    return getattr(signal.getsignal(INTERRUPT_SIGNAL), "of_convoprobe", False)


def forget_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Let asyncio say nothing of tasks that will never end, and Python never try to end them."""
    for task in _tasks_of(loop):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        _keep_for_ever(task)


def _tasks_of(loop: asyncio.AbstractEventLoop) -> Iterable[asyncio.Task[Any]]:
    with contextlib.suppress(RuntimeError):  # the set may change while it is looked at
        return asyncio.all_tasks(loop)
    return ()


def _forget_tasks_of(loop: asyncio.AbstractEventLoop, clock: Clock, task: asyncio.Task[Any] | None) -> None:
    for one in [one for one in asyncio.all_tasks(loop) if one is task or _belongs_to(one, clock)]:
        one._log_destroy_pending = False  # type: ignore[attr-defined]
        _keep_for_ever(one)
        asyncio._unregister_task(one)


def _belongs_to(task: asyncio.Task[Any], clock: Clock) -> bool:
    context_of = getattr(task, "get_context", None)
    return context_of is not None and context_of().get(CURRENT) is clock


_kept: list[object] = []


def _keep_for_ever(task: object) -> None:
    """At the end of the interpreter its coroutine would be closed, and could do and say anything."""
    _kept.append(task)
    if hasattr(ctypes, "pythonapi") and sys.implementation.name == "cpython":
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))


@contextlib.contextmanager
def main_thread_interruptible() -> Iterator[None]:
    """A time in which code that blocks the main thread's event loop can be interrupted.

    On the main thread of a Unix system a signal does it; elsewhere this does nothing.
    """
    usable = INTERRUPT_SIGNAL is not None and threading.current_thread() is threading.main_thread()
    if not usable or signal.getsignal(INTERRUPT_SIGNAL) is not signal.SIG_DFL:  # type: ignore[arg-type]
        yield
        return
    previous = signal.signal(INTERRUPT_SIGNAL, _Raise())  # type: ignore[arg-type]
    try:
        yield
    finally:
        signal.signal(INTERRUPT_SIGNAL, previous)  # type: ignore[arg-type]


class _Raise:
    """The handler: raises in code whose time is up, and nowhere else."""

    of_convoprobe = True

    def __call__(self, number: int, frame: Any) -> None:
        from ..threads import Interrupted

        while frame is not None:
            if frame.f_code is asyncio.Handle._run.__code__:
                context = getattr(frame.f_locals.get("self"), "_context", None)
                clock = context.get(CURRENT) if context is not None else None
                if clock is not None and (clock.stopped or clock.over):
                    raise Interrupted
                return
            frame = frame.f_back
