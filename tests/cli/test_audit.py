"""`audit`: how often the gate of a suite is wrong, from its stored runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe.audit.live import compared
from pytest_convoprobe.errors import Blame
from pytest_convoprobe.redaction import Redactor
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.audit_file import Audit, GateFigures, LiveFigures, read_audit
from pytest_convoprobe.results.fingerprints import Prints, take_prints
from pytest_convoprobe.runs.current_scenarios import live_settings
from pytest_convoprobe.runs.session import Session
from pytest_convoprobe.scenario.loading import load_scenarios
from pytest_convoprobe.settings.nearest import ProjectSettings
from pytest_convoprobe.targets.port import Description
from tests.mutants.talks import judged, scenario, talk
from tests.support import warm_process
from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

from .conftest import Convoprobe
from .live import project
from .stored import store

ARRIVES = "The agent says that the order arrives on 2026-11-04."
GREETS = "The agent says goodbye."
TALK = talk(("When does it come?", "The order arrives on 2026-11-04."), ("Thanks.", "Goodbye, take care."))
QUOTES = {"c1": ("arrives on 2026-11-04", 1), "c2": ("Goodbye", 2)}


def looking(body: dict[str, Any]) -> Any:
    """A judge that finds the first criterion unmet where the agent doesn't name the day."""
    text = default_answer(body)
    asked = "\n".join(str(message["content"]) for message in body["messages"])
    there = "The order arrives on 2026-11-04." in asked and "take that back" not in asked
    return text if there or not isinstance(text, str) else text.replace('"met"', '"not_met"')


def prints_of(folder: Path, file: Path) -> Prints:
    """The fingerprints of today's scenario, as a run would store them."""
    with Session(ProjectSettings(folder), folder) as session:
        (loaded,) = load_scenarios(file)
        settings = live_settings(session.settings_of(loaded.file), loaded)
        assert loaded.scenario
        return take_prints(loaded.scenario, settings, Description(), Redactor(session.settings.secrets))


def stored(folder: Path, url: str, fails: list[bool], criteria: list[str], **settings: Any) -> Path:
    """A project with a stored run for each conversation."""
    file = project(folder, url, run={"concurrency": 1}, **settings)
    wanted = scenario(criteria)
    file.write_text(yaml.safe_dump(wanted.model_dump(mode="json", exclude_defaults=True)))
    passed = replace(judged(wanted, TALK, QUOTES), target="agent.py:Agent")
    prints = prints_of(folder, file)
    for day, failed in enumerate(fails, 1):
        values = {"outcome": Outcome.FAILED, "blame": Blame.AGENT} if failed else {}
        store(folder, day, [replace(passed, **values)], prints=prints)
    return file


