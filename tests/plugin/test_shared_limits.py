"""Workers of xdist keep to the limits of the run together."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

import pytest

from tests.support.chat_server import ChatServer, Recorded

from .suite import Suite

XDIST = ["xdist.plugin"]
ASYNC = [*XDIST, "pytest_asyncio.plugin"]
AGENT = """
import pytest

@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "fine"
"""
SCENARIO = """
name: {name}
description: d
synthetic_user: {{persona: p, initial_query: "Hello from {name}", max_turns: {turns}}}
evaluation:
  correctness_criteria: [{{text: It says fine, about: any, shows: presence, opposite: It never does}}]
"""
TOGETHER = """
import asyncio, pytest

@pytest.mark.asyncio
async def test_many(convoprobe):
    scenario = {scenario!r}
    results = await asyncio.gather(
        *(convoprobe.run_async(scenario.replace("NUMBER", f"{name}-{{n}}")) for n in range({count})),
        return_exceptions=True,
    )
    assert all(getattr(one, "passed", False) for one in results), results
"""
"""A test with many conversations at once."""


class Project:
    """Scenarios whose models are a server on loopback: each call uses 15 tokens, and costs 0.0015 dollars."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        suite.write("conftest.py", AGENT)
        suite.write("pytest.ini", "[pytest]\nasyncio_default_fixture_loop_scope = function\n")

    def scenario(self, name: str, turns: int = 1, folder: str = "scenarios") -> None:
        self.suite.write(f"{folder}/{name}.yaml", SCENARIO.format(name=name, turns=turns))

    def test_of_many(self, name: str, count: int) -> None:
        scenario = SCENARIO.format(name="NUMBER", turns=1)
        self.suite.write(f"test_{name}.py", TOGETHER.format(scenario=scenario, name=name, count=count))

    def run(self, server: ChatServer, *words: str, more: str = "", plugins: Any = XDIST) -> pytest.RunResult:
        model = f"model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123"
        price = "input_cost_per_token: 0.0001, output_cost_per_token: 0.0001"
        self.suite.write("convoprobe.yaml", f"llm: {{{model}, {price}}}\n{textwrap.dedent(more)}")
        return self.suite.run_process(*words, plugins=plugins)


@pytest.fixture
def project(suite: Suite) -> Project:
    return Project(suite)


def names(requests: list[Recorded]) -> list[str]:
    """Whose call each was, as far as its text says."""
    return [
        next(part for part in ("a-", "b-", "c-", "") if f"Hello from {part}" in one.prompt)
        for one in requests
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("-n2",),
        ("-n3", "--dist=worksteal"),
        ("-n2", "--dist=loadfile"),
        ("-n2", "--dist=loadscope"),
        ("--dist=each", "--tx=2*popen"),
    ],
    ids=" ".join,
)
def test_all_workers_together_have_so_many_conversations_at_once(project: Project, words: Any) -> None:
    for name in "abc":
        project.test_of_many(name, 6)
    with ChatServer(latency=0.05) as server:
        result = project.run(server, *words, "--convoprobe-concurrency=3", plugins=ASYNC)
    result.assert_outcomes(passed=6 if "each" in words[0] else 3)
    assert server.peak == 3
    assert set(names(server.requests)) == {"a-", "b-", "c-"}


def test_with_fewer_places_than_workers_each_has_its_turn(project: Project) -> None:
    for name in "abc":
        project.test_of_many(name, 3)
    with ChatServer(latency=0.05) as server:
        result = project.run(server, "-n3", "--convoprobe-concurrency=1", plugins=ASYNC)
    result.assert_outcomes(passed=3)
    assert server.peak == 1
    assert len(server.requests) == 9


def test_one_worker_uses_the_places_that_another_does_not_need(project: Project) -> None:
    project.test_of_many("a", 12)
    project.suite.write("test_other.py", "def test_other():\n    import time\n    time.sleep(3)\n")
    with ChatServer(latency=0.3) as server:
        result = project.run(server, "-n2", "--convoprobe-concurrency=4", plugins=ASYNC)
    result.assert_outcomes(passed=2)
    assert 2 <= server.peak <= 4


def test_a_worker_that_has_ended_keeps_no_place(project: Project) -> None:
    """Its process lives until the other one ends, too, which wants the only place a while later."""
    for name in "ab":
        project.scenario(name + "-")
    project.suite.write("a/test_slow.py", "def test_slow():\n    import time\n    time.sleep(3)\n")
    with ChatServer() as server:
        project.run(server, "-n2", "--convoprobe-concurrency=1").assert_outcomes(passed=3)


