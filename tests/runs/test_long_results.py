"""Look-ups in long results are recorded and replayed like any call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.result import Outcome, ScenarioResult
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import parse_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.targets.fake import FakeTarget
from pytest_convoprobe.transcript import Reply, ToolCall

SCENARIO = """\
name: Manual
description: The agent reads the manual.
synthetic_user: {persona: A customer, initial_query: How long?, max_turns: 1}
evaluation:
  correctness_criteria:
    - {text: The manual confirms it, about: tool, shows: presence, opposite: The manual says nothing}
"""
FACT = "The warranty ends after 19 months."
MANUAL = "\n".join([*["The shop sells it."] * 9000, FACT, *["The shop has it."] * 9000])


def judge(request: LLMRequest) -> LLMReply:
    if request.schema_name == "look_ups":
        asked = (
            [] if FACT in request.messages[-1].content else [{"text": 1, "words": "warranty", "line": None}]
        )
        return LLMReply(json.dumps({"look_up": asked}))
    found = {"finding": "It does.", "quote": FACT, "turn": 1, "absence": False, "verdict": "met"}
    return LLMReply(json.dumps({"c1": found}))


def run(tmp_path: Path, llm: FakeLLM, mode: str) -> ScenarioResult:
    overrides: dict[str, Any] = {"llm.model": "openai/fake", "run.replay": mode, "judge.second_vote": False}
    settings = load_settings(tmp_path, overrides=overrides, environ={})
    (loaded,) = parse_scenarios(SCENARIO, str(tmp_path / "manual.yaml"))
    agent = FakeTarget(Reply("19 months.", (ToolCall("read_manual", result=MANUAL),)))
    job = Job(loaded, "manual.yaml::manual", agent, scenario_settings(settings))
    return asyncio.run(Runner(settings, llm=llm).run(job))


def test_look_ups_are_replayed(tmp_path: Path) -> None:
    live = FakeLLM(judge)
    assert run(tmp_path, live, "record").outcome is Outcome.PASSED
    assert [request.schema_name for request in live.requests] == ["look_ups", "look_ups", "answers"]
    replayed = run(tmp_path, FakeLLM([]), "only")
    assert (replayed.outcome, replayed.criteria[0].quote) == (Outcome.PASSED, FACT)
