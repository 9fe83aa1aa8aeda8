"""Judging stored conversations again, and going on from a turn of one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import Blame, LLMUnavailable, ResultsError, SettingsError
from pytest_convoprobe.judging.types import CheckResult, Criterion, CriterionKind, CriterionResult
from pytest_convoprobe.llm.port import LLMReply, LLMRequest, Role
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.results.store import StoredRun, open_run
from pytest_convoprobe.runs.rejudge import Rejudged, rejudge
from pytest_convoprobe.runs.resume import rerun
from pytest_convoprobe.runs.session import Session
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.transcript import Origin, Reply, Termination, ToolCall, Transcript, Turn, Usage
from tests.support.scripted_llm import FakeLLM

from ..results.support import writer

SCENARIO = """\
name: refund
description: A refund
synthetic_user: {{persona: Somebody, initial_query: Hello, max_turns: 4}}
evaluation:
  correctness_criteria: [{criteria}]
  tool_usage: {{required_tools: [refund]}}
"""

TURNS = (
    Turn(1, "Hello", Reply("Which order?", ()), Origin.INITIAL, 1.0),
    Turn(2, "Order 7", Reply("Done.", (ToolCall("refund", {"order": 7}),)), Origin.SIMULATED, 1.0),
    Turn(3, "Thanks, bye", Reply("Bye.", ()), Origin.SIMULATED, 1.0),
)
WHOLE = Transcript(TURNS, Termination.USER_DONE)


def criterion(number: int, text: str, holds: bool) -> CriterionResult:
    asked = Criterion(f"c{number}", CriterionKind.CORRECTNESS, text)
    return CriterionResult(asked, "met" if holds else "not_met", holds, "As it was found then.")


OLD = ScenarioResult(
    name="refund",
    scenario_id="scenarios/refund.yaml::refund",
    file="scenarios/refund.yaml",
    line=1,
    outcome=Outcome.FAILED,
    reason="It says goodbye",
    score=0.5,
    transcript=WHOLE,
    criteria=(criterion(1, "It asks for the order", True), criterion(2, "It says goodbye", False)),
    checks=(CheckResult("required tool refund", True, "at least 1 call", "1 call", 2),),
    target="my_agent:answer",
    started=50.0,
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scenarios").mkdir()
    write(tmp_path, "It asks for the order, It says goodbye")
    return tmp_path


def write(project: Path, criteria: str, file: str = "refund.yaml") -> None:
    (project / "scenarios" / file).write_text(SCENARIO.format(criteria=criteria))


def store(project: Path, *results: ScenarioResult) -> StoredRun:
    part = writer(project / ".convoprobe")
    for result in results or (OLD,):
        part.add(result)
    part.close()
    return open_run(part.folder)


def judge_of(verdict: str) -> FakeLLM:
    """A judge who gives all criteria the same word, and a user who goes on once and is done."""

    def answer(request: LLMRequest) -> LLMReply:
        if request.context.role is Role.SYNTHETIC_USER:
            said = {"message": f"live {request.context.turn}", "status": "done"}
            return LLMReply(json.dumps(said))
        found = {"finding": "Seen now.", "quote": "Which order?", "turn": 1, "absence": False}
        answers = [
            {"id": f"c{number}", "verdict": verdict, **found} for number in range(1, _asked(request) + 1)
        ]
        return LLMReply(json.dumps({"answers": answers}), usage=Usage(100, 10), cost=0.5)

    return FakeLLM(answer)


def _asked(request: LLMRequest) -> int:
    return sum(f"c{number}" in request.messages[1].content for number in range(1, 5))


def again(project: Path, run: StoredRun, llm: Any, **more: Any) -> list[Rejudged]:
    settings = load_settings(project, overrides={"llm.model": "openai/fake"}, environ={})
    with Session.of(settings, project, llm=llm) as session:
        return rejudge(run, session, **more)


class TestRejudge:
    def test_a_verdict_that_changed(self, project: Path) -> None:
        (found,) = again(project, store(project), judge_of("met"))
        assert found.new
        assert (found.old.outcome, found.new.outcome) == (Outcome.FAILED, Outcome.PASSED)
        assert found.changed
        changed = [answer for answer in found.answers if answer.changed]
        assert [(answer.key, answer.new.finding) for answer in changed] == [("It says goodbye", "Seen now.")]

    def test_a_verdict_that_stayed(self, project: Path) -> None:
        (found,) = again(project, store(project), judge_of("not_met"))
        assert not found.changed

    def test_nobody_but_the_judge_is_called(self, project: Path) -> None:
        llm = judge_of("met")
        (found,) = again(project, store(project), llm)
        assert {request.context.role for request in llm.requests} == {Role.JUDGE}
        assert found.new
        assert found.new.transcript == WHOLE
        assert (found.new.target, found.new.started) == ("my_agent:answer", 50.0)
        assert found.new.spending.keys() == {Role.JUDGE}

    def test_todays_criteria_are_asked(self, project: Path) -> None:
        write(project, "It is polite, It asks for the order")
        (found,) = again(project, store(project), judge_of("met"))
        sides = {answer.key: (answer.old is not None, answer.new is not None) for answer in found.answers}
        assert sides == {
            "It is polite": (False, True),
            "It asks for the order": (True, True),
            "It says goodbye": (True, False),
            "required tool refund": (True, True),
        }

    def test_todays_checks_are_made(self, project: Path) -> None:
        path = project / "scenarios/refund.yaml"
        path.write_text(path.read_text().replace("[refund]", "[apology]"))
        (found,) = again(project, store(project), judge_of("met"))
        assert found.new
        assert [(check.name, check.holds) for check in found.new.checks] == [("required tool apology", False)]

    def test_an_undecided_one_that_was_skipped_is_judged_again(self, project: Path) -> None:
        old = ScenarioResult(**{**vars(OLD), "outcome": Outcome.SKIPPED, "blame": Blame.JUDGE})
        (found,) = again(project, store(project, old), judge_of("met"))
        assert found.new

    def test_an_agent_that_is_silent_fails_here_too(self, project: Path) -> None:
        silent = tuple(
            replace(turn, reply=Reply(" ", turn.reply.tool_calls)) for turn in OLD.transcript.turns
        )
        transcript = replace(OLD.transcript, turns=silent)
        said = CheckResult("the agent says something", False, "a reply with text", "nothing", 1)
        old = ScenarioResult(**{**vars(OLD), "transcript": transcript, "checks": (said, *OLD.checks)})
        (found,) = again(project, store(project, old), judge_of("met"))
        assert found.new
        names = [check.name for check in found.new.checks if not check.holds]
        assert (found.new.outcome, names) == (Outcome.FAILED, ["the agent says something"])

    def test_checks_of_the_project_are_carried_over(self, project: Path) -> None:
        own = CheckResult("no swearing", False, "none", "one")
        old = ScenarioResult(**{**vars(OLD), "checks": (*OLD.checks, own)})
        (found,) = again(project, store(project, old), judge_of("met"))
        assert found.new
        assert own in found.new.checks
        assert found.new.outcome is Outcome.FAILED

    def test_a_conversation_that_broke_off_is_left_alone(self, project: Path) -> None:
        broken = Transcript(TURNS[:1], Termination.TARGET_ERROR, "Order 7")
        old = ScenarioResult(**{**vars(OLD), "transcript": broken})
        (found,) = again(project, store(project, old), judge_of("met"))
        assert (found.new, found.changed) == (None, False)
        assert found.problem == "the conversation broke off (target error): only a complete one can be judged"

    @pytest.mark.parametrize(
        ("scenario_id", "words"),
        [
            ("scenarios/gone.yaml::refund", "its file scenarios/gone.yaml is not there any more"),
            ("scenarios/refund.yaml::renamed", "scenarios/refund.yaml has no scenario 'renamed' any more"),
            ("test_it.py::test_a::refund", "it is part of the test test_it.py::test_a::refund"),
        ],
    )
    def test_a_scenario_that_is_gone_is_told(self, project: Path, scenario_id: str, words: str) -> None:
        old = ScenarioResult(**{**vars(OLD), "scenario_id": scenario_id})
        (found,) = again(project, store(project, old), judge_of("met"))
        assert found.new is None
        assert found.problem.startswith(words)

    def test_one_that_had_parameters_is_found(self, project: Path) -> None:
        old = replace(OLD, scenario_id=f"{OLD.scenario_id}[large]", name="refund [large]")
        (found,) = again(project, store(project, old), judge_of("met"))
        assert found.new is not None
        assert (found.new.outcome, found.new.name) == (Outcome.PASSED, "refund [large]")

    def test_the_second_one_of_a_name_that_is_gone_is_not_taken_for_that(self, project: Path) -> None:
        old = replace(OLD, scenario_id=f"{OLD.scenario_id}[2]")
        (found,) = again(project, store(project, old), judge_of("met"))
        assert found.problem == "scenarios/refund.yaml has no scenario 'refund[2]' any more"

    def test_a_judge_that_is_away_is_an_error_of_that_trial(self, project: Path) -> None:
        (found,) = again(project, store(project), FakeLLM(lambda request: LLMUnavailable("away")))
        assert found.new
        assert (found.new.outcome, found.new.reason) == (Outcome.ERROR, "away")

    def test_skipped_trials_and_those_that_are_not_selected_are_left_out(self, project: Path) -> None:
        other = ScenarioResult(**{**vars(OLD), "trial": 2})
        skipped = ScenarioResult(**{**vars(OLD), "trial": 3, "outcome": Outcome.SKIPPED})
        run = store(project, OLD, other, skipped)
        assert [found.row.trial for found in again(project, run, judge_of("met"))] == [1, 2]
        (found,) = again(project, run, judge_of("met"), select=lambda row: row.trial == 2)
        assert found.row.trial == 2

    def test_recordings_play_no_part(self, project: Path) -> None:
        (project / "convoprobe.yaml").write_text("run: {replay: only}")
        (found,) = again(project, store(project), judge_of("met"))
        assert found.new
        assert found.new.outcome is Outcome.PASSED
        assert not (project / "scenarios/_recordings").exists()


def go_on(project: Path, run: StoredRun, from_turn: int, target: Any, settings: Any = None) -> ScenarioResult:
    loaded = load_settings(project, overrides={"llm.model": "openai/fake", **(settings or {})}, environ={})
    (row,) = run.rows()
    with Session.of(loaded, project, llm=judge_of("met")) as session:
        return rerun(run, row, session, from_turn=from_turn, target=target)


class TestRerun:
    def test_what_was_said_before_is_said_again(self, project: Path) -> None:
        target = FakeTarget(lambda message, turn: Reply(f"Which order? {turn}", ()))
        result = go_on(project, store(project), 3, target)
        assert target.conversations[0].messages == ["Hello", "Order 7", "live 3"]
        assert [turn.origin for turn in result.transcript.turns] == [
            Origin.INITIAL,
            Origin.SIMULATED,
            Origin.SIMULATED,
        ]

    def test_the_replies_are_those_of_today_and_are_judged(self, project: Path) -> None:
        result = go_on(project, store(project), 2, FakeTarget("Which order? Today's."))
        assert {turn.reply.text for turn in result.transcript.turns} == {"Which order? Today's."}
        assert result.reason == "required tool refund: expected at least 1 call, found no call"
        assert (result.outcome, result.file) == (Outcome.FAILED, "scenarios/refund.yaml")

    def test_from_the_first_turn_all_is_new(self, project: Path) -> None:
        target = FakeTarget("Which order?")
        go_on(project, store(project), 1, target)
        assert target.conversations[0].messages == ["Hello", "live 2"]

    def test_after_the_last_turn_the_user_goes_on(self, project: Path) -> None:
        target = FakeTarget(lambda message, turn: Reply(f"Which order? {turn}", ()))
        go_on(project, store(project), 4, target)
        assert target.conversations[0].messages == ["Hello", "Order 7", "Thanks, bye", "live 4"]

    @pytest.mark.parametrize("turn", [0, 5])
    def test_a_turn_that_is_not_there_is_told(self, project: Path, turn: int) -> None:
        with pytest.raises(ResultsError, match="the stored one has 3 turns, so choose one from 1 to 4"):
            go_on(project, store(project), turn, FakeTarget())

    def test_the_target_of_the_settings_is_used(self, project: Path) -> None:
        (project / "agent.py").write_text("def answer(message):\n    return 'Which order? ' + message\n")
        settings = {"target": {"type": "python", "object": "agent.py:answer"}}
        (project / "convoprobe.yaml").write_text(json.dumps(settings))
        result = go_on(project, store(project), 2, None)
        assert result.transcript.turns[0].reply.text == "Which order? Hello"
        assert result.target == "agent.py:answer"

    def test_no_target_is_told(self, project: Path) -> None:
        with pytest.raises(SettingsError, match="no target is named"):
            go_on(project, store(project), 2, None)

    def test_the_target_of_the_settings_does_not_answer_in_place_of_a_parameter(self, project: Path) -> None:
        old = replace(OLD, scenario_id=f"{OLD.scenario_id}[large]", name="refund [large]")
        run = store(project, old)
        with pytest.raises(
            ResultsError, match=r"fixtures have the parameters large\. Run it with pytest: pytest .*\[large\]"
        ):
            go_on(project, run, 2, None, {"target.type": "python", "target.object": "agent.py:answer"})
        assert go_on(project, run, 2, FakeTarget("Which order?")).name == "refund [large]"

    def test_a_target_that_is_given_stays_open(self, project: Path) -> None:
        target = FakeTarget("Which order?")
        go_on(project, store(project), 2, target)
        assert not target.closed
