"""Several targets that call models themselves: each at its own provider, with its own recording."""

from __future__ import annotations

import json

import pytest

from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .suite import Suite
from .test_model_variables import AGENT, SCENARIO, python_target

INLINE = """
def test_both(convoprobe):
    for name in ("one", "two"):
        assert convoprobe.run("scenarios/order.yaml", target=name).passed
"""


def project(suite: Suite, judge: ChatServer, one: ModelServer, two: ModelServer) -> None:
    suite.write("agent.py", AGENT)
    suite.write("scenarios/order.yaml", SCENARIO)
    suite.write("conftest.py", "")
    llm = {"model": "openai/fake", "api_base": judge.base_url, "api_key": "sk-not-a-real-key-123"}
    targets = {"one": python_target(one), "two": python_target(two)}
    suite.write("convoprobe.yaml", json.dumps({"llm": llm, "targets": targets}))


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_calls_go_to_the_provider_of_each(suite: Suite, words: tuple[str, ...]) -> None:
    plugins = ("xdist",) if words else ()
    with ModelServer() as one, ModelServer() as two, ChatServer() as judge:
        project(suite, judge, one, two)
        record = "--convoprobe-replay=record"
        suite.run_process(record, *words, plugins=plugins).assert_outcomes(passed=2)
        assert (len(one.requests), len(two.requests)) == (1, 1)
        suite.run_process("--convoprobe-replay=only", *words, plugins=plugins).assert_outcomes(passed=2)
        assert (len(one.requests), len(two.requests)) == (1, 1)


def test_tests_reach_the_provider_of_the_target_that_they_name(suite: Suite) -> None:
    with ModelServer() as one, ModelServer() as two, ChatServer() as judge:
        project(suite, judge, one, two)
        suite.write("test_own.py", INLINE)
        suite.run_process("test_own.py").assert_outcomes(passed=1)
        assert (len(one.requests), len(two.requests)) == (1, 1)
