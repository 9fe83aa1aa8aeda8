from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convoprobe.loop_thread import LoopThread
from pytest_convoprobe.runs.pool import CancelledFromWithin, Handle, Pool, Stats

SOON = 10.0  # a bound against hanging, never a measurement


@pytest.fixture
def loop_thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.close(SOON)


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


async def give(value: object) -> object:
    return value


async def passing(gate: threading.Event) -> str:
    """Ends when another thread opens the gate."""
    while not gate.is_set():
        await asyncio.sleep(0.001)
    return "through"


def python(code: str, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *options, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


class TestLoopThread:
    def test_run_returns_what_the_coroutine_returns(self, loop_thread: LoopThread) -> None:
        assert loop_thread.run(give(7)) == 7

    def test_run_raises_what_the_coroutine_raises(self, loop_thread: LoopThread) -> None:
        async def fail() -> None:
            raise LookupError("no such city")

        with pytest.raises(LookupError, match="no such city"):
            loop_thread.run(fail())

    def test_a_timeout_error_of_the_coroutine_is_not_taken_for_waiting(self, loop_thread: LoopThread) -> None:
        async def fail() -> None:
            raise concurrent.futures.TimeoutError("the coroutine's own")

        with pytest.raises(concurrent.futures.TimeoutError, match="the coroutine's own"):
            loop_thread.run(fail())

    def test_everything_runs_on_one_loop_in_one_daemon_thread(self, loop_thread: LoopThread) -> None:
        async def where() -> tuple[object, threading.Thread]:
            return asyncio.get_running_loop(), threading.current_thread()

        first, second = loop_thread.run(where()), loop_thread.run(where())
        assert first == second
        assert first[1].daemon
        assert first[1] is not threading.current_thread()

    def test_no_thread_before_the_first_coroutine(self) -> None:
        before = threading.active_count()
        LoopThread().close()
        assert threading.active_count() == before

    def test_run_on_its_own_thread_is_refused(self, loop_thread: LoopThread) -> None:
        async def wait_for_itself() -> None:
            loop_thread.run(give(1))

        with pytest.raises(RuntimeError, match="its own thread"):
            loop_thread.run(wait_for_itself())

    def test_close_on_its_own_thread_is_refused(self, loop_thread: LoopThread) -> None:
        async def end_itself() -> None:
            loop_thread.close()

        with pytest.raises(RuntimeError, match="thread that it ends"):
            loop_thread.run(end_itself())

    def test_close_cancels_what_runs_and_lets_it_clean_up(self, loop_thread: LoopThread) -> None:
        events: list[str] = []

        async def work(begun: asyncio.Event) -> None:
            try:
                begun.set()
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0.01)
                events.append("cleaned up")

        async def start() -> concurrent.futures.Future[None]:
            begun = asyncio.Event()
            future = loop_thread.submit(work(begun))
            await begun.wait()
            return future

        future = loop_thread.run(start())
        assert loop_thread.close(SOON)
        assert events == ["cleaned up"]
        with pytest.raises(concurrent.futures.CancelledError):
            future.result(SOON)

    def test_close_ends_asynchronous_generators(self, loop_thread: LoopThread) -> None:
        events: list[str] = []
        kept = []

        async def numbers():
            try:
                yield 1
            finally:
                events.append("ended")

        async def take_one() -> None:
            generator = numbers()
            kept.append(generator)
            await generator.__anext__()

        loop_thread.run(take_one())
        loop_thread.close(SOON)
        assert events == ["ended"]

    def test_close_twice_does_nothing(self, loop_thread: LoopThread) -> None:
        loop_thread.run(give(1))
        assert loop_thread.close(SOON)
        assert loop_thread.close(SOON)

    def test_close_ends_the_thread(self, loop_thread: LoopThread) -> None:
        async def me() -> threading.Thread:
            return threading.current_thread()

        thread = loop_thread.run(me())
        loop_thread.close(SOON)
        assert not thread.is_alive()

    def test_close_gives_up_on_what_refuses_to_end(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        async def stubborn(begun: threading.Event) -> None:
            begun.set()
            while not gate.is_set():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue

        begun = threading.Event()
        future = loop_thread.submit(stubborn(begun))
        assert begun.wait(SOON)
        assert not loop_thread.close(timeout=0.1)
        gate.set()
        assert future.result(SOON) is None

    def test_close_gives_up_on_a_blocked_loop(self, loop_thread: LoopThread, gate: threading.Event) -> None:
        async def block(begun: threading.Event) -> None:
            begun.set()
            gate.wait(SOON)

        begun = threading.Event()
        loop_thread.submit(block(begun))
        assert begun.wait(SOON)
        assert not loop_thread.close(timeout=0.1)
        gate.set()

    def test_submit_after_close_is_a_clear_error(self, loop_thread: LoopThread) -> None:
        loop_thread.close()
        with pytest.raises(RuntimeError, match="event loop of convoprobe is closed"):
            loop_thread.submit(give(1))

    @pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
    def test_a_coroutine_that_wants_to_end_the_process_does_not_end_the_loop(
        self, loop_thread: LoopThread, kind: type[BaseException]
    ) -> None:
        async def leave() -> None:
            raise kind

        with pytest.raises(kind):
            loop_thread.run(leave())
        assert loop_thread.run(give("still here")) == "still here"

    def test_clean_under_dev_mode_and_warnings_as_errors(self) -> None:
        process = python(
            """
            import asyncio, gc
            from pytest_convoprobe.loop_thread import LoopThread
            from pytest_convoprobe.runs.pool import Pool

            async def forever():
                await asyncio.sleep(3600)

            async def endless():
                while True:
                    yield 1
                    await asyncio.sleep(3600)

            async def consume():
                async for _ in endless():
                    pass

            async def background():
                asyncio.get_running_loop().create_task(forever())

            async def fail():
                raise ValueError("nobody looks at this")

            loop_thread = LoopThread()
            pool = Pool(loop_thread, 2)
            for number in range(10):
                pool.submit(number, forever)
            loop_thread.submit(consume())
            loop_thread.submit(fail())
            loop_thread.run(background())
            print(loop_thread.close(), pool.stats.waiting)
            del loop_thread, pool
            gc.collect()
            """,
            "-X",
            "dev",
            "-W",
            "error",
        )
        out, err = process.communicate(timeout=60)
        assert (out, err, process.returncode) == ("True 0\n", "", 0)

    def test_forgetting_to_close_does_not_keep_the_process(self) -> None:
        process = python(
            """
            import asyncio
            from pytest_convoprobe.loop_thread import LoopThread
            LoopThread().submit(asyncio.sleep(3600))
            print("end")
            """
        )
        out, err = process.communicate(timeout=60)
        assert (out, err, process.returncode) == ("end\n", "", 0)

    @pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
    def test_ctrl_c_while_waiting_is_raised_at_once_and_everything_ends(self) -> None:
        process = python(
            """
            import asyncio
            from pytest_convoprobe.loop_thread import LoopThread
            from pytest_convoprobe.runs.pool import Pool

            async def forever():
                print("running")
                try:
                    await asyncio.sleep(3600)
                finally:
                    print("cleaned up")

            loop_thread = LoopThread()
            pool = Pool(loop_thread, 1)
            handle = pool.submit("a", forever)
            try:
                handle.result()
            except KeyboardInterrupt:
                print("interrupted")
                print(pool.cancel_all(), loop_thread.close(), handle.cancelled)
            """
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out, err) == ("interrupted\ncleaned up\nTrue True True\n", "")

    @pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
    def test_ctrl_c_in_run_cancels_the_coroutine(self) -> None:
        process = python(
            """
            import asyncio
            from pytest_convoprobe.loop_thread import LoopThread

            async def forever():
                print("running")
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    print("cancelled")
                    raise

            loop_thread = LoopThread()
            try:
                loop_thread.run(forever())
            except KeyboardInterrupt:
                loop_thread.close()
            """
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out, err) == ("cancelled\n", "")


class TestPool:
    def test_results_come_back_under_their_handles(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 3)
        handles = [pool.submit(number, lambda number=number: give(number * 2)) for number in range(20)]
        assert [handle.result(SOON) for handle in handles] == [number * 2 for number in range(20)]

    def test_jobs_start_in_the_order_of_submission(self, loop_thread: LoopThread) -> None:
        started: list[int] = []

        async def job(number: int) -> None:
            started.append(number)
            await asyncio.sleep(0.001 * (number % 3))

        pool = Pool(loop_thread, 4)
        handles = [pool.submit(number, lambda number=number: job(number)) for number in range(50)]
        assert all(handle.wait(SOON) for handle in handles)
        assert started == list(range(50))

    def test_never_more_than_the_limit_at_once_and_no_fewer_while_there_is_work(
        self, loop_thread: LoopThread
    ) -> None:
        running, peaks = 0, []

        async def job() -> None:
            nonlocal running
            running += 1
            peaks.append(running)
            await asyncio.sleep(0.001)
            running -= 1

        pool = Pool(loop_thread, 5)
        handles = [pool.submit(number, job) for number in range(60)]
        assert all(handle.wait(SOON) for handle in handles)
        assert max(peaks) == 5

    def test_one_that_raises_does_not_disturb_the_others(self, loop_thread: LoopThread) -> None:
        async def fail() -> None:
            raise ValueError("only me")

        pool = Pool(loop_thread, 1)
        before, bad, after = (
            pool.submit("a", lambda: give("a")),
            pool.submit("b", fail),
            pool.submit("c", lambda: give("c")),
        )
        with pytest.raises(ValueError, match="only me"):
            bad.result(SOON)
        assert (before.result(SOON), after.result(SOON)) == ("a", "c")

    def test_one_that_exits_does_not_disturb_the_others(self, loop_thread: LoopThread) -> None:
        async def leave() -> None:
            sys.exit(3)

        pool = Pool(loop_thread, 2)
        bad, good = pool.submit("a", leave), pool.submit("b", lambda: give("b"))
        with pytest.raises(SystemExit):
            bad.result(SOON)
        assert good.result(SOON) == "b"

    def test_one_that_stops_the_loop_does_not_disturb_the_others(self, loop_thread: LoopThread) -> None:
        async def stop() -> str:
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0.001)
            return "stopped"

        pool = Pool(loop_thread, 2)
        bad, good = pool.submit("a", stop), pool.submit("b", lambda: give("b"))
        assert (bad.result(SOON), good.result(SOON)) == ("stopped", "b")

    def test_one_that_cancels_itself_says_so(self, loop_thread: LoopThread) -> None:
        async def cancel_itself() -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(60)

        handle = Pool(loop_thread, 1).submit("a", cancel_itself)
        with pytest.raises(CancelledFromWithin, match="cancelled from within"):
            handle.result(SOON)

    def test_a_factory_that_raises_is_the_jobs_own_error(self, loop_thread: LoopThread) -> None:
        def broken() -> object:
            raise KeyError("factory")

        pool = Pool(loop_thread, 1)
        bad, good = pool.submit("a", broken), pool.submit("b", lambda: give("b"))  # type: ignore[arg-type]
        with pytest.raises(KeyError, match="factory"):
            bad.result(SOON)
        assert good.result(SOON) == "b"

    def test_a_promoted_job_starts_next(self, loop_thread: LoopThread, gate: threading.Event) -> None:
        started: list[str] = []

        async def job(name: str) -> None:
            started.append(name)

        pool = Pool(loop_thread, 1)
        pool.submit("first", lambda: passing(gate))
        handles = [pool.submit(name, lambda name=name: job(name)) for name in "abcd"]
        assert pool.promote("c")
        gate.set()
        assert all(handle.wait(SOON) for handle in handles)
        assert started == ["c", "a", "b", "d"]

    def test_promoting_what_does_not_wait_changes_nothing(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        pool = Pool(loop_thread, 1)
        running = pool.submit("a", lambda: passing(gate))
        assert _until_running(pool, 1)
        assert (pool.promote("a"), pool.promote("unheard of")) == (False, False)
        gate.set()
        assert running.result(SOON) == "through"

    def test_a_waiting_job_that_is_cancelled_never_starts(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        started: list[str] = []

        async def job() -> None:
            started.append("b")

        pool = Pool(loop_thread, 1)
        first, second = pool.submit("a", lambda: passing(gate)), pool.submit("b", job)
        third = pool.submit("c", lambda: give("c"))
        assert pool.cancel("b")
        gate.set()
        assert (first.result(SOON), third.result(SOON)) == ("through", "c")
        assert second.cancelled
        assert started == []
        with pytest.raises(concurrent.futures.CancelledError):
            second.result(SOON)

    def test_a_running_job_that_is_cancelled_cleans_up_and_makes_room(self, loop_thread: LoopThread) -> None:
        events: list[str] = []

        async def job() -> None:
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0)
                events.append("cleaned up")

        pool = Pool(loop_thread, 1)
        first, second = pool.submit("a", job), pool.submit("b", lambda: give(list(events)))
        assert _until_running(pool, 1)
        loop_thread.run(asyncio.sleep(0))
        assert pool.cancel("a")
        with pytest.raises(concurrent.futures.CancelledError):
            first.result(SOON)
        assert second.result(SOON) == ["cleaned up"]

    def test_cancelling_what_is_not_there(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 1)
        done = pool.submit("a", lambda: give(1))
        assert done.result(SOON) == 1
        assert (pool.cancel("a"), pool.cancel("unheard of")) == (False, False)

    def test_cancel_all_in_the_middle(self, loop_thread: LoopThread, gate: threading.Event) -> None:
        pool = Pool(loop_thread, 3)
        finished = pool.submit("early", lambda: give("early"))
        assert finished.result(SOON) == "early"
        handles = [pool.submit(number, lambda: passing(gate)) for number in range(10)]
        assert pool.cancel_all(SOON)
        assert all(handle.cancelled for handle in handles)
        assert finished.result() == "early"
        assert (pool.stats.running, pool.stats.waiting) == (0, 0)

    def test_a_pool_can_be_used_after_cancel_all(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        pool = Pool(loop_thread, 1)
        pool.submit("a", lambda: passing(gate))
        pool.cancel_all(SOON)
        assert pool.submit("a", lambda: give("afresh")).result(SOON) == "afresh"

    def test_nobody_waits_for_a_job_that_refuses_to_end(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        async def stubborn() -> str:
            while True:
                try:
                    return await passing(gate)
                except asyncio.CancelledError:
                    continue

        pool = Pool(loop_thread, 1)
        handle = pool.submit("a", stubborn)
        assert _until_running(pool, 1)
        loop_thread.run(asyncio.sleep(0))
        assert not pool.cancel_all(timeout=0.05)
        assert handle.cancelled
        assert pool.stats.running == 1
        gate.set()
        assert _until_running(pool, 0)
        assert handle.cancelled

    def test_closing_the_loop_cancels_running_and_waiting_jobs(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        pool = Pool(loop_thread, 2)
        handles = [pool.submit(number, lambda: passing(gate)) for number in range(8)]
        assert loop_thread.close(SOON)
        assert all(handle.cancelled for handle in handles)

    def test_submit_after_close_is_a_clear_error(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 2)
        loop_thread.close()
        with pytest.raises(RuntimeError, match="'a' cannot be started: the pool's event loop is closed"):
            pool.submit("a", lambda: give(1))

    def test_one_key_cannot_be_in_the_pool_twice(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        pool = Pool(loop_thread, 1)
        pool.submit("a", lambda: passing(gate))
        with pytest.raises(ValueError, match="'a' is in the pool already"):
            pool.submit("a", lambda: give(1))

    def test_a_key_can_be_used_again_after_its_end(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 1)
        assert [pool.submit("a", lambda n=n: give(n)).result(SOON) for n in (1, 2)] == [1, 2]

    def test_a_limit_below_one_is_refused(self, loop_thread: LoopThread) -> None:
        with pytest.raises(ValueError, match="limit=0"):
            Pool(loop_thread, 0)

    def test_stats_count_done_running_and_waiting(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        pool = Pool(loop_thread, 2)
        pool.submit("early", lambda: give(1)).result(SOON)
        handles = [pool.submit(number, lambda: passing(gate)) for number in range(5)]
        assert _until_running(pool, 2)
        assert pool.stats == Stats(done=1, running=2, waiting=3)
        gate.set()
        assert all(handle.wait(SOON) for handle in handles)
        assert pool.stats == Stats(done=6)

    def test_wait_says_whether_the_end_has_come(self, loop_thread: LoopThread, gate: threading.Event) -> None:
        handle = Pool(loop_thread, 1).submit("a", lambda: passing(gate))
        assert not handle.wait(0.01)
        assert not handle.done
        gate.set()
        assert handle.wait(SOON)
        assert handle.done

    def test_result_with_a_timeout_names_the_job(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        handle = Pool(loop_thread, 1).submit("order.yaml::late", lambda: passing(gate))
        with pytest.raises(TimeoutError, match=r"'order.yaml::late' has not ended after 0.01 s"):
            handle.result(0.01)

    def test_the_duration_leaves_out_the_wait_in_the_queue(
        self, loop_thread: LoopThread, gate: threading.Event
    ) -> None:
        pool = Pool(loop_thread, 1)
        first, second = pool.submit("a", lambda: passing(gate)), pool.submit("b", lambda: give("b"))
        assert _until_running(pool, 1)
        loop_thread.run(asyncio.sleep(0))
        assert not first.wait(0.05)
        assert second.duration == 0.0
        opened = time.monotonic()
        gate.set()
        second.result(SOON)
        assert 0.0 < second.duration <= time.monotonic() - opened
        assert first.duration >= 0.05

    def test_the_duration_stands_still_after_the_end(self, loop_thread: LoopThread) -> None:
        handle: Handle[object] = Pool(loop_thread, 1).submit("a", lambda: give(1))
        handle.result(SOON)
        assert handle.duration == handle.duration

    def test_ten_thousand_jobs(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 16)
        handles = [pool.submit(number, lambda number=number: give(number)) for number in range(10_000)]
        assert [handle.result(60.0) for handle in handles] == list(range(10_000))
        assert pool.stats == Stats(done=10_000)

    def test_jobs_may_submit_jobs(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 1)

        async def outer() -> Handle[object]:
            return pool.submit("inner", lambda: give("inner"))

        assert pool.submit("outer", outer).result(SOON).result(SOON) == "inner"

    def test_submitted_from_many_threads(self, loop_thread: LoopThread) -> None:
        pool = Pool(loop_thread, 4)
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            handles = list(threads.map(lambda n: pool.submit(n, lambda: give(n)), range(500)))
        assert [handle.result(SOON) for handle in handles] == list(range(500))


@given(
    limit=st.integers(1, 4),
    steps=st.lists(
        st.tuples(st.sampled_from(["submit", "promote", "cancel"]), st.integers(0, 15)), max_size=40
    ),
    all_cancelled=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_done_every_job_ends_and_the_bound_holds(
    limit: int, steps: list[tuple[str, int]], all_cancelled: bool
) -> None:
    running, peak = 0, 0

    async def job(number: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        try:
            await asyncio.sleep(0)
            return number
        finally:
            running -= 1

    loop_thread = LoopThread()
    pool = Pool(loop_thread, limit)
    handles = []
    for step, number in steps:
        if step == "submit":
            # Numbers come again; a key may only be used again after its end.
            key = (number, len(handles))
            handles.append(pool.submit(key, lambda number=number: job(number)))
        elif handles:
            key = handles[number % len(handles)].key
            (pool.promote if step == "promote" else pool.cancel)(key)
    if all_cancelled:
        assert pool.cancel_all(SOON)
    ended = [handle.wait(SOON) for handle in handles]
    assert loop_thread.close(SOON)
    assert all(ended)
    assert all(handle.cancelled or handle.result() == handle.key[0] for handle in handles)
    assert (peak, running) == (min(peak, limit), 0)


def _until_running(pool: Pool, count: int) -> bool:
    """Wait until so many jobs run; False if that never comes."""
    for _ in range(int(SOON / 0.002)):
        if pool.stats.running == count:
            return True
        threading.Event().wait(0.002)
    return False


class Room:
    """Places that somebody else gives; what the pool said of its use last."""

    def __init__(self) -> None:
        self.size = 0
        self.changed: Callable[[], object] = bool
        self.noted = (0, 0)

    def note(self, active: int, waiting: int) -> None:
        self.noted = (active, waiting)

    def give(self, loop_thread: LoopThread, size: int) -> None:
        self.size = size
        loop_thread.call(self.changed)


class TestSharedRoom:
    def test_jobs_start_as_places_are_given(self, loop_thread: LoopThread, gate: threading.Event) -> None:
        room = Room()
        pool = Pool(loop_thread, room)
        handles = [pool.submit(number, lambda: passing(gate)) for number in range(5)]
        until(lambda: room.noted == (0, 5))
        room.give(loop_thread, 2)
        until(lambda: room.noted == (2, 3))
        room.give(loop_thread, 0)  # what runs goes on
        gate.set()
        until(lambda: room.noted == (0, 3))
        room.give(loop_thread, 1)
        assert all(handle.wait(SOON) for handle in handles)
        until(lambda: room.noted == (0, 0))

    @pytest.mark.parametrize("all_of_them", [True, False])
    def test_a_job_that_is_cancelled_wants_no_place_any_more(
        self, loop_thread: LoopThread, all_of_them: bool
    ) -> None:
        room = Room()
        pool = Pool(loop_thread, room)
        pool.submit("a", lambda: give(1))
        until(lambda: room.noted == (0, 1))
        pool.cancel_all(SOON) if all_of_them else pool.cancel("a")
        until(lambda: room.noted == (0, 0))


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SOON
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)
