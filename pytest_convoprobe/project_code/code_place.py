"""Where code of the project is at a moment: file and line, a short stack, and what helps."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .tracebacks import frame_lines, own_frames, place_of

BLOCKS_THREAD = (
    "it was waited for in a thread that did not return: give whatever it waits for a time limit of its own"
)
BLOCKS_LOOP = (
    "it blocked its event loop: in an `async def`, await code that is async, move blocking code to "
    "`asyncio.to_thread`, or make it a plain function, which gets a thread of its own"
)
IGNORES_CANCELLATION = (
    "it was cancelled and went on all the same: let `asyncio.CancelledError` through after cleaning up"
)


_DEPTH = 100


@dataclass(frozen=True)
class CodePlace:
    """`place` is `file:line: in function`, `trace` a few lines of the stack, `advice` what to do about it."""

    place: str
    trace: str
    advice: str = ""


def of_frames(frames: Iterable[tuple[FrameType, int]], advice: str = "") -> CodePlace | None:
    """The place from a stack, outermost frame first; None where there is no frame of the project."""
    summary = traceback.StackSummary.extract(iter(frames))
    own = own_frames(summary)
    if not own:
        return None
    lines = [line for frame in own for line in frame_lines(frame)]
    return CodePlace(place_of(own[-1]), "\n".join(lines), advice)


def frames_of_thread(thread: int) -> list[tuple[FrameType, int]]:
    """What a thread runs now, outermost first."""
    frame = sys._current_frames().get(thread)
    return [] if frame is None else list(reversed(list(traceback.walk_stack(frame))))


def frames_of_awaitable(awaitable: Any) -> list[tuple[FrameType, int]]:
    """Where a coroutine is suspended, through all that it awaits. `Task.get_stack` knows the first only."""
    return list(_suspended(awaitable))


def _suspended(awaitable: Any) -> Iterator[tuple[FrameType, int]]:
    for _ in range(_DEPTH):
        frame = _first_of(awaitable, "cr_frame", "gi_frame", "ag_frame")
        if frame is None:
            return
        yield frame, frame.f_lineno
        awaitable = _first_of(awaitable, "cr_await", "gi_yieldfrom", "ag_await")


def _first_of(awaitable: Any, *names: str) -> Any:
    found = (getattr(awaitable, name, None) for name in names)
    return next((value for value in found if value is not None), None)
