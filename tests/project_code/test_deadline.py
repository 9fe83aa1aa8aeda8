from __future__ import annotations

import asyncio
import contextlib
import sys

import pytest

from pytest_convoprobe.project_code.deadline import Deadline


class TooLong(Exception):
    pass


async def test_in_time() -> None:
    async with Deadline(30, TooLong()):
        await asyncio.sleep(0)


async def test_too_long() -> None:
    with pytest.raises(TooLong):
        async with Deadline(0.01, TooLong()):
            await asyncio.Event().wait()


async def test_the_task_is_not_left_cancelled() -> None:
    with pytest.raises(TooLong):
        async with Deadline(0.01, TooLong()):
            await asyncio.Event().wait()
    await asyncio.sleep(0)
    if sys.version_info >= (3, 11):
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def test_a_body_that_swallows_the_cancellation_is_too_late_all_the_same() -> None:
    async def body() -> None:
        async with Deadline(0.01, TooLong()):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    with pytest.raises(TooLong):
        await body()


async def test_an_error_of_the_body_passes() -> None:
    with pytest.raises(KeyError):
        async with Deadline(30, TooLong()):
            raise KeyError


async def test_a_cancellation_from_outside_passes() -> None:
    async def body() -> None:
        async with Deadline(30, TooLong()):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(body())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not count cancellations")
async def test_a_cancellation_from_outside_goes_before_the_time_limit() -> None:
    async def body() -> None:
        async with Deadline(0.01, TooLong()):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                running.cancel()
                raise

    running = asyncio.ensure_future(body())
    with pytest.raises(asyncio.CancelledError):
        await running
