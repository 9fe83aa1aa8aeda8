from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from pytest_convoprobe.threads import CallThread, start_call

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


async def test_gives_the_result_of_a_function_run_elsewhere() -> None:
    assert await start_call(threading.get_ident).future != threading.get_ident()


async def test_an_exception_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await start_call(lambda: 1 / 0).future


async def test_stop_iteration_becomes_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        await start_call(lambda: next(iter(()))).future


@pytest.mark.parametrize("kind", [GeneratorExit, asyncio.CancelledError])
async def test_what_would_end_the_callers_task_becomes_a_runtime_error(kind: type[BaseException]) -> None:
    def function() -> None:
        raise kind

    with pytest.raises(RuntimeError, match=kind.__name__):
        await start_call(function).future


async def test_context_variables_are_those_of_the_caller() -> None:
    VARIABLE.set("set here")
    assert await start_call(VARIABLE.get).future == "set here"


async def test_threads_are_daemons() -> None:
    assert (await start_call(threading.current_thread).future).daemon


async def test_a_worker_runs_all_its_calls_in_one_thread() -> None:
    worker = CallThread()
    assert await worker.run(threading.get_ident) == await worker.run(threading.get_ident)
    worker.stop()


async def test_two_workers_have_two_threads() -> None:
    one, two = CallThread(), CallThread()
    assert await one.run(threading.current_thread) is not await two.run(threading.current_thread)
    one.stop()
    two.stop()


async def test_a_stopped_worker_ends_its_thread() -> None:
    worker = CallThread()
    thread = await worker.run(threading.current_thread)
    worker.stop()
    thread.join(10)
    assert not thread.is_alive()


async def test_a_worker_that_was_never_used_can_be_stopped() -> None:
    worker = CallThread()
    worker.stop()
    assert not worker.busy


async def test_a_worker_is_busy_until_its_call_ends_also_if_nobody_waits() -> None:
    worker, gate = CallThread(), threading.Event()
    abandoned = worker.run(gate.wait)
    abandoned.cancel()
    assert worker.busy
    gate.set()
    await worker.run(lambda: None)
    assert not worker.busy
    worker.stop()


def test_a_call_that_ends_after_its_loop_was_closed_harms_nobody() -> None:
    gate, ended, raised = threading.Event(), threading.Event(), []
    previous, threading.excepthook = threading.excepthook, raised.append

    def call() -> None:
        gate.wait(10)
        ended.set()

    async def abandon() -> threading.Thread:
        start_call(call)
        await asyncio.sleep(0)
        return next(thread for thread in threading.enumerate() if thread.name == "convoprobe-target")

    try:
        thread = asyncio.run(abandon())
        gate.set()
        thread.join(10)
    finally:
        threading.excepthook = previous
    assert ended.is_set()
    assert raised == []
