"""What all ways to run have in common: targets, many jobs at once, and one deadline at the end."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import NoTarget
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.runs import session as module
from pytest_convoprobe.runs.session import Session
from pytest_convoprobe.scenario import coerce
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.targets.fake import FakeTarget
from tests.support.scripted_llm import FakeLLM

SCENARIO = """\
name: A talk
description: Two turns.
synthetic_user: {persona: Somebody, initial_query: Hello, script: [Bye]}
evaluation: {correctness_criteria: [It answers]}
"""


MET = {"id": "c1", "verdict": "met", "finding": "Seen.", "quote": "Hello", "turn": 1, "absence": False}


def open_session(root: Path, **settings: Any) -> Session:
    overrides = {"llm.model": "openai/fake", **settings}
    llm = FakeLLM(lambda request: json.dumps({"answers": [MET]}))
    return Session.of(load_settings(root, overrides=overrides, environ={}), root, llm=llm)


class TestTargets:
    def test_without_one_there_is_one_advice(self, tmp_path: Path) -> None:
        with open_session(tmp_path) as session, pytest.raises(NoTarget) as raised, session.target():
            raise AssertionError
        assert "no target is named. Name it in convoprobe.yaml:" in str(raised.value)
        assert "object: my_package.agent:answer" in str(raised.value)

    def test_one_that_was_made_here_is_closed_and_one_that_was_given_is_not(self, tmp_path: Path) -> None:
        closed: list[str] = []

        class Agent:
            def __call__(self, message: str) -> str:
                return message

            def close(self) -> None:
                closed.append("made")

        given = FakeTarget("Hello")
        with open_session(tmp_path) as session:
            for value in (Agent, given):
                with session.own_target(value) as target:
                    result = session.run(session.job(coerce.loaded(SCENARIO), "a::talk", target))
                    assert result.outcome is Outcome.PASSED, result.reason
        assert closed == ["made"]
        assert not given.closed

    def test_a_shared_one_is_made_once_and_closed_before_its_owner_goes(self, tmp_path: Path) -> None:
        given = FakeTarget("Hello")
        with open_session(tmp_path) as session:
            assert session.shared_target(given) is session.shared_target(given)
            with session.all_ended():
                assert not given.closed  # it is its owner's to close


class TestRunning:
    def test_results_come_in_the_order_of_the_jobs(self, tmp_path: Path) -> None:
        with open_session(tmp_path, **{"run.concurrency": 3}) as session:
            jobs = [
                session.job(coerce.loaded(SCENARIO), "a::talk", FakeTarget("Hello"), trial=number)
                for number in (3, 1, 2)
            ]
            assert [result.trial for result in session.run_all(jobs)] == [3, 1, 2]
            assert session.words(3) == "3 of 3 done, 0 running, 0 tokens"


class TestEnding:
    """The two that never end are left behind: nothing here waits for them."""

    @pytest.fixture(autouse=True)
    def _soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "SHUTDOWN_SECONDS", 0.3)

    def test_a_target_that_never_closes_is_left_alone(self, tmp_path: Path) -> None:
        class Endless(FakeTarget):
            async def aclose(self) -> None:
                await asyncio.sleep(600)

        with open_session(tmp_path) as session:
            session.close_target(Endless("Hello"))
            with session.own_target(FakeTarget("Hello")) as target:  # the loop still serves others
                session.run(session.job(coerce.loaded(SCENARIO), "a::talk", target))

    def test_a_loop_that_is_blocked_does_not_keep_the_session_from_ending(self, tmp_path: Path) -> None:
        freed = threading.Event()

        class Blocking(FakeTarget):
            async def aclose(self) -> None:
                freed.wait(60)

        ended = threading.Event()

        def end() -> None:
            with open_session(tmp_path) as session:
                session.close_target(Blocking("Hello"))
            ended.set()

        threading.Thread(target=end, daemon=True).start()
        try:
            assert ended.wait(30)
        finally:
            freed.set()
