"""A project whose agent hangs in every way; its other scenarios are recorded and need no model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

from pytest_convoprobe.llm.port import LLMReply, LLMRequest
from pytest_convoprobe.runs.job import Job
from pytest_convoprobe.runs.runner import Runner
from pytest_convoprobe.scenario.loading import load_scenarios
from pytest_convoprobe.settings.loading import load_settings
from pytest_convoprobe.settings.merge import scenario_settings
from pytest_convoprobe.targets.factory import as_target
from tests.support.scripted_llm import FakeLLM

HANGING = ("swallows", "sleeps", "waits")
"""What an agent does that never answers."""

SCENARIO = """\
name: {message}
description: The agent answers.
synthetic_user:
  persona: Somebody
  initial_query: {message}
  max_turns: 1
evaluation:
  correctness_criteria: [The agent answers]
"""
SETTINGS = """\
llm: {model: openai/fake}
target: {type: python, object: "tests.support.hanging_agents:HangingInEveryWay"}
run: {turn_timeout: TURN, scenario_timeout: SCENARIO, replay: only}
"""


def judge(request: LLMRequest) -> LLMReply:
    """Finds that the agent has answered."""
    found = {"finding": "seen", "quote": "echo", "turn": 1, "absence": False, "verdict": "met"}
    return LLMReply(json.dumps({"answers": [{"id": "c1", **found}]}))


def write(
    folder: Path,
    fine: Iterable[str] = ("fine", "starts"),
    hanging: Iterable[str] = HANGING,
    turn_timeout: float = 1,
) -> None:
    """The files; the scenarios in `fine` are recorded. In `starts` the agent starts an endless thread."""
    limits = SETTINGS.replace("TURN", str(turn_timeout)).replace("SCENARIO", str(4 * turn_timeout))
    (folder / "convoprobe.yaml").write_text(limits)
    (folder / "scenarios").mkdir()
    for message in (*hanging, *fine):
        (folder / "scenarios" / f"{message}.yaml").write_text(SCENARIO.format(message=message))
    asyncio.run(_record(folder, fine))


async def _record(folder: Path, messages: Iterable[str]) -> None:
    settings = load_settings(folder, overrides={"run.replay": "record"}, environ={})
    runner = Runner(settings, llm=FakeLLM(judge))
    for message in messages:
        (loaded,) = load_scenarios(folder / "scenarios" / f"{message}.yaml")
        assert loaded.scenario is not None
        merged = scenario_settings(settings, loaded.scenario.config)
        target = as_target(lambda message: f"echo {message}")
        await runner.run(Job(loaded, f"scenarios/{message}.yaml::{loaded.id}", target, merged))
    await runner.aclose()
