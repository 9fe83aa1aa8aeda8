"""Faults in an agent's calls of models, in whole runs of pytest: live, and in a replay without a provider."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .project import SCENARIOS, TRIALS, ModelProject, Run, assert_passed, assert_same

FIRST = {"model": "gpt-4o*", "call": 1, "kind": "rate_limit"}
ALL = SCENARIOS * TRIALS


@pytest.fixture
def project(tmp_path: Path) -> ModelProject:
    return ModelProject(tmp_path)


def recorded(
    project: ModelProject, *faults: dict[str, Any], of_target: tuple[dict[str, Any], ...] = (), tries: int = 2
) -> tuple[Run, ModelServer]:
    """A recording run of an agent whose client tries again so many times."""
    agent = project.folder / "openai_chat.py"
    agent.write_text(agent.read_text().replace("OpenAI()", f"OpenAI(max_retries={tries})"))
    for file in (project.folder / "scenarios").glob("*.yaml"):
        file.write_text(f"{file.read_text()}faults: {json.dumps(faults)}\n")
    target = {"type": "python", "object": "openai_chat.py:Agent", "faults": of_target}
    with ModelServer() as models, ChatServer() as judge:
        project.set(target, {"openai": f"{models.url}/v1"}, judge.base_url)
        return project.run("record"), models


def statuses(project: ModelProject) -> Counter[int]:
    """The statuses of the agent's calls that were recorded."""
    files = map(json.loads, project.recordings.values())
    calls = [call for file in files for call in file["calls"] if call["role"] == "agent"]
    return Counter(call["answer"]["status"] for call in calls)


@pytest.mark.parametrize("fault", [FIRST, {**FIRST, "kind": "truncated"}], ids=lambda fault: fault["kind"])
def test_an_agent_that_tries_again_passes_and_the_faulty_answer_is_not_recorded(
    project: ModelProject, fault: dict[str, Any]
) -> None:
    live, _ = recorded(project, fault)
    assert_passed(live)
    # Three calls of the model in each conversation, and an answer that was cut off is recorded whole.
    assert statuses(project) == {200: ALL * (3 + (fault["kind"] == "truncated"))}
    assert_same(live, project.replay())


def test_an_agent_that_gives_up_has_failed_and_a_replay_says_the_same(project: ModelProject) -> None:
    live, models = recorded(project, FIRST, tries=0)
    assert models.requests == []
    assert [outcome.split(" failed ")[1][:51] for outcome in live.outcomes] == [
        "the target gave no reply after a fault (`faults`) t"
    ] * ALL
    assert "injected: rate limit" in live.output
    assert project.replay().outcomes == live.outcomes


def test_those_of_the_target_are_in_every_scenario(project: ModelProject) -> None:
    live, models = recorded(project, of_target=(FIRST,))
    assert_passed(live)
    assert models.counts == {"chat": ALL * 3}
    assert_same(live, project.replay())


def test_a_fault_that_is_never_reached_is_an_error_of_the_scenario(project: ModelProject) -> None:
    live, _ = recorded(project, {**FIRST, "model": "claude*"})
    assert live.code == 1
    assert all(" error faults: the conversation has not reached call 1 of" in one for one in live.outcomes)
    assert "`gpt-4o-mini` 3 times" in live.outcomes[0]


def test_without_models_the_scenario_does_not_begin(project: ModelProject) -> None:
    recorded(project, FIRST)
    settings = project.folder / "convoprobe.yaml"
    given = json.loads(settings.read_text())
    del given["target"]["models"]
    settings.write_text(json.dumps(given))
    run = project.run("off")
    assert all(" error faults: no faults can be injected into calls of" in one for one in run.outcomes)
    assert len(run.outcomes) == ALL