def test_a_suite_that_keeps_the_promise(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(looking) as server:
        stored(folder, server.base_url, [False] * 20, [ARRIVES])
        result = convoprobe("audit", "--runs", "80", "--again", "2")
        assert result.exit_code in (0, 1), result.output
        asked = len(server.requests)
    assert "1 scenario, 20 conversations of 20 runs, policy paired" in result.stdout
    assert "0 of 80 gates without a change, at most 4 % (promised: 5 %)" in result.stdout
    assert "0 of 2 verdicts flipped in another order" in result.stdout
    audit = read_audit(folder / ".convoprobe")
    assert audit is not None
    (one,) = audit.scenarios
    assert (audit.gate.red, one.talks, one.flips.asked) == (0, 20, 2)
    assert one.sees is not None
    assert asked > 2


def test_a_blind_criterion_is_named_and_the_promise_fails(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(default_answer) as server:
        stored(folder, server.base_url, [False] * 20, [ARRIVES])
        result = convoprobe("audit", "--runs", "80", "--again", "0", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["exit_status"]) == (1, 1)
    assert found["gate"]["missed"]["always"]["one"] == 1.0
    assert any("missed a scenario that was broken for good" in line for line in found["broken"])
    assert any(ARRIVES in line and "let a changed conversation through" in line for line in found["advice"])


def test_without_calls_nothing_is_asked_and_what_is_not_known_is_no_success(
    folder: Path, convoprobe: Convoprobe
) -> None:
    with ChatServer(default_answer) as server:
        stored(folder, server.base_url, [False] * 20, [ARRIVES])
        result = convoprobe("audit", "--runs", "80", "--calls", "0")
        assert server.requests == []
    assert result.exit_code == 3, result.output
    assert "not measured: what is missed" in result.stdout
    assert "missed       one scenario: not known" in result.stdout


def test_each_trial_alone_breaks_the_promise_and_the_scenario_is_named(
    folder: Path, convoprobe: Convoprobe
) -> None:
    fails = [True, False, False, False] * 5
    stored(folder, "http://127.0.0.1:1", fails, [ARRIVES], gate={"policy": "each"})
    result = convoprobe("audit", "--runs", "60", "--calls", "0")
    assert result.exit_code == 1, result.output
    assert "does not hold: " in result.stdout
    assert "scenarios/talk.yaml::Talk: red in " in result.stdout
    assert "it failed 5 of 20 before" in result.stdout


def test_conversations_on_another_scenario_say_nothing(folder: Path, convoprobe: Convoprobe) -> None:
    file = stored(folder, "http://127.0.0.1:1", [False] * 20, [ARRIVES])
    file.write_text(file.read_text().replace("2026-11-04", "2026-11-05"))
    result = convoprobe("audit", "--runs", "60", "--calls", "0")
    assert result.exit_code == 3, result.output
    assert "not measured: the false-red rate" in result.stdout


def test_a_verdict_that_depends_on_the_order_flips(folder: Path, convoprobe: Convoprobe) -> None:
    def first_only(body: dict[str, Any]) -> Any:
        """A judge that finds nothing met where the goodbye is asked about first."""
        text = default_answer(body)
        asked = str(body["messages"][-1]["content"])
        other = GREETS in asked and asked.index(GREETS) < asked.index(ARRIVES) if ARRIVES in asked else False
        return text.replace('"met"', '"not_met"') if other and isinstance(text, str) else text

    with ChatServer(first_only) as server:
        stored(folder, server.base_url, [False] * 20, [ARRIVES, GREETS])
        convoprobe("audit", "--runs", "10", "--again", "6", "--json")
    audit = read_audit(folder / ".convoprobe")
    assert audit is not None
    assert audit.flips.flipped + audit.flips.lost == 6


@pytest.mark.parametrize("again", ["0", "3"])
def test_a_dry_run_asks_and_keeps_nothing(folder: Path, convoprobe: Convoprobe, again: str) -> None:
    stored(folder, "http://127.0.0.1:1", [False] * 10, [ARRIVES])
    result = convoprobe("audit", "--dry-run", "--again", again)
    assert result.exit_code == 0, result.output
    assert f"the judge decides {again} conversations again and " in result.stderr
    assert read_audit(folder / ".convoprobe") is None


def test_live_gates_are_run_and_compared(
    folder: Path, convoprobe: Convoprobe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", warm_process.executable())
    with ChatServer(default_answer) as server:
        stored(folder, server.base_url, [False] * 20, [ARRIVES])
        before = len(server.requests)
        result = convoprobe("audit", "--runs", "60", "--calls", "0", "--live", "1")
        assert len(server.requests) > before
    assert (
        "live         0 of 1 gate red with the agent as it is, 1.0 conversations a scenario" in result.stdout
    )
    audit = read_audit(folder / ".convoprobe")
    assert audit is not None
    assert audit.live is not None


def test_live_gates_that_are_red_more_often_than_drawn_ones_break_the_promise() -> None:
    gate = GateFigures(300, 3, 0.026, 0.0, 1.7, 2.0)
    audit = Audit(0.0, (), "paired", 0.05, "openai/j", gate)
    assert compared(audit, LiveFigures(10, 1, 1.7)).broken == ()
    (words,) = compared(audit, LiveFigures(10, 4, 1.7)).broken
    assert words.startswith("4 of 10 live gates were red, and 1 % of the drawn ones: ")


def test_nothing_stored_is_said(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://127.0.0.1:1")
    result = convoprobe("audit")
    assert result.exit_code == 2
    assert "nothing to audit" in result.stderr


def test_conversations_without_a_verdict_cost_another_one(folder: Path, convoprobe: Convoprobe) -> None:
    file = stored(folder, "http://127.0.0.1:1", [False] * 10, [ARRIVES])
    lost = replace(
        judged(scenario([ARRIVES]), TALK, QUOTES), outcome=Outcome.ERROR, blame=Blame.JUDGE, reason="?"
    )
    for day in range(11, 21):
        store(folder, day, [lost], prints=prints_of(folder, file))
    result = convoprobe("audit", "--runs", "20", "--calls", "0")
    assert "cost         2.0 conversations a scenario" in result.stdout
    assert "1 scenario without a mutant that was decided (scenarios/talk.yaml::Talk)" in result.stdout
