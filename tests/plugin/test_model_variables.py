"""When agents in pytest's process find the gateway in their environment, and when nobody does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe import run_scenario
from pytest_convoprobe.errors import Blame
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.store import list_runs
from tests.support.chat_server import ChatServer
from tests.support.model_server import ModelServer

from .suite import Suite

# The address is read where the module is imported, as by most clients; requests are made without an SDK.
AGENT = """
    import json, os, urllib.request

    URL = os.environ.get("OPENAI_BASE_URL", "nowhere")

    def answer(message):
        asked = {"model": "m", "messages": [{"role": "user", "content": message}]}
        request = urllib.request.Request(
            f"{URL}/chat/completions", json.dumps(asked).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request) as got:
            return json.load(got)["choices"][0]["message"]["content"]

    def careless(message):
        try:
            return answer("not what was said")
        except Exception:
            return "It is fine."
"""
SCENARIO = """
    name: order
    description: d
    synthetic_user: {persona: p, initial_query: 'Is it fine?', max_turns: 1}
    evaluation:
      correctness_criteria:
        - {text: It says fine, about: any, shows: presence, opposite: It never does}
"""
NAMES = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
LOOKS = f"""
    import os

    def look():
        return [os.environ.get(name) for name in {NAMES}]
"""


def settings(judge: ChatServer, target: dict[str, Any]) -> str:
    llm = {"model": "openai/fake", "api_base": judge.base_url, "api_key": "sk-not-a-real-key-123"}
    return json.dumps({"llm": llm, "target": target, "run": {"concurrency": 1}})


def python_target(provider: ModelServer, name: str = "answer") -> dict[str, Any]:
    return {"type": "python", "object": f"agent.py:{name}", "models": {"openai": f"{provider.url}/v1"}}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/own")


@pytest.mark.parametrize("fixture", [False, True])
def test_they_are_set_before_the_agent_is_imported_and_put_back(suite: Suite, fixture: bool) -> None:
    suite.write("agent.py", AGENT)
    suite.write("looks.py", LOOKS)
    suite.write("scenarios/order.yaml", SCENARIO)
    own = "['http://127.0.0.1:9/own', None, None, None]"
    suite.write("test_before.py", f"import looks\ndef test_it():\n    assert looks.look() == {own}\n")
    suite.write("test_zafter.py", f"import looks\ndef test_it():\n    assert looks.look() == {own}\n")
    target = """
    import pytest

    @pytest.fixture(scope="session")
    def convoprobe_target():
        import agent, looks
        seen = looks.look()
        assert seen[0] == seen[1] and seen[0].startswith("http://127.0.0.1:")
        assert seen[2:] == [None, None]  # no upstream of this name
        return agent.answer
    """
    suite.write("conftest.py", target if fixture else "")
    with ModelServer() as provider, ChatServer() as judge:
        suite.write("convoprobe.yaml", settings(judge, python_target(provider)))
        result = suite.run_process("test_before.py", "scenarios", "test_zafter.py")
        result.assert_outcomes(passed=3)
        assert len(provider.requests) == 1


def test_a_test_between_scenarios_finds_its_own_and_scenarios_still_talk_together(suite: Suite) -> None:
    suite.write("agent.py", AGENT)
    # Two talk at once, or none does.
    suite.write(
        "together.py",
        """
        import threading, time
        import agent

        barrier = threading.Barrier(2)

        def answer(message):
            barrier.wait(30)
            time.sleep(0.5)
            return agent.answer(message)
        """,
    )
    suite.write("looks.py", LOOKS)
    for name in ("a1", "a2", "c1", "c2"):
        scenario = SCENARIO.replace("name: order", f"name: {name}").replace("Is it", f"{name}: is it")
        suite.write(f"{name[0]}/scenarios/{name}.yaml", scenario)
    test = "assert looks.look()[0] == 'http://127.0.0.1:9/own'"
    suite.write("b/test_b.py", f"import looks, time\ndef test_it():\n    time.sleep(0.3)\n    {test}\n")
    suite.write("conftest.py", "")
    with ModelServer() as provider, ChatServer() as judge:
        target = {**python_target(provider), "object": "together.py:answer"}
        suite.write("convoprobe.yaml", settings(judge, target))
        suite.run_process("a", "b", "c", "--convoprobe-concurrency=2").assert_outcomes(passed=5)


def test_without_models_nothing_is_set(suite: Suite) -> None:
    suite.write("agent.py", "import looks\ndef answer(message):\n    return f'fine {looks.look()}'\n")
    suite.write("looks.py", LOOKS)
    suite.write("scenarios/order.yaml", SCENARIO)
    suite.write("conftest.py", "")
    with ChatServer() as judge:
        suite.write("convoprobe.yaml", settings(judge, {"type": "python", "object": "agent.py:answer"}))
        suite.run_process("scenarios").assert_outcomes(passed=1)
    stored = list_runs(suite.path / ".convoprobe")[0].open()
    (row,) = stored.rows()
    said = stored.trial(row).result.transcript.turns[0].reply.text
    assert said == "fine ['http://127.0.0.1:9/own', None, None, None]"


@pytest.mark.parametrize("scenarios", [True, False])
def test_a_scenario_inside_a_test(suite: Suite, scenarios: bool) -> None:
    suite.write("agent.py", AGENT)
    suite.write("order.txt", SCENARIO)
    if scenarios:
        suite.write("scenarios/order.yaml", SCENARIO)
    suite.write("conftest.py", "")
    suite.write(
        "test_inline.py",
        """
        def test_it(convoprobe):
            import agent
            result = convoprobe.run(open("order.txt").read(), target=agent.answer)
            result.assert_passed()
        """,
    )
    with ModelServer() as provider, ChatServer() as judge:
        suite.write("convoprobe.yaml", settings(judge, python_target(provider)))
        suite.run_process().assert_outcomes(passed=1 + scenarios)
        assert len(provider.requests) == 1 + scenarios


def test_a_call_of_nobody_is_an_error_whatever_the_agent_says(suite: Suite) -> None:
    suite.write("agent.py", AGENT)
    suite.write("scenarios/order.yaml", SCENARIO)
    suite.write("conftest.py", "")
    with ModelServer() as provider, ChatServer() as judge:
        suite.write("convoprobe.yaml", settings(judge, python_target(provider, "careless")))
        result = suite.run_process("scenarios", "-rA")
        result.assert_outcomes(errors=1)
        assert not provider.requests
    stored = list_runs(suite.path / ".convoprobe")[0].open()
    (row,) = stored.rows()
    found = stored.trial(row).result
    assert found.outcome is Outcome.ERROR
    assert found.blame is Blame.INFRASTRUCTURE
    assert "belongs to no conversation" in found.reason
    assert "context.model_url" in found.reason


def test_an_agent_that_a_test_module_has_imported_before_is_named(suite: Suite) -> None:
    """Its client has the address of before: nothing of it is seen, and that is said."""
    suite.write("agent.py", AGENT)
    suite.write("scenarios/order.yaml", SCENARIO)
    suite.write("test_first.py", "import agent\n\ndef test_it():\n    assert agent.URL.endswith('/own')\n")
    suite.write("conftest.py", "")
    with ModelServer() as provider, ChatServer() as judge:
        suite.write("convoprobe.yaml", settings(judge, python_target(provider, "careless")))
        result = suite.run_process("test_first.py", "scenarios", "-rA")
        result.assert_outcomes(passed=2)
        assert not provider.requests
    shown = " ".join(result.stdout.str().split())
    assert "made no call of a model through its gateway" in shown
    assert "a test module or conftest.py imports the agent" in shown


def test_run_scenario_has_the_gateway_too(tmp_path: Path) -> None:
    seen: list[str | None] = []

    class Agent:
        def __init__(self, context: Any) -> None:
            seen.append(context.model_url)

        def send(self, message: str) -> str:
            return "It is fine."

    (tmp_path / "order.yaml").write_text(SCENARIO)
    with ModelServer() as provider, ChatServer() as judge:
        (tmp_path / "convoprobe.yaml").write_text(settings(judge, python_target(provider)))
        result = run_scenario(tmp_path / "order.yaml", target=Agent, rootdir=tmp_path)
    assert result.outcome is Outcome.PASSED
    assert str(seen[0]).startswith("http://127.0.0.1:")