def test_a_retry_after_in_one_worker_pauses_all(project: Project) -> None:
    """The other hears of it at its next report."""
    for name in "ab":
        project.scenario(name + "-", turns=60)
    pause, heard = 4.0, 1.5
    script = itertools.chain([None] * 20, ["429:4"], itertools.repeat(None))
    with ChatServer(faults=script, latency=0.05) as server:
        project.run(server, "-n2").assert_outcomes(passed=2)
    requests = server.requests
    refused = next(one for one in requests if one.fault)
    assert set(names(requests)[: requests.index(refused)]) == {"a-", "b-"}
    after = [one.started - (refused.finished or 0.0) for one in requests]
    assert not [seconds for seconds in after if heard < seconds < pause - 0.5]
    assert {name for name, seconds in zip(names(requests), after, strict=True) if seconds > pause} == {
        "a-",
        "b-",
    }


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("--convoprobe-max-tokens=150", "15* tokens spent of run.max_tokens 150"),
        ("--convoprobe-max-cost=0.015", "$0.01* spent of run.max_cost 0.015"),
    ],
    ids=["tokens", "dollars"],
)
@pytest.mark.parametrize("workers", ["-n2", "-n3"])
def test_all_workers_together_exceed_the_budget_by_one_call_at_most(
    project: Project, limit: str, words: str, workers: str
) -> None:
    for number in range(12):
        project.scenario(f"s{number}", turns=3)
    with ChatServer(latency=0.02, routine=False) as server:
        result = project.run(server, workers, "-rE", limit)
    result.stdout.fnmatch_lines([f"*the run's budget is used up: {words}; raise it to continue*"])
    result.stdout.no_fnmatch_line("*share*")
    assert 10 <= len(server.requests) <= 11


def test_one_worker_alone_may_use_up_the_budget(project: Project) -> None:
    project.scenario("only", turns=20)
    project.suite.write("test_other.py", "def test_other():\n    import time\n    time.sleep(1)\n")
    with ChatServer(routine=False) as server:
        result = project.run(server, "-n2", "-rE", "--convoprobe-max-tokens=150")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*: 150 tokens spent of run.max_tokens 150; *"])
    assert len(server.requests) == 10


CRASH = """
import os, pathlib, pytest, time

@pytest.fixture(scope="session")
def convoprobe_target():
    def agent(message):
        if "crash" in message:
            if pathlib.Path("crashed").exists():
                return "fine"
            pathlib.Path("crashed").touch()
            os._exit(1)
        return "fine"
    return agent
"""


@pytest.mark.parametrize("stored", [True, False], ids=["stored", "not stored"])
def test_what_a_crashed_worker_has_spent_counts_once(project: Project, stored: bool) -> None:
    project.suite.write("conftest.py", CRASH)
    for name in ("a1", "a2", "crash", "z1", "z2", "z3"):
        project.scenario(name)
    words = ["-n1", "--convoprobe-max-tokens=60", "-rE", "--convoprobe-concurrency=1"]
    with ChatServer(routine=False, latency=0.3) as server:
        result = project.run(server, *words, *([] if stored else ["--convoprobe-no-results"]))
    # Four judges, of the first worker and of the one that took its place.
    result.stdout.fnmatch_lines(["*: 60 tokens spent of run.max_tokens 60; *"])
    assert len(server.requests) == 4


def test_places_of_a_crashed_worker_are_given_back(project: Project) -> None:
    project.suite.write("conftest.py", CRASH)
    project.scenario("crash")
    project.test_of_many("a", 8)
    with ChatServer(latency=0.05) as server:
        result = project.run(server, "-n2", "--convoprobe-concurrency=1", plugins=ASYNC)
    result.assert_outcomes(passed=1, failed=1)
    assert (server.peak, len(server.requests)) == (1, 8)


UNREACHABLE = """
@pytest.hookimpl(trylast=True)
def pytest_configure_node(node):
    del node.workerinput["convoprobe_limits"]
"""
"""A controller of another version: its workers have no way to it."""


@pytest.mark.parametrize("words", [("-n2",), ("--dist=each", "--tx=2*popen")], ids=" ".join)
def test_where_the_controller_cannot_be_reached_workers_divide_the_budget_and_say_so(
    project: Project, words: Any
) -> None:
    project.suite.write("conftest.py", AGENT + UNREACHABLE)
    for number in range(8):
        project.scenario(f"s{number}", turns=4)
    with ChatServer(routine=False) as server:
        result = project.run(server, *words, "-rE", "--convoprobe-max-tokens=150")
    result.stdout.fnmatch_lines(
        ["* 75 tokens spent of this worker's share, 1 in 2, of run.max_tokens 150; *"]
    )
    reason = "(it was not started by this version of pytest-convoprobe)"
    for worker in ("gw0", "gw1"):
        result.stdout.fnmatch_lines([f"note: worker {worker} could not share the run's limits * {reason}: *"])
    assert len(server.requests) <= 12


def test_a_suite_without_scenarios_shares_nothing(suite: Suite) -> None:
    heavy = "[name for name in sys.modules if name.startswith('pytest_convoprobe.llm.limits')]"
    suite.write("conftest.py", f"import sys\ndef pytest_unconfigure(config):\n    print('loaded', {heavy})\n")
    suite.write("test_plain.py", f"import sys\ndef test_plain():\n    assert not {heavy}\n")
    result = suite.run_new_process("-n2", "-s", plugins=XDIST)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*loaded []"])
