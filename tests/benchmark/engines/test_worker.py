from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.engines.worker import MakesRows, Worker, models_of
from pytest_convoprobe.benchmark.rows.work import Item, RowResult, Task
from pytest_convoprobe.errors import (
    BudgetExceeded,
    LLMRejected,
    LLMUnavailable,
    NoTokenChances,
    SettingsError,
    SimulatorError,
    StructuredReplyError,
    TargetCrashed,
    TargetStartError,
)
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLM, LLMReply
from pytest_convoprobe.transcript import Usage
from tests.support.chat_server import ChatServer

from ..echo import EchoRowMaker, task, unit


def item(number: int = 1) -> Item:
    return Item(unit(number), {"say": "Hi"})


async def done(task: Task, llm: LLM, item: Item, make_rows: MakesRows = EchoRowMaker) -> RowResult:
    worker = Worker(task, llm, make_rows=make_rows)
    try:
        return await worker.do(item)
    finally:
        await worker.aclose()


class TestOutcomes:
    async def test_a_row_comes_with_what_it_cost(self, tmp_path: Path) -> None:
        llm = FakeLLM([LLMReply("Hello", usage=Usage(7, 3), cost=0.5, attempts=2)])
        outcome = await done(task(tmp_path), llm, item())
        assert outcome.row is not None
        assert outcome.row["conversation"][1]["content"] == "Hello"
        spent = outcome.spending["target"]
        assert (spent.calls, spent.attempts, spent.usage, spent.cost) == (1, 2, Usage(7, 3), 0.5)

    async def test_a_failure_comes_with_its_reason_and_what_it_cost(self, tmp_path: Path) -> None:
        llm = FakeLLM([LLMUnavailable("the provider is away", attempts=6)])
        outcome = await done(task(tmp_path), llm, item())
        assert (outcome.row, outcome.failure) == (None, "the provider is away")
        assert outcome.spending["target"].attempts == 6
        assert not outcome.rejected

    @pytest.mark.parametrize(
        "error",
        [LLMRejected("wrong key", status=401), SettingsError.of("no model"), TargetStartError("no module")],
    )
    async def test_what_other_rows_will_meet_too_is_a_rejection(
        self, tmp_path: Path, error: Exception
    ) -> None:
        assert (await done(task(tmp_path), FakeLLM([error]), item())).rejected

    async def test_a_run_that_may_not_spend_more_is_no_rejection(self, tmp_path: Path) -> None:
        outcome = await done(task(tmp_path), FakeLLM([BudgetExceeded("the budget is used up")]), item())
        assert outcome.over_budget
        assert not outcome.rejected
        assert outcome.failure == "the budget is used up"

    @pytest.mark.parametrize("error", [ZeroDivisionError("oops"), SystemExit("oops")])
    async def test_a_defect_is_a_failure(self, tmp_path: Path, error: BaseException) -> None:
        class Broken(EchoRowMaker):
            async def make(self, item: Item, llm: LLM) -> Any:
                raise error

        outcome = await done(task(tmp_path), FakeLLM([]), item(), Broken)
        assert outcome.failure == f"unexpected {type(error).__name__}: oops"

    async def test_a_cancellation_is_raised(self, tmp_path: Path) -> None:
        called = asyncio.Event()

        async def never(request: Any) -> str:
            called.set()
            await asyncio.sleep(3600)
            return ""

        going = asyncio.ensure_future(done(task(tmp_path), FakeLLM(never), item()))
        await called.wait()
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going

    async def test_secrets_are_in_no_row_and_no_reason(self, tmp_path: Path) -> None:
        secretive = task(tmp_path, secrets=("hunter2-hunter2",))
        row = (await done(secretive, FakeLLM(["I have hunter2-hunter2"]), item())).row
        assert row is not None
        assert row["conversation"][1]["content"] == "I have ****"
        failed = await done(secretive, FakeLLM([ValueError("hunter2-hunter2")]), item())
        assert failed.failure == "unexpected ValueError: ****"


class TestModels:
    async def test_without_models_of_its_own_it_leaves_them_open(self, tmp_path: Path) -> None:
        llm = FakeLLM(["Hello"])
        await done(task(tmp_path), llm, item())
        assert not llm.closed

    async def test_live_models_are_called_and_the_budget_is_the_tasks(self, tmp_path: Path) -> None:
        with ChatServer(["Good day"]) as server:
            live = task(tmp_path, url=server.base_url, max_tokens=1)
            models = models_of(live)
            worker = Worker(live, models, make_rows=EchoRowMaker)
            first, second = await worker.do(item(1)), await worker.do(item(2))
            await models.aclose()
        assert first.row is not None
        assert first.row["conversation"][1]["content"] == "Good day"
        assert second.over_budget
        assert "run.max_tokens 1" in second.failure


