"""What pytest's own lists and debugger, and reporters of others, see of scenarios."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .suite import Suite

PROBE = """
    import pdb
    class Probe(pdb.Pdb):
        def interaction(self, frame, tb):
            self.setup(frame, getattr(tb, "__traceback__", tb))
            print("stopped with", self.curframe.f_locals["result"].reason)
"""


def test_the_debugger_stops_where_the_result_is(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed", reason="it promised a refund")
    suite.scenario("away", outcome="error", reason="the provider is down")
    suite.write("probe.py", PROBE)
    result = suite.run("--pdb", "--pdbcls=probe:Probe")
    result.stdout.fnmatch_lines(["stopped with the provider is down", "stopped with it promised a refund"])


def test_fixtures_per_test_names_the_scenario_file(suite: Suite) -> None:
    suite.scenario("first", file="scenarios/a.yaml")
    suite.scenario("second", file="scenarios/a.yaml")
    suite.run("--fixtures-per-test").stdout.fnmatch_lines(
        ["*fixtures used by first*", "*(scenarios/a.yaml:*)*", "*used by second*", "*(scenarios/a.yaml:1*)*"]
    )


def test_markers_lists_tags_with_their_files_and_nothing_else(suite: Suite) -> None:
    suite.scenario("one", tags=["smoke", "big one", "skip"])
    suite.scenario("two", tags=["smoke"])
    suite.write("scenarios/broken.yaml", "name: [\n")
    suite.write("scenarios/play.yml", "hosts: all\n")
    listed = suite.run("--markers", "--strict-markers").stdout
    listed.fnmatch_lines_random(
        [
            "@pytest.mark.smoke: a tag of scenarios in scenarios/one.yaml, scenarios/two.yaml",
            "@pytest.mark.big_one: a tag of scenarios in scenarios/one.yaml",
        ]
    )
    listed.no_fnmatch_line("@pytest.mark.skip: a tag*")


def test_a_failure_that_another_plugin_annotates_is_annotated_once(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.scenario("bad", outcome="failed", reason="it promised a refund")
    suite.scenario("away", outcome="error", reason="the provider is down")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    suite.run().stdout.fnmatch_lines(
        ["::error file=scenarios/bad.yaml*", "::error file=scenarios/away.yaml*"]
    )
    # pytest-github-actions-annotate-failures, which passes over what fails in its setup.
    suite.conftest(
        "def pytest_configure(config):\n"
        "    config.stash[BACKEND] = StandIn()\n"
        "    config.pluginmanager.register(object(), 'annotate_errors')\n"
    )
    shown = suite.run().stdout
    shown.fnmatch_lines(["::error file=scenarios/away.yaml*"])
    shown.no_fnmatch_line("::error file=scenarios/bad.yaml*")


def test_allure_shows_the_time_of_the_conversation(suite: Suite) -> None:
    pytest.importorskip("allure_pytest")
    suite.scenario("one", file="scenarios/all.yaml", duration=70)
    suite.scenario("two", file="scenarios/all.yaml", duration=900, outcome="error")
    suite.run_process("--alluredir=allure", plugins=["allure_pytest.plugin"])
    results = [json.loads(path.read_text()) for path in Path(suite.path, "allure").glob("*-result.json")]
    times = {one["name"]: (one["stop"] - one["start"]) / 1000 for one in results}
    assert times == {"one": pytest.approx(70), "two": pytest.approx(900)}
    assert {one["name"]: one["status"] for one in results} == {"one": "passed", "two": "broken"}
