"""Panels and judges by log-odds in a whole trial: verdict, votes, costs, and what a recording gives again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, LLMUnavailable
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.fingerprints import NO_PRINTS
from pytest_convoprobe.results.records import from_record, to_record
from tests.support.scripted_llm import FakeLLM

from .test_trial import run

PANEL = {"judge.model": "openai/a", "judge.panel": "openai/b, openai/c"}


def panel(says: Mapping[str, str | Exception]) -> FakeLLM:
    """Judges that say this, by the last letters of their names. The agent says `echo 1`."""

    def answer(request: LLMRequest) -> Any:
        verdict = says[str(request.model.model)[-1]]
        if isinstance(verdict, Exception):
            return verdict
        found = {"finding": "seen", "quote": "echo 1", "turn": 1, "absence": False, "verdict": verdict}
        return LLMReply(json.dumps({"c1": found}), cost=0.01)

    return FakeLLM(answer)


def odds(statement: float, opposite: float) -> FakeLLM:
    """A judge with these log-odds of Yes where it reads a conversation, and none where it reads nothing."""

    def answer(request: LLMRequest) -> LLMReply:
        question = request.messages[-1].content
        yes = (opposite if "The opposite of c1" in question else statement) if "echo 1" in question else 0.0
        return LLMReply("Yes", top_tokens={"Yes": yes - 1, "No": -1.0}, cost=0.001)

    return FakeLLM(answer)


def judged(tmp_path: Path, llm: FakeLLM, mode: str = "record", **settings: Any) -> ScenarioResult:
    overrides = {"run.replay": mode, **{f"judge.{name}": value for name, value in settings.items()}}
    return run(
        tmp_path,
        llm=llm,
        max_turns=1,
        overrides={**PANEL, **overrides} if "method" not in settings else overrides,
    )


def votes(result: ScenarioResult) -> list[tuple[str, str, str]]:
    (found,) = result.criteria
    return [(vote.model, vote.answer, vote.asked) for vote in found.votes]


def test_the_majority_of_a_panel_passes_a_scenario_also_in_a_replay(tmp_path: Path) -> None:
    result = judged(tmp_path, panel({"a": "not_met", "b": "met", "c": "met"}))
    assert (result.outcome, result.votes) == (Outcome.PASSED, 3)
    assert result.spending[Role.JUDGE].cost == pytest.approx(0.03)
    assert votes(result) == [
        (f"openai/{one}", "not_met" if one == "a" else "met", "statement") for one in "abc"
    ]
    again = judged(tmp_path, FakeLLM([]), "only")
    assert (again.criteria, again.outcome) == (result.criteria, result.outcome)
    stored = from_record(json.loads(json.dumps(to_record(result, NO_PRINTS)))).result
    assert stored.criteria == result.criteria


def test_what_a_panel_holds_against_the_agent_is_asked_again_of_another_model(tmp_path: Path) -> None:
    result = judged(tmp_path, panel({"a": "not_met", "b": "met", "c": "not_met"}))
    assert (result.outcome, result.votes) == (Outcome.FAILED, 4)
    assert votes(result)[-1] == ("openai/c", "not_met", "opposite")


def test_a_panel_that_does_not_agree_is_no_verdict(tmp_path: Path) -> None:
    result = judged(tmp_path, panel({"a": "met", "b": "met", "c": "not_met"}), agreement="unanimous")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.JUDGE)
    assert "(openai/a said met: seen; openai/b said met: seen; openai/c said not met: seen)" in result.reason
    assert result.criteria[0].finding.startswith("The panel doesn't agree (unanimous, so 3 of 3 have to): ")


@pytest.mark.parametrize("word", ["met", "not_met"])
def test_a_member_that_is_down_is_not_needed_then_or_in_a_replay(tmp_path: Path, word: str) -> None:
    down = LLMUnavailable("openai/c is not available", model="openai/c")
    result = judged(tmp_path, panel({"a": word, "b": word, "c": down}))
    assert result.outcome is (Outcome.PASSED if word == "met" else Outcome.FAILED)
    assert votes(result)[2] == ("openai/c", "no_vote", "statement")
    again = judged(tmp_path, FakeLLM([]), "only")
    assert (again.outcome, votes(again)) == (result.outcome, votes(result))


def test_an_outage_of_a_panel_is_an_error_where_it_leaves_something_open(tmp_path: Path) -> None:
    down = LLMUnavailable("openai/b is not available", model="openai/b")
    result = judged(tmp_path, panel({"a": "met", "b": down, "c": "not_met"}))
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)


@pytest.mark.parametrize(
    ("method", "leanings", "outcome", "said_twice"),
    [
        ("log_odds", (1.0, 5.0), Outcome.PASSED, False),
        ("log_odds", (-1.0, 2.0), Outcome.FAILED, True),
        ("log_odds", (-1.0, -2.0), Outcome.ERROR, True),
        ("contrast", (1.0, 2.0), Outcome.FAILED, False),
        ("contrast", (-1.0, -2.0), Outcome.PASSED, False),
    ],
)
def test_log_odds_decide_and_are_recorded(
    tmp_path: Path, method: str, leanings: tuple[float, float], outcome: Outcome, said_twice: bool
) -> None:
    result = judged(tmp_path, odds(*leanings), method=method)
    assert result.outcome is outcome
    assert len(votes(result)) == (2 if said_twice else 0)
    again = judged(tmp_path, FakeLLM([]), "only", method=method)
    assert again.criteria == result.criteria


def test_a_judge_without_probabilities_is_an_error_and_is_not_recorded(tmp_path: Path) -> None:
    result = judged(tmp_path, FakeLLM(lambda _: "Yes"), method="log_odds")
    assert (result.outcome, result.blame) == (Outcome.ERROR, Blame.INFRASTRUCTURE)
    assert (
        "doesn't report how likely its words are (logprobs), which judge.method: log_odds needs"
        in result.reason
    )
    assert not [path for path in tmp_path.rglob("*.json") if "_recordings" in str(path)]