class TestRecordings:
    def file(self, folder: Path, name: str = "m01_s001_v01") -> Path:
        return folder / "_recordings" / "simulate-t1" / f"{name}.json"

    async def test_a_row_is_recorded_and_replayed(self, tmp_path: Path) -> None:
        await done(task(tmp_path, replay="record"), FakeLLM([LLMReply("Hello", cost=0.5)]), item())
        assert self.file(tmp_path).exists()
        outcome = await done(task(tmp_path, replay="only"), FakeLLM([]), item())
        assert outcome.row is not None
        assert outcome.row["conversation"][1]["content"] == "Hello"
        assert (outcome.spending["target"].replayed, outcome.spending["target"].cost) == (1, 0.5)

    async def test_samples_share_a_file(self, tmp_path: Path) -> None:
        first = item()
        place = replace(first.unit.place, sample=2)
        second = Item(replace(first.unit, place=place), first.payload)
        for one, text in ((first, "One"), (second, "Two")):
            await done(task(tmp_path, replay="record"), FakeLLM([text]), one)
        trials = {call["trial"] for call in json.loads(self.file(tmp_path).read_bytes())["calls"]}
        assert trials == {1, 2}
        outcome = await done(task(tmp_path, replay="only"), FakeLLM([]), second)
        assert outcome.row is not None
        assert outcome.row["conversation"][1]["content"] == "Two"

    async def test_a_score_for_another_metric_has_a_file_of_its_own(self, tmp_path: Path) -> None:
        first = item()
        unit = replace(first.unit, place=replace(first.unit.place, metric_id="m02"))
        await done(task(tmp_path, replay="record"), FakeLLM(["Hello"]), Item(unit, first.payload))
        assert self.file(tmp_path, "m01_s001_v01@m02").exists()

    async def test_no_id_leads_out_of_the_folder(self, tmp_path: Path) -> None:
        first = item()
        unit = replace(first.unit, place=replace(first.unit.place, id="../../escaped"))
        await done(task(tmp_path, replay="record"), FakeLLM(["Hello"]), Item(unit, first.payload))
        assert [path.parent.name for path in tmp_path.rglob("*escaped*")] == ["simulate-t1"]

    async def test_what_is_not_recorded_fails_and_says_so(self, tmp_path: Path) -> None:
        outcome = await done(task(tmp_path, replay="only"), FakeLLM([]), item())
        assert "no reply is recorded for the target's call in turn 1" in outcome.failure

    async def test_a_row_that_a_provider_broke_off_is_not_recorded_as_whole(self, tmp_path: Path) -> None:
        await done(task(tmp_path, replay="record"), FakeLLM([LLMUnavailable("away")]), item())
        assert not self.file(tmp_path).exists()

    @pytest.mark.parametrize(
        "error", [StructuredReplyError("no JSON"), SimulatorError("no user"), NoTokenChances("no logprobs")]
    )
    async def test_replies_that_were_no_use_are_asked_for_again_by_the_next_run(
        self, tmp_path: Path, error: Exception
    ) -> None:
        class Picky(EchoRowMaker):
            async def make(self, item: Item, llm: LLM) -> Any:
                row = await super().make(item, llm)
                if row["conversation"][1]["content"] == "gibberish":
                    raise error
                return row

        replayed = task(tmp_path, replay="auto")
        first = await done(replayed, FakeLLM(["gibberish"]), item(), Picky)
        second = await done(replayed, FakeLLM(["Hello"]), item(), Picky)
        assert (first.failure, second.failure) == (str(error), "")

    async def test_replies_from_before_a_provider_was_away_are_replayed_by_the_next_run(
        self, tmp_path: Path
    ) -> None:
        class Twice(EchoRowMaker):
            async def make(self, item: Item, llm: LLM) -> Any:
                await super().make(item, llm)
                return await super().make(item, llm)

        replayed = task(tmp_path, replay="auto")
        first = await done(replayed, FakeLLM(["One", LLMUnavailable("away")]), item(), Twice)
        second = await done(replayed, FakeLLM(["Two"]), item(), Twice)
        assert (first.failure, second.failure) == ("away", "")
        assert (second.spending["target"].calls, second.spending["target"].replayed) == (2, 1)

    async def test_a_crash_of_the_target_is_a_finding_and_is_recorded(self, tmp_path: Path) -> None:
        class Crashing(EchoRowMaker):
            async def make(self, item: Item, llm: LLM) -> Any:
                await super().make(item, llm)
                raise TargetCrashed("it fell over")

        recorded = task(tmp_path, replay="record")
        outcome = await done(recorded, FakeLLM(["Hello"]), item(), Crashing)
        assert outcome.failure == "it fell over"
        assert self.file(tmp_path).exists()
