from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.benchmark.format.folder import BenchmarkFolder
from pytest_convoprobe.benchmark.pipeline.driver import Counts, StageReport, reasons
from pytest_convoprobe.benchmark.rows.work import Item, Place, RowResult, Unit
from pytest_convoprobe.benchmark.stages.options import Options
from pytest_convoprobe.errors import BudgetExceeded, LLMRejected, LLMUnavailable, ResultsError
from pytest_convoprobe.llm.fake import Answer, FakeLLM
from pytest_convoprobe.llm.port import LLMReply, LLMRequest

from ..echo import Echo, EchoRowMaker, place, run, run_echo, table, task


def said(folder: Path, target: str = "t1") -> dict[str, str]:
    rows = json.loads(BenchmarkFolder(folder).conversations(target).read_bytes())
    return {row["id"]: row["conversation"][1]["content"] for row in rows}


def polite(request: LLMRequest) -> Answer:
    return LLMReply(f"Good day, {request.context.scenario}", cost=0.25)


def failing(*scenarios: str, error: Callable[[], Exception]) -> FakeLLM:
    """Answers politely, but for these scenarios."""
    return FakeLLM(lambda request: error() if request.context.scenario in scenarios else polite(request))


def away() -> Exception:
    return LLMUnavailable("the provider is away", status=503)


def wrong_key() -> Exception:
    return LLMRejected("the key is wrong", status=401)


class TestWhatIsMade:
    def test_all_rows_of_all_targets(self, tmp_path: Path) -> None:
        report = run(task(tmp_path, ("a", "b")), FakeLLM(polite))
        assert {target: one.made for target, one in report.targets.items()} == {"a": 3, "b": 3}
        assert said(tmp_path, "a") == {place(n).id: f"Good day, {place(n).id}" for n in (1, 2, 3)}
        assert said(tmp_path, "b") == said(tmp_path, "a")
        assert report.spending["target"].calls == 6
        assert report.spending["target"].cost == 1.5

    def test_a_second_run_makes_nothing(self, tmp_path: Path) -> None:
        run(task(tmp_path), FakeLLM(polite))
        llm = FakeLLM(polite)
        report = run(task(tmp_path), llm)
        assert llm.requests == []
        assert (report.targets["t1"].before, report.made) == (3, 0)

    def test_only_what_changed_is_made_anew(self, tmp_path: Path) -> None:
        run(task(tmp_path), FakeLLM(polite))
        llm = FakeLLM("Changed" for _ in range(3))
        report = run(task(tmp_path), llm, Echo(key="other"))
        assert report.made == 3
        assert set(said(tmp_path).values()) == {"Changed"}

    def test_force_makes_anew_what_is_done(self, tmp_path: Path) -> None:
        run(task(tmp_path), FakeLLM(polite))
        report = run(task(tmp_path), FakeLLM("Anew" for _ in range(3)), options=Options(force=True))
        assert report.made == 3
        assert set(said(tmp_path).values()) == {"Anew"}

    def test_a_limit_is_for_all_targets_together(self, tmp_path: Path) -> None:
        report = run(task(tmp_path, ("a", "b")), FakeLLM(polite), options=Options(limit=3))
        assert {target: one.made for target, one in report.targets.items()} == {"a": 2, "b": 1}
        assert report.left == 3
        assert list(said(tmp_path, "a")) == [place(1).id, place(2).id]

    def test_targets_take_turns(self, tmp_path: Path) -> None:
        llm = FakeLLM(polite)
        run(task(tmp_path, ("a", "b"), concurrency=1), llm)
        assert [request.model.model for request in llm.requests] == ["openai/a", "openai/b"] * 3

    def test_no_more_is_prepared_than_there_is_room_for(self, tmp_path: Path) -> None:
        prepared, answered = 0, 0

        class Counting(Echo):
            def payload(self, unit: Unit) -> dict[str, Any]:
                nonlocal prepared
                prepared += 1
                assert prepared - answered <= 2
                return {"say": "Hi"}

        def count(request: LLMRequest) -> str:
            nonlocal answered
            answered += 1
            return "Hello"

        assert run(task(tmp_path, concurrency=2), FakeLLM(count), Counting(20)).made == 20


