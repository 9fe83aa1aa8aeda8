"""Hooks that never come back: their own scenario is an error, and the others go on."""

from __future__ import annotations

from tests.support import hanging_project

from .suite import Suite


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
