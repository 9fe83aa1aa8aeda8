from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.benchmark.rows.work import Item, RowResult
from pytest_convoprobe.llm.budget import Budget
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLM, LLMRequest
from tests.support.chat_server import ChatServer

from ..echo import EchoRowMaker, task, unit


def items(count: int) -> Iterator[Item]:
    return (Item(unit(number), {"say": "Hi"}) for number in range(1, count + 1))


async def outcomes(engine: LocalEngine, folder: Path, count: int, **run: Any) -> list[RowResult]:
    return [outcome async for outcome in engine.run(task(folder, **run), items(count))]


class TestRunning:
    async def test_each_item_has_one_outcome(self, tmp_path: Path) -> None:
        engine = LocalEngine(llm=FakeLLM(lambda request: "Hello"), make_rows=EchoRowMaker)
        found = await outcomes(engine, tmp_path, 30, concurrency=4)
        assert {outcome.unit for outcome in found} == {unit(number) for number in range(1, 31)}
        assert len(found) == 30

    async def test_no_items_are_no_work(self, tmp_path: Path) -> None:
        assert await outcomes(LocalEngine(llm=FakeLLM([]), make_rows=EchoRowMaker), tmp_path, 0) == []

    async def test_as_many_at_once_as_the_settings_say(self, tmp_path: Path) -> None:
        running = most = 0

        async def answer(request: LLMRequest) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return "Hello"

        await outcomes(LocalEngine(llm=FakeLLM(answer), make_rows=EchoRowMaker), tmp_path, 20, concurrency=5)
        assert most == 5

    async def test_a_target_that_cancels_itself_fails_alone(self, tmp_path: Path) -> None:
        class Cancelling(EchoRowMaker):
            async def make(self, item: Item, llm: LLM) -> Any:
                if item.unit == unit(2):
                    raise asyncio.CancelledError
                return await super().make(item, llm)

        engine = LocalEngine(llm=FakeLLM(lambda request: "Hello"), make_rows=Cancelling)
        failed = {one.unit: one.failure for one in await outcomes(engine, tmp_path, 3) if one.failure}
        assert list(failed) == [unit(2)]
        assert "cancelled from within" in failed[unit(2)]


class TestEnding:
    async def test_leaving_early_ends_what_is_being_made(self, tmp_path: Path) -> None:
        cancelled: list[str] = []

        async def answer(request: LLMRequest) -> str:
            if request.context.scenario == unit(1).place.id:
                return "Hello"
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.append(request.context.scenario)
                raise
            return ""

        engine = LocalEngine(llm=FakeLLM(answer), make_rows=EchoRowMaker)
        async with aclosing(engine.run(task(tmp_path, concurrency=3), items(9))) as running:
            first = await running.__anext__()
        assert first.unit == unit(1)
        assert sorted(cancelled) == [unit(2).place.id, unit(3).place.id]

    async def test_the_hand_is_closed_when_its_task_is_over(self, tmp_path: Path) -> None:
        closed: list[bool] = []

        class Closing(EchoRowMaker):
            async def aclose(self) -> None:
                closed.append(True)

        await outcomes(LocalEngine(llm=FakeLLM(["Hello"]), make_rows=Closing), tmp_path, 1)
        assert closed == [True]

    async def test_models_that_were_given_stay_open(self, tmp_path: Path) -> None:
        llm = FakeLLM(["Hello"])
        engine = LocalEngine(llm=llm, make_rows=EchoRowMaker)
        await outcomes(engine, tmp_path, 1)
        await engine.aclose()
        assert not llm.closed


class TestBudget:
    @pytest.mark.parametrize("given", [True, False])
    async def test_tasks_share_one(self, tmp_path: Path, given: bool) -> None:
        budget = Budget(max_tokens=1) if given else None
        with ChatServer() as server:
            engine = LocalEngine(budget=budget, make_rows=EchoRowMaker)
            live = {"url": server.base_url, "max_tokens": 1}
            first = await outcomes(engine, tmp_path, 1, **live)
            second = await outcomes(engine, tmp_path, 1, **live)
            await engine.aclose()
        assert [one.over_budget for one in (*first, *second)] == [False, True]
