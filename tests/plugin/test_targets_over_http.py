"""Several HTTP services as targets, with data of each scenario, live and with workers of xdist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.agent_server import AgentServer, Request

from .suite import Suite
from .test_several_targets import trials

SCENARIO = """
name: {name}
description: A talk
metadata: {{customer: {name}}}
synthetic_user: {{persona: Somebody, initial_query: Hello, max_turns: 1}}
evaluation: {{replies: [{{contains: "{name}"}}]}}
"""


def answer(request: Request) -> object:
    return {"text": f"{request.headers['x-agent']} knows {request.json['customer']}"}


@pytest.fixture
def project(suite: Suite) -> Iterator[Suite]:
    suite.write("conftest.py", "")
    for name in ("anna", "bert", "carl"):
        suite.write(f"scenarios/{name}.yaml", SCENARIO.format(name=name))
    with AgentServer(answer) as server:
        suite.write(
            "convoprobe.yaml",
            f"""
target:
  type: http
  url: {server.url}/chat
  body: {{customer: "{{{{ metadata.customer }}}}"}}
targets:
  old: {{headers: {{X-Agent: old}}}}
  new: {{headers: {{X-Agent: new}}}}
""",
        )
        yield suite


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_each_service_gets_the_data_of_each_scenario(project: Suite, words: tuple[str, ...]) -> None:
    result = project.run_process(*words, plugins=("xdist",) if words else ())
    result.assert_outcomes(passed=6)
    said = {
        (str(row["target_name"]), row["transcript"]["turns"][0]["reply"])  # type: ignore[index]
        for row in trials(project.path)
    }
    assert said == {
        (who, f"{who} knows {name}") for who in ("old", "new") for name in ("anna", "bert", "carl")
    }
    result.stdout.fnmatch_lines_random(["  target:  new     old", "  anna     passed  passed"])


def test_a_scenario_without_the_data_is_to_blame(project: Suite) -> None:
    text = SCENARIO.format(name="dora").replace("metadata: {customer: dora}\n", "")
    project.write("scenarios/dora.yaml", text)
    result = project.run_process("-k", "dora")
    result.assert_outcomes(errors=2, deselected=6)
    result.stdout.fnmatch_lines_random(
        ["*dora[[]old[]]: blame scenario, not the agent*", "*the scenario's `metadata` has no `customer`*"]
    )


def test_each_has_a_gate_of_its_own(project: Suite) -> None:
    project.gate = "auto"
    project.run_process("--convoprobe-gate=each", "--convoprobe-trials=8").assert_outcomes(passed=48)
    settings = (project.path / "convoprobe.yaml").read_text("utf-8")
    worse = settings.replace("X-Agent: new}", "X-Agent: new}, body: {customer: nobody}")
    project.write("convoprobe.yaml", worse)
    result = project.run_process("--convoprobe-baseline=latest", "--convoprobe-gate=paired")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines_random(["FAILED scenarios/anna.yaml::anna[[]new[]]*"])
