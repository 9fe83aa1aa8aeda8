"""Work on an event loop while the command waits: Ctrl-C ends it, a line of progress shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from .progress import progress_line

if TYPE_CHECKING:
    from ..loop_thread import LoopThread

T = TypeVar("T")

_CLOSING = 10.0  # seconds


def run_async(coro: Coroutine[Any, Any, T], words: str) -> T:
    """What the coroutine returns; `words` say on the line of progress what is waited for."""
    with progress_line(lambda: words) as progress:
        return run_ticking(coro, progress.tick)


def run_ticking(coro: Coroutine[Any, Any, T], tick: Callable[[], object]) -> T:
    """What the coroutine returns; `tick` is called every now and then on the thread that waits."""
    with loop_thread() as loop:
        return loop.run(coro, tick=tick)


@contextmanager
def loop_thread() -> Iterator[LoopThread]:
    """The event loop of a command, closed at its end."""
    from ..loop_thread import LoopThread
    from ..runs.session import INTERRUPTED_SECONDS

    end_when_stuck()
    loop, seconds = LoopThread(), _CLOSING
    try:
        yield loop
    except KeyboardInterrupt:
        seconds = INTERRUPTED_SECONDS
        raise
    finally:
        loop.close(seconds)


def end_when_stuck() -> None:
    """Have the process end, with all stacks on stderr, if an agent keeps the interpreter for ever."""
    from ..project_code.pulse import pulse

    # The real one: click's test runner, for instance, replaces `sys.stderr`.
    pulse.enable(sys.__stderr__.fileno() if sys.__stderr__ else 2)
