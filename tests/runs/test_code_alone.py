"""Scenarios whose checks are all by code: no judge is asked, at any door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe import Outcome, run_scenario
from pytest_convoprobe.errors import SettingsError
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.failure import render_failure
from pytest_convoprobe.result import ScenarioResult
from tests.support.chat_server import ChatServer
from tests.support.warm_process import run

AGENT = """
from pytest_convoprobe import Reply, ToolCall

def answer(message):
    return Reply("It is on its way.", tool_calls=[ToolCall("find_order", {"order_id": "A-1"})])
"""
TARGET = {"type": "python", "object": "agent.py:answer"}
SIMULATED = {"script": [{"simulate": 1}], "max_turns": 2}
USER = {"persona": "A customer", "initial_query": "Where is it?"}
MODEL = {"model": "openai/fake", "api_key": "k" * 20}


def scenario(user: dict[str, Any] | None = None, **evaluation: Any) -> dict[str, Any]:
    return {
        "name": "Order",
        "description": "An order is looked up.",
        "synthetic_user": {**USER, "script": ["And now?"], **(user or {})},
        "evaluation": evaluation or {"tool_usage": {"required_tools": ["find_order"]}},
    }


def prepare(folder: Path, settings: dict[str, Any] | None = None) -> None:
    (folder / "agent.py").write_text(AGENT)
    (folder / "convoprobe.yaml").write_text(yaml.safe_dump({"target": TARGET, **(settings or {})}))


def ran(folder: Path, given: dict[str, Any], settings: dict[str, Any] | None = None) -> ScenarioResult:
    prepare(folder, settings)
    return run_scenario(given, rootdir=folder)


def words(result: ScenarioResult) -> str:
    return render_failure(result, verbosity=0, width=100, rerun_command="again", ascii_only=True)


def test_no_model_has_to_be_set(tmp_path: Path) -> None:
    result = ran(tmp_path, scenario())
    assert (result.outcome, result.score, result.criteria) == (Outcome.PASSED, 1.0, ())
    assert (result.spending, result.models) == ({}, {})
    assert "Criteria: no judge was asked" in words(result)


def test_the_agent_fails_without_a_judge(tmp_path: Path) -> None:
    result = ran(tmp_path, scenario(efficiency={"max_tool_calls": 1}))
    assert result.outcome is Outcome.FAILED
    assert result.reason == "tool calls: expected at most 1, found 2"


def test_a_judge_that_is_set_is_not_asked(tmp_path: Path, chat_server: ChatServer) -> None:
    judge = {**MODEL, "api_base": chat_server.base_url, "panel": ["openai/b"]}
    assert ran(tmp_path, scenario(), {"judge": judge}).outcome is Outcome.PASSED
    assert chat_server.requests == []


def test_a_simulated_user_needs_a_model_and_no_judge(tmp_path: Path, chat_server: ChatServer) -> None:
    without = ran(tmp_path, scenario(SIMULATED))
    assert without.outcome is Outcome.ERROR
    assert "no model is set for the synthetic user" in without.reason
    result = ran(
        tmp_path, scenario(SIMULATED), {"synthetic_user": {**MODEL, "api_base": chat_server.base_url}}
    )
    assert result.outcome is Outcome.PASSED, result.reason
    assert set(result.spending) == {Role.SYNTHETIC_USER}


def test_a_user_that_nobody_reviews_is_a_note(tmp_path: Path, chat_server: ChatServer) -> None:
    model = {"synthetic_user": {**MODEL, "api_base": chat_server.base_url}}
    result = ran(tmp_path, scenario(SIMULATED, efficiency={"max_tool_calls": 1}), model)
    assert result.outcome is Outcome.FAILED
    assert result.review is not None
    assert result.review.note.endswith("not reviewed: the settings name no model for the judge")


REQUIRED = {"model": "openai/fake", "require": {"kappa": 0.9, "labels": 50}}
"""A judge that has shown nothing yet."""


def test_a_judge_that_may_not_gate_stops_only_who_asks_it(tmp_path: Path) -> None:
    assert ran(tmp_path, scenario(), {"judge": REQUIRED}).outcome is Outcome.PASSED
    with pytest.raises(SettingsError, match="may not gate"):
        ran(tmp_path, scenario(correctness_criteria=["The agent answers"]), {"judge": REQUIRED})


@pytest.mark.parametrize("more", [(), ("--convoprobe-replay=only",), ("--convoprobe-gate=confirm",)])
def test_pytest_needs_no_model(tmp_path: Path, more: tuple[str, ...]) -> None:
    done = pytest_on(tmp_path, {"judge": {"require": REQUIRED["require"]}}, scenario(), more=more)
    assert "1 passed" in done


def test_one_scenario_with_a_criterion_needs_a_model_again(tmp_path: Path) -> None:
    asks = {**scenario(correctness_criteria=["The agent answers"]), "name": "Judged"}
    assert "no model is set for the judge" in pytest_on(tmp_path, {}, scenario(), asks)


def pytest_on(
    folder: Path, settings: dict[str, Any], *scenarios: dict[str, Any], more: tuple[str, ...] = ()
) -> str:
    prepare(folder, settings)
    for number, one in enumerate(scenarios):
        (folder / f"{number}.scenario.yaml").write_text(yaml.safe_dump(one))
    done = run("pytest", "-c", "/dev/null", f"--rootdir={folder}", *more, cwd=folder)
    return done.stdout + done.stderr


def test_the_commands_need_no_judge(tmp_path: Path) -> None:
    pytest_on(tmp_path, {}, scenario())
    for words, said in (
        (("doctor",), "- judge: none needed: all checks of the scenarios are by code"),
        (("doctor",), "- synthetic user: none needed: all messages of the scenarios are written in them"),
        (("rejudge", "latest"), "1 judged again: no verdict changed"),
        (("mutate", "latest"), "1 of 1 mutants noticed, 1 of them by checks"),
        (("lint", "."), "nothing found"),
        (("validate", "."), "all good"),
        (("baseline", "update"), "new, 0 of 1 failed"),
    ):
        done = run("pytest_convoprobe.cli", *words, cwd=tmp_path)
        assert said in done.stdout, done.stdout + done.stderr
        assert done.returncode == 0


def test_another_judge_changes_nothing(tmp_path: Path) -> None:
    prints = []
    for model in ("openai/a", "openai/b"):
        pytest_on(tmp_path, {"judge": {"model": model}}, scenario())
        (file,) = sorted((tmp_path / ".convoprobe").rglob("trials-*.jsonl"))[-1:]
        prints.append(json.loads(file.read_text().splitlines()[0])["prints"])
    assert prints[0] == prints[1]
    assert prints[0]["judge_model"] is None
