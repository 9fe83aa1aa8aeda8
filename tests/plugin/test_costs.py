"""The cost of a run is that of all calls that were made, also of conversations that came to no result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_convoprobe.llm.budget import Spent
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.reports.html.page import context
from pytest_convoprobe.reports.json_report import json_report
from pytest_convoprobe.reports.junit import junit
from pytest_convoprobe.reports.markdown import markdown
from pytest_convoprobe.reports.run_report import read_report
from pytest_convoprobe.results.spent_calls import read_calls, spent_live, without_result
from pytest_convoprobe.results.store import list_runs
from pytest_convoprobe.transcript import Usage
from tests.support.chat_server import ChatServer

from .suite import Suite

AGENT = """
import pathlib, time, pytest

@pytest.fixture(scope="session")
def convoprobe_target():
    def agent(message):
        if message == "crash":
            while not pathlib.Path("talked").exists():
                time.sleep(0.02)
            raise RuntimeError("no")
        if message != "Hello":
            pathlib.Path("talked").touch()
            time.sleep(30)
        return "fine"
    return agent
"""
SCENARIO = """
name: {name}
description: d
synthetic_user: {{persona: p, initial_query: {says}, max_turns: 3}}
evaluation:
  correctness_criteria: [{{text: It says fine, about: any, shows: presence, opposite: It never does}}]
"""


@pytest.mark.parametrize("stored", [True, False])
def test_a_conversation_that_was_cancelled_is_paid_for_in_every_report(suite: Suite, stored: bool) -> None:
    suite.write("conftest.py", AGENT)
    suite.write("scenarios/a.yaml", SCENARIO.format(name="a", says="crash"))
    suite.write("scenarios/b.yaml", SCENARIO.format(name="b", says="Hello"))
    with ChatServer() as server:
        model = f"model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123"
        price = "input_cost_per_token: 0.0001, output_cost_per_token: 0.0001"
        suite.write("convoprobe.yaml", f"llm: {{{model}, {price}}}\n")
        shown = suite.run_process("-x", *([] if stored else ["--convoprobe-no-results"])).stdout.str()
    assert len(server.requests) == 1
    assert "spent: $0.0015, 15 tokens in 1 call\n" in shown
    assert "  of it without a result: $0.0015, 15 tokens in 1 call\n" in shown
    if stored:
        _assert_reports(suite.path / ".convoprobe")


def _assert_reports(results: Path) -> None:
    report = read_report(list_runs(results)[0].open())
    assert [one.cost for one in context(report)["spent"]] == ["$0.0015"] * 3
    assert "| of it, without a result | | 1 | 15 | $0.0015 |" in markdown(report)
    totals = json_report(report)["totals"]
    assert totals["spent"] == totals["without_result"]
    assert totals["spent"]["synthetic_user"]["cost"] == pytest.approx(0.0015)
    assert '<property name="convoprobe.cost" value="0.0015"' in junit(report)


def test_a_worker_that_replaces_a_crashed_one_has_what_is_left_of_its_share(suite: Suite) -> None:
    suite.write("conftest.py", AGENT)
    for name in "az":
        scenario = SCENARIO.format(name=name, says="Hello").replace("max_turns: 3", "max_turns: 1")
        suite.write(f"scenarios/{name}.yaml", scenario)
    suite.write("scenarios/test_between.py", "def test_crash():\n    import os\n    os._exit(1)\n")
    with ChatServer() as server:
        model = f"model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123"
        suite.write("convoprobe.yaml", f"llm: {{{model}}}\n")
        options = ("-n1", "-rE", "--convoprobe-max-tokens=15", "--convoprobe-concurrency=1")
        result = suite.run_process(*options, plugins=["xdist.plugin"])
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["ERROR scenarios/z.yaml::z - budget: the run's budget is used up: 15 tok*"])
    assert len(server.requests) == 1  # the judge of the first


def test_what_a_killed_process_left_is_read(tmp_path: Path) -> None:
    call = {"scenario_id": "a", "trial": 1, "role": "judge", "calls": 1, "attempts": 2, "replayed": 0}
    whole = json.dumps({**call, "prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5})
    (tmp_path / "calls-gw0.jsonl").write_text(f"{whole}\n{whole}\n{whole[:50]}")
    (tmp_path / "calls-gw1.jsonl").write_text(f"{whole}\nnull\n[]\n")
    assert read_calls(tmp_path) == {Role.JUDGE: Spending(3, 6, 0, Usage(30, 15), 1.5)}
    assert spent_live(tmp_path, "gw0") == Spent(1.0, 30)
    assert spent_live(tmp_path, "gw2") == Spent()


class Kept:
    """A result that has the spending which is given."""

    def __init__(self, **spending: Spending) -> None:
        self.spending = {Role[role.upper()]: spent for role, spent in spending.items()}


def test_what_has_no_result_is_the_difference() -> None:
    calls = {
        Role.JUDGE: Spending(3, 4, 0, Usage(30, 15), 1.5),
        Role.TARGET: Spending(usage=Usage(100, 10), cost=None),
        Role.GUARD: Spending(1, 1, cost=None),
    }
    kept = Kept(judge=Spending(2, 2, 0, Usage(20, 10), 1.0), target=Spending(usage=Usage(60, 10), cost=None))
    assert without_result(calls, [kept]) == {
        Role.JUDGE: Spending(1, 2, 0, Usage(10, 5), 0.5),
        Role.TARGET: Spending(usage=Usage(40, 0), cost=None),
        Role.GUARD: Spending(1, 1, cost=None),
    }
    assert without_result({}, [kept]) == {}
