"""What `pytest_convoprobe_settings` changes takes effect: with the real runner, over HTTP."""

from __future__ import annotations

from tests.support.chat_server import ChatServer

from .suite import Suite

CONFTEST = """
import asyncio
import pytest

@pytest.fixture(scope="session")
def convoprobe_target():
    async def answer(message):
        if message == "Never answer":
            await asyncio.sleep(3600)
        return "echo " + message
    return answer

def pytest_convoprobe_settings(item, scenario, settings):
    if item.name == "judged":
        judge = settings.judge.model_copy(update={"model": "openai/stricter"})
        return settings.model_copy(update={"judge": judge})
    if item.name == "hurried":
        return settings.model_copy(update={"run": settings.run.model_copy(update={"scenario_timeout": 0.2})})
"""


def models_of_the_judge(server: ChatServer) -> list[str]:
    return sorted(body["model"] for body in server.bodies if "[c1]" in str(body["messages"]))


def test_another_judge_and_less_time_each_for_one_scenario(suite: Suite, chat_server: ChatServer) -> None:
    """The server is in place of every model; the hook leaves the first scenario as it is."""
    llm = f"{{model: openai/fake, api_base: '{chat_server.base_url}', api_key: x}}"
    suite.write("convoprobe.yaml", f"llm: {llm}\n")
    suite.write("conftest.py", CONFTEST)
    suite.scenario("as it is")
    suite.scenario("judged")
    suite.scenario("hurried")
    path = suite.path / "scenarios/hurried.yaml"
    path.write_text(path.read_text().replace("initial_query: Hello", "initial_query: Never answer"))
    result = suite.run_process()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*the scenario took longer than 0.2 s*"])
    assert models_of_the_judge(chat_server) == ["fake", "stricter"]
