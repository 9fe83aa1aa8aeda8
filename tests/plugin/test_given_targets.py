"""Objects and modules as targets: the one that the test knows is the one that talks."""

from __future__ import annotations

from .suite import Suite

AGENT = """
class Agent:
    def __init__(self):
        self.heard = []

    def reply(self, message):
        self.heard.append(message)
        return "hi"
"""


def fixture(scope: str) -> str:
    return (
        AGENT
        + f"""
@pytest.fixture(scope="{scope}")
def convoprobe_target():
    agent = Agent()
    yield agent
    log(f"heard {{agent.heard}}")
"""
    )


def test_a_test_sees_what_its_agent_has_done(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        AGENT
        + """
import asyncio
SCENARIO = {"name": "A", "description": "d", "synthetic_user": {"persona": "p", "initial_query": "hello"},
            "evaluation": {"correctness_criteria": ["c"]}}

def test_it(convoprobe):
    agent = Agent()
    convoprobe.run(SCENARIO, target=agent)
    convoprobe.run(SCENARIO, target=agent.reply)
    assert agent.heard == ["hello", "hello"]

async def test_async(convoprobe):
    agent = Agent()
    await convoprobe.run_async(SCENARIO, target=agent)
    assert agent.heard == ["hello"]
""",
    )
    options = ("asyncio_mode=auto", "asyncio_default_fixture_loop_scope=function")
    words = [word for option in options for word in ("-o", option)]
    suite.run("-p", "pytest_asyncio.plugin", *words).assert_outcomes(passed=2)


def test_a_fixture_may_give_an_object_to_each_scenario(suite: Suite) -> None:
    suite.conftest("", target=fixture("function"))
    suite.scenario("a")
    suite.scenario("b")
    suite.run().assert_outcomes(passed=2)
    assert [line for line in suite.log if line.startswith("heard")] == ["heard ['hello']"] * 2


def test_one_object_for_several_scenarios_is_refused(suite: Suite) -> None:
    suite.conftest("", target=fixture("session"))
    suite.scenario("a")
    suite.scenario("b")
    result = suite.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*is one object, but every scenario needs a conversation of its own*"])
    assert "heard []" in suite.log


def test_so_it_is_if_they_come_one_after_another(suite: Suite) -> None:
    suite.conftest("", target=fixture("package"))
    suite.scenario("a", file="scenarios/both.yaml")
    suite.scenario("b", file="scenarios/both.yaml")
    result = suite.run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*has been in the conversation of an earlier scenario*"])


def test_a_module_that_a_test_has_changed_is_the_one_that_talks(suite: Suite) -> None:
    suite.write("agent_of_suite.py", "URL = 'real'\ndef reply(message): return URL")
    suite.conftest(
        """
        @pytest.fixture(autouse=True)
        def _fake(monkeypatch):
            monkeypatch.setattr("agent_of_suite.URL", "fake")
        """,
        target="",
    )
    suite.write("convoprobe.yaml", "target: {type: python, object: 'agent_of_suite.py:reply'}")
    suite.scenario("a")
    suite.write(
        "test_it.py",
        """
        def test_it(convoprobe, request):
            result = convoprobe.run("scenarios/a.yaml")
            assert result.transcript.turns[0].reply.text == "fake"
        """,
    )
    suite.run("test_it.py").assert_outcomes(passed=1)


THREADS = """
import threading
def reply(message):
    from tests.plugin.stand_in import log
    log(f"in {threading.current_thread() is threading.main_thread()}")
    return "hi"
"""


def test_an_agent_on_the_tests_thread_talks_in_its_turn(suite: Suite) -> None:
    suite.write("agent_on_thread.py", THREADS)
    suite.conftest("", target="")
    suite.write("convoprobe.yaml", "target: {type: python, object: 'agent_on_thread.py:reply', thread: same}")
    for name in ("a", "b"):
        suite.scenario(name)
    suite.run().assert_outcomes(passed=2)
    talks = [line.split()[0] for line in suite.log if line.split()[0] in ("start", "in", "end")]
    assert talks == ["start", "in", "end"] * 2
    assert "in False" not in suite.log


def test_so_does_one_that_a_fixture_gives(suite: Suite) -> None:
    suite.write("agent_on_thread.py", THREADS)
    suite.conftest(
        "",
        target="""
@pytest.fixture(scope="session")
def convoprobe_target():
    from agent_on_thread import reply
    return lambda message: reply(message)
""",
    )
    suite.write("convoprobe.yaml", "target: {type: python, object: 'agent_on_thread.py:reply', thread: same}")
    suite.scenario("a")
    suite.run().assert_outcomes(passed=1)
    assert "in True" in suite.log


def test_the_settings_of_one_run_do_not_name_another_target_in_vain(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        AGENT
        + """
import pytest
from pytest_convoprobe.errors import SettingsError
SCENARIO = {"name": "A", "description": "d", "synthetic_user": {"persona": "p", "initial_query": "hello"},
            "evaluation": {"correctness_criteria": ["c"]}}

@pytest.mark.parametrize("settings", [{"target.object": "b.py:reply"}, {"target": {"type": "http"}}])
def test_it(convoprobe, settings):
    with pytest.raises(SettingsError, match="target.*: the settings of one run can't change the target"):
        convoprobe.run(SCENARIO, target=Agent(), settings=settings)
""",
    )
    suite.run().assert_outcomes(passed=2)
