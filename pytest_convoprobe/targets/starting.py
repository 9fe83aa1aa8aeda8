"""Time that is spent on starting something while a message waits, such as a server: no part of the turn."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..errors import TargetUnavailable
from ..formatting import exact_seconds
from ..project_code.clock import current_clock
from ..project_code.deadline import Deadline


class StartUp:
    """How long it took, in seconds; 0 until the start is over. It goes into `Reply.startup`."""

    seconds: float = 0.0


@asynccontextmanager
async def starting_up(what: str, limit: float) -> AsyncIterator[StartUp]:
    """A block whose time takes nothing from the limits of the turn and the scenario.

    It has a limit of its own instead, in seconds: then it raises `TargetUnavailable` with the name `what`.
    """
    start_up, began = StartUp(), time.monotonic()
    too_slow = TargetUnavailable(f"{what} did not start within {exact_seconds(limit)}")
    with current_clock().stop():
        async with Deadline(limit, too_slow, real_time=True):
            yield start_up
    start_up.seconds = time.monotonic() - began