class TestOnly:
    @pytest.mark.parametrize(
        ("only", "chosen"),
        [
            ("m01_s002_v01", [2]),
            ("m01_s002", [2]),
            ("m01_s00[13]*", [1, 3]),
            ("m01", [1, 2, 3]),
            ("m02", []),
            (" m01_s001 , m01_s003_v01 ", [1, 3]),
            ("", [1, 2, 3]),
        ],
    )
    def test_patterns(self, only: str, chosen: list[int]) -> None:
        assert [n for n in (1, 2, 3) if Options(only=only).choose(place(n))] == chosen

    @pytest.mark.parametrize(
        ("only", "chosen"),
        [
            ("m02_s001", ["m02"]),
            ("m02_s001_v01", ["m02"]),
            ("m0?_s00[12]*", ["m01", "m02"]),
            ("*_v01", ["m01", "m02", "on_sale"]),
            ("on_s003", []),
            ("on_sale_s003", ["on_sale"]),
        ],
    )
    def test_what_a_scenario_is_made_of_is_chosen_with_it(self, only: str, chosen: list[str]) -> None:
        metrics = ("m01", "m02", "on_sale")
        assert [name for name in metrics if Options(only=only).choose(Place(name))] == chosen

    def test_a_row_of_others_is_not_taken_for_a_metric(self) -> None:
        assert not Options(only="*_s001").choose(Place("bakery", target="t1"))

    def test_a_score_for_another_metric_is_chosen_by_that(self) -> None:
        other = Place("m01_s001_v01", 1, "m02")
        assert Options(only="m02").choose(other)
        assert not Options(only="m01").choose(other)

    def test_what_was_made_before_stays_in_the_file(self, tmp_path: Path) -> None:
        run(task(tmp_path), FakeLLM(polite), options=Options(only="m01_s001"))
        report = run(task(tmp_path), FakeLLM(polite), options=Options(only="m01_s003"))
        assert (report.made, report.left) == (1, 0)
        assert list(said(tmp_path)) == [place(1).id, place(3).id]


class TestFailures:
    def test_a_row_that_fails_stops_no_other_and_is_tried_again(self, tmp_path: Path) -> None:
        report = run(task(tmp_path), failing(place(2).id, error=away))
        assert report.failed == ((place(2), "the provider is away"),)
        assert list(said(tmp_path)) == [place(1).id, place(3).id]
        llm = FakeLLM(polite)
        again = run(task(tmp_path), llm)
        assert [request.context.scenario for request in llm.requests] == [place(2).id]
        assert (again.targets["t1"].before, again.made, again.failed) == (2, 1, ())
        assert list(said(tmp_path)) == [place(1).id, place(2).id, place(3).id]

    def test_a_defect_is_one_rows(self, tmp_path: Path) -> None:
        report = run(task(tmp_path), failing(place(1).id, error=lambda: ZeroDivisionError("oops")))
        assert report.failed == ((place(1), "unexpected ZeroDivisionError: oops"),)
        assert report.made == 2

    def test_a_payload_that_cannot_be_read_is_one_rows(self, tmp_path: Path) -> None:
        class Unreadable(Echo):
            def payload(self, unit: Unit) -> Any:
                if unit.place == place(2):
                    raise ResultsError("scenarios.json: the row is broken")
                return super().payload(unit)

        report = run(task(tmp_path), FakeLLM(polite), Unreadable())
        assert report.failed == ((place(2), "scenarios.json: the row is broken"),)
        assert report.made == 2

    def test_a_target_that_is_always_rejected_is_left_out_and_others_go_on(self, tmp_path: Path) -> None:
        def answer(request: LLMRequest) -> Answer:
            return wrong_key() if request.model.model == "openai/a" else polite(request)

        llm = FakeLLM(answer)
        stage = Echo(50, ("a", "b"))
        report = run(task(tmp_path, ("a", "b"), concurrency=2), llm, stage)
        bad, good = report.targets["a"], report.targets["b"]
        assert bad.given_up == "the key is wrong"
        assert 5 <= len(bad.failed) <= 7
        assert bad.left == 50 - len(bad.failed)
        assert (good.made, good.given_up) == (50, "")

    def test_rejections_after_a_success_are_tried_on(self, tmp_path: Path) -> None:
        rejected = [place(n).id for n in range(2, 21)]
        report = run(task(tmp_path, concurrency=1), failing(*rejected, error=wrong_key), Echo(20))
        assert len(report.failed) == 19
        assert report.left == 0

    def test_faults_that_pass_are_no_reason_to_give_up(self, tmp_path: Path) -> None:
        everything = [place(n).id for n in range(1, 21)]
        report = run(task(tmp_path, concurrency=1), failing(*everything, error=away), Echo(20))
        assert len(report.failed) == 20
        assert report.targets["t1"].given_up == ""

    def test_reasons_are_told_with_how_often_they_came(self) -> None:
        failed = [(place(1), "away"), (place(2), "wrong"), (place(3), "away")]
        assert reasons(failed) == [("away", 2), ("wrong", 1)]


