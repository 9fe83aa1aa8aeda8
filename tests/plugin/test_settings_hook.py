"""What `pytest_convoprobe_settings` changes takes effect: with the real runner, over HTTP."""

from __future__ import annotations

import pytest

from tests.support.chat_server import ChatServer

from .suite import TARGET, Suite

HOOK = """
def pytest_convoprobe_settings(item, scenario, settings):
    if item.name == "changed":
        return settings.model_copy(update={{"{section}": settings.{section}.model_copy(update={update})}})
"""


@pytest.fixture
def server(chat_server: ChatServer, suite: Suite) -> ChatServer:
    """In place of every model; there are two scenarios, and a hook is to change one of them."""
    llm = f"{{model: openai/fake, api_base: '{chat_server.base_url}', api_key: x}}"
    suite.write("convoprobe.yaml", f"llm: {llm}\n")
    suite.scenario("as it is")
    suite.scenario("changed")
    return chat_server


def project(suite: Suite, section: str, update: dict[str, object], target: str = TARGET) -> None:
    suite.write("conftest.py", "import pytest\n" + target + HOOK.format(section=section, update=update))


def models_of_the_judge(server: ChatServer) -> list[str]:
    return sorted(body["model"] for body in server.bodies if "[c1]" in str(body["messages"]))


def test_another_judge_for_one_scenario(suite: Suite, server: ChatServer) -> None:
    project(suite, "judge", {"model": "openai/stricter"})
    suite.run_live().assert_outcomes(passed=2)
    assert models_of_the_judge(server) == ["fake", "stricter"]


NEVER = """
import asyncio

@pytest.fixture(scope="session")
def convoprobe_target():
    async def answer(message):
        await asyncio.sleep(3600)
    return answer
"""


def test_less_time_for_one_scenario(suite: Suite, server: ChatServer) -> None:
    project(suite, "run", {"scenario_timeout": 0.2}, NEVER)
    result = suite.run_live("scenarios/changed.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the scenario took longer than 0.2 s*"])
