"""A trial whose verdict rests on the judge: the second vote, its recording, and what stops it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, BudgetExceeded, LLMUnavailable
from pytest_convoprobe.judging.types import CheckResult
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.transcript import Reply, Usage

SCENARIO = """\
name: A greeting
description: The agent greets.
synthetic_user: {persona: Somebody, initial_query: Hello there, max_turns: 1}
evaluation:
  correctness_criteria: [The agent greets]
"""
NEVER = {"verdict": "true", "absence": True, "quote": None, "finding": "It never greets."}
IT_DOES = {"verdict": "false", "absence": False, "quote": "Good day", "finding": "It says good day."}
DOWN = LLMUnavailable("503", status=503)


class Judge:
    """Says first that the agent doesn't greet; `vote` is what it says of the opposite."""

    def __init__(self, vote: Any) -> None:
        self.vote = vote
        self.asked: list[str] = []

    def __call__(self, request: LLMRequest) -> Any:
        prompt = request.messages[-1].content
        if request.shared:
            return self._said("aspects", {"about": "agent", "shows": "presence", "opposite": "No greeting"})
        if "] statement" in prompt:
            return self.vote if isinstance(self.vote, Exception) else self._said("vote", self.vote)
        answer = {"verdict": "not_met", "absence": True, "quote": None, "finding": "No greeting."}
        return self._said("verdict", answer)

    def _said(self, what: str, answer: dict[str, Any]) -> LLMReply:
        self.asked.append(what)
        return LLMReply(json.dumps({"c1": {"turn": 1, **answer}}), usage=Usage(10, 5), cost=0.01)


def run(folder: Path, judge: Any, *, checks: Any = None, trials: int = 1, **overrides: Any) -> ScenarioResult:
    settings = load_settings(folder, overrides={"llm.model": "openai/fake", **overrides}, environ={})
    (loaded,) = parse_scenarios(SCENARIO, str(folder / "greeting.yaml"))
    assert loaded.scenario is not None
    chosen = scenario_settings(settings, loaded.scenario.config)
    target = FakeTarget(lambda message, turn: Reply("Good day", ()))

    async def all_trials() -> ScenarioResult:
        runner = Runner(settings, llm=FakeLLM(judge))
        for trial in range(1, trials + 1):
            job = Job(loaded, f"greeting.yaml::{loaded.id}", target, chosen, trial=trial, extra_checks=checks)
            result = await runner.run(job)
        return result

    return asyncio.run(all_trials())


def test_said_twice_it_fails_and_both_votes_are_stored(tmp_path: Path) -> None:
    result = run(tmp_path, Judge(NEVER))
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert result.reason == "c1 not met: The agent greets"
    assert [vote.holds for vote in result.criteria[0].votes] == [False, False]
    assert (
        from_record(json.loads(json.dumps(to_record(result, NO_PRINTS)))).result.criteria == result.criteria
    )
    assert result.spending[Role.JUDGE].cost == pytest.approx(0.03)


def test_two_that_differ_leave_the_trial_undecided_with_both_findings(tmp_path: Path) -> None:
    result = run(tmp_path, Judge(IT_DOES))
    assert (result.outcome, result.blame, result.score) == (Outcome.ERROR, Blame.JUDGE, 0.0)
    assert result.reason == (
        "c1 cannot tell: The agent greets (the judge said not met: No greeting.; "
        "a second vote said met: It says good day.)"
    )


def test_what_code_has_found_needs_no_vote(tmp_path: Path) -> None:
    judge = Judge(DOWN)
    broken = CheckResult("house rule", False, "a bow", "none")
    result = run(tmp_path, judge, checks=lambda *_: [broken])
    assert (result.outcome, result.blame) == (Outcome.FAILED, Blame.AGENT)
    assert judge.asked == ["aspects", "verdict"]


@pytest.mark.parametrize("trouble", [DOWN, {}], ids=["down", "no shape"])
def test_one_answer_alone_is_never_recorded_as_the_truth(tmp_path: Path, trouble: Any) -> None:
    auto = {"run.replay": "auto"}
    first = run(tmp_path, Judge(trouble), **auto)
    assert (first.outcome, first.blame) != (Outcome.FAILED, Blame.AGENT)
    replayed = run(tmp_path, lambda _: AssertionError("called live"), **{"run.replay": "only"})
    assert replayed.outcome is Outcome.ERROR
    if isinstance(trouble, Exception):
        # What was recorded is not paid for again, but the second vote is asked for.
        judge = Judge(IT_DOES)
        assert run(tmp_path, judge, **auto).blame is Blame.JUDGE
        assert judge.asked == ["vote"]


def test_votes_are_replayed_like_any_call(tmp_path: Path) -> None:
    recorded = run(tmp_path, Judge(NEVER), **{"run.replay": "record"})
    silent = Judge(DOWN)
    replayed = run(tmp_path, silent, **{"run.replay": "only"})
    assert (replayed.outcome, replayed.criteria) == (Outcome.FAILED, recorded.criteria)
    assert silent.asked == []


def test_a_vote_that_takes_too_long_is_not_a_failure(tmp_path: Path) -> None:
    judge = Judge(NEVER)

    async def slow(request: LLMRequest) -> Any:
        if "] statement" in request.messages[-1].content:
            await asyncio.sleep(60)
        return judge(request)

    result = run(tmp_path, slow, **{"run.scenario_timeout": 0.5})
    assert result.outcome is Outcome.ERROR


def test_a_budget_that_ends_before_the_vote_is_not_a_failure(tmp_path: Path) -> None:
    class Spender(Judge):
        def __call__(self, request: LLMRequest) -> Any:
            stop = "] statement" in request.messages[-1].content
            return BudgetExceeded("spent") if stop else super().__call__(request)

    result = run(tmp_path, Spender(NEVER))
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.BUDGET)


def test_what_the_criteria_are_about_is_asked_once_and_recorded_for_each_trial(tmp_path: Path) -> None:
    judge = Judge(NEVER)
    result = run(tmp_path, judge, trials=3, **{"run.replay": "record"})
    assert judge.asked.count("aspects") == 1
    assert result.spending[Role.JUDGE].calls == 3
    assert result.spending[Role.JUDGE].cost == pytest.approx(0.02)
    (file,) = (tmp_path / "_recordings").rglob("*.json")
    shown = [
        call["trial"] for call in json.loads(file.read_text())["calls"] if "opposite" in json.dumps(call)
    ]
    assert sorted(shown) == [1, 2, 3]