class TestBudget:
    def test_what_was_made_is_kept_and_what_is_left_is_told(self, tmp_path: Path) -> None:
        def answer(request: LLMRequest) -> Answer:
            number = int(request.context.scenario[5:8])
            return BudgetExceeded("the run's budget is used up") if number > 4 else polite(request)

        llm = FakeLLM(answer)
        report = run(task(tmp_path, concurrency=2), llm, Echo(100))
        assert report.budget == "the run's budget is used up"
        assert (report.made, report.left, report.failed) == (4, 96, ())
        assert len(said(tmp_path)) == 4
        assert len(llm.requests) <= 6

    def test_a_limit_on_tokens_is_kept_over_all_rows(self, tmp_path: Path, chat_server: Any) -> None:
        limited = task(tmp_path, url=chat_server.base_url, max_tokens=40, concurrency=1)
        report = run(limited, None, Echo(10))
        assert "run.max_tokens 40" in report.budget
        assert report.made == 3
        assert report.left == 7


class TestCancelling:
    def test_what_was_finished_is_there_and_the_file_is_as_it_was(self, tmp_path: Path) -> None:
        run(task(tmp_path), FakeLLM(polite), Echo(2))
        before = BenchmarkFolder(tmp_path).conversations("t1").read_bytes()

        async def cancelled() -> None:
            waiting = asyncio.Event()

            async def answer(request: LLMRequest) -> Answer:
                if request.context.scenario == place(4).id:
                    waiting.set()
                    await asyncio.sleep(3600)
                return polite(request)

            going = asyncio.ensure_future(run_echo(task(tmp_path, concurrency=1), FakeLLM(answer), Echo(6)))
            await waiting.wait()
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going

        asyncio.run(cancelled())
        assert BenchmarkFolder(tmp_path).conversations("t1").read_bytes() == before
        assert [n for n in range(1, 7) if table(tmp_path).done(Unit(place(n), f"k{n}"))] == [1, 2, 3]


class TestProgress:
    def test_a_stage_is_told_from_start_to_end(self, tmp_path: Path) -> None:
        told: list[Any] = []

        class Telling:
            def started(self, stage: str, due: Any) -> None:
                told.append((stage, dict(due)))

            def advanced(self, stage: str, target: str, outcome: RowResult) -> None:
                told.append((stage, target, outcome.unit.place.id, outcome.failure))

            def ended(self, report: StageReport) -> None:
                told.append(report)

        run(task(tmp_path), FakeLLM(polite), Echo(1))
        report = run(
            task(tmp_path, concurrency=1), failing(place(2).id, error=away), Echo(3), progress=Telling()
        )
        assert told == [
            ("simulate", {"t1": Counts(done=1, missing=2)}),
            ("simulate", "t1", place(2).id, "the provider is away"),
            ("simulate", "t1", place(3).id, ""),
            report,
        ]

    def test_answers_that_nobody_could_read_are_counted(self, tmp_path: Path) -> None:
        class Unsure(EchoRowMaker):
            async def make(self, item: Item, llm: Any) -> dict[str, Any]:
                sure = item.unit.place == place(1)
                return {**await super().make(item, llm), "present": True if sure else None}

        report = run(task(tmp_path), FakeLLM(polite), make_rows=Unsure)
        assert report.targets["t1"].unreadable == 2
        assert report.made == 3
