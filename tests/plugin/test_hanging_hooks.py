"""Hooks that never come back: their own scenario is an error, and the others go on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.support import hanging_project
from tests.support.chat_server import Answer, ChatServer, Completion
from tests.support.default_answers import default_answer

from .suite import Suite

LEAVES_THREADS = """
import threading

def leave(name):
    threading.Thread(target=threading.Event().wait, name=name, daemon=False).start()

def look_up(text: str) -> str:
    'Look it up.'
    leave("endless-tool")
    return text

def pytest_convoprobe_settings(item, scenario, settings):
    leave("endless-settings")

def pytest_convoprobe_checks(item, scenario, transcript):
    leave("endless-checks")
    return []

def pytest_convoprobe_result(item, result):
    leave("endless-result")
"""


def test_a_hook_that_never_returns_is_an_error_of_its_scenario(suite: Suite) -> None:
    hanging_project.write(suite.path, fine=["adjusts", "fine", "reports"], hanging=())
    suite.write(
        "conftest.py",
        """
        import threading
        import time


        def pytest_convoprobe_settings(item, scenario, settings):
            if item.name == "adjusts":
                threading.Event().wait()


        def pytest_convoprobe_result(item, result):
            while item.name == "reports":
                try:
                    time.sleep(60)
                except Exception:
                    continue
        """,
    )
    result = suite.run_process("-p", "no:randomly", "-rE")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines_random(
        [
            "ERROR scenarios/adjusts.yaml::adjusts - infrastructure: conftest.py:8: in *",
            "conftest.py:14: in pytest_convoprobe_result did not return in time*run.scenario_timeout*",
            "ERROR scenarios/reports.yaml::reports - Failed: conftest.py:14: in *",
        ]
    )


def test_threads_that_tools_and_hooks_leave_do_not_keep_the_run_from_ending(suite: Suite) -> None:
    suite.write("conftest.py", LEAVES_THREADS)

    def answer(body: Mapping[str, Any]) -> Answer:
        asked = body.get("tools") and body["messages"][-1]["role"] != "tool"
        return Completion(None, (("look_up", {"text": "x"}),)) if asked else default_answer(body)

    with ChatServer(answer) as server:
        hanging_project.write(suite.path, fine=["fine"], hanging=())
        model = f"{{model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123}}"
        target = "{type: model, tools: ['conftest.py:look_up']}"
        suite.write("convoprobe.yaml", f"llm: {model}\ntarget: {target}\n")
        result = suite.run_process()
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    threads = re.findall(r"the thread endless-(\w+) of an agent never ended", result.stderr.str())
    assert sorted(threads) == ["checks", "result", "settings", "tool"]
