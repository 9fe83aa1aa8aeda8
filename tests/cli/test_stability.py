from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from pytest_convoprobe.results.baseline_file import KeptPast, write_baseline
from pytest_convoprobe.results.store import list_runs
from tests.support.chat_server import ChatServer
from tests.support.default_answers import default_answer

from .conftest import Convoprobe
from .live import KEY, project
from .test_baseline import PRINTS


def sometimes(every: int) -> Any:
    """The default answers, but every so many verdicts the first criterion isn't met."""
    verdicts = itertools.count(1)

    def answer(body: dict[str, Any]) -> Any:
        text = default_answer(body)
        if isinstance(text, str) and '"met"' in text and next(verdicts) % every == 0:
            return text.replace('"met"', '"not_met"', 1)
        return text

    return answer


def test_all_trials_pass(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    past = {"talk.yaml::Talk": KeptPast("..x", "20261128T120000Z-000001", PRINTS)}
    write_baseline(folder / "scenarios" / "_baseline.json", past)
    result = convoprobe("stability", "scenarios/talk.yaml", "--trials", "4")
    assert result.exit_code == 0, result.output
    assert "base    1 of 3 failed, up to 2026-11-28" in result.output
    assert "4 of 4 trials passed: 100 % (95 % interval 51-100 %)" in result.output
    assert "pass^k  1: 100 %, 2: 100 %, 3: 100 %, 4: 100 %" in result.output
    assert "What flips" not in result.output
    assert len(chat_server.requests) == 4 * (2 + 1)


def test_what_flips(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(sometimes(2)) as server:
        project(folder, server.base_url)
        # One by one: the trials have equal conversations, and a vote repeats what was said of one last.
        words = "--trials", "4", "--concurrency", "1"
        result = convoprobe("stability", "scenarios/talk.yaml::Talk", *words)
    assert result.exit_code == 1
    assert "2 of 4 trials passed: 50 %" in result.output
    assert "pass^k  1: 50 %, 2: 17 %, 3: 0 %, 4: 0 %" in result.output
    assert "2 times: agent: c1 not met: The agent counts" in result.output
    assert "  c1: The agent counts\n      satisfied in 2 trials, not satisfied in 2\n" in result.output


def test_it_is_stored_like_any_run(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    output = convoprobe("stability", "talk.yaml", "--trials", "1").output
    assert "no scenario file talk.yaml" in output
    (folder / "scenarios/other.yaml").write_text((folder / "scenarios/talk.yaml").read_text())
    output = convoprobe("stability", "scenarios/talk.yaml", "--trials", "2").output
    run = output.split("stored as ")[1].split(":")[0]
    (stored,) = json.loads(convoprobe("runs", "--json").stdout)
    assert (stored["id"], stored["state"], stored["counts"]) == (run, "finished", {"passed": 2})
    assert stored["selection"] == {"scenarios": 1, "existing": 2, "trials": 2, "in_files": 1}
    shown = convoprobe("show", run, "scenarios/talk.yaml::Talk", "--trial", "2").output
    assert "agent │ I heard 1 messages, the last was: Hello, what about trains?" in shown
    assert not [
        path for path in (folder / ".convoprobe").rglob("*") if path.is_file() and KEY in path.read_text()
    ]


def test_prices_that_litellm_knows_are_stored(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url, judge={"model": "openai/gpt-4o-mini"})
    assert convoprobe("stability", "scenarios/talk.yaml", "--trials", "1").exit_code == 0
    (run,) = list_runs(folder / ".convoprobe")
    prices = run.open().info.prices
    assert prices.keys() == {"judge"}
    assert 0 < prices["judge"]["input_cost_per_token"] < prices["judge"]["output_cost_per_token"]


def test_without_a_verdict(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(faults=["401"] * 50) as server:
        project(folder, server.base_url)
        result = convoprobe("stability", "scenarios/talk.yaml", "--trials", "2")
    assert result.exit_code == 3
    assert "\n  no verdict\n  without a verdict, and not counted: 2 infrastructure\n" in result.output
    assert "0 %" not in result.output
    assert "2 times: infrastructure: openai/fake refuses the API key" in result.output
    assert KEY not in result.output


def test_a_reason_that_occurs_once(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(faults=["401"] * 50) as server:
        project(folder, server.base_url)
        result = convoprobe("stability", "scenarios/talk.yaml", "--trials", "1")
    assert "1 time: infrastructure: openai/fake refuses the API key" in result.output


def test_a_missing_recording_advises_the_option_of_this_command(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url)
    result = convoprobe("stability", "scenarios/talk.yaml", "--trials", "1", "--replay", "only")
    assert result.exit_code == 3
    assert "run the same with `run.replay: record`." in result.output
    assert "for this run: --replay=record\n" in result.output
    assert "--convoprobe" not in result.output


def test_json(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url)
    found = json.loads(convoprobe("stability", "scenarios/talk.yaml", "--trials", "2", "--json").stdout)
    assert (found["trials"], found["passed"], found["pass_hat"]) == (2, 2, {"1": 1.0, "2": 1.0})


def test_without_a_target(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://127.0.0.1:9/v1", target=None)
    result = convoprobe("stability", "scenarios/talk.yaml")
    assert result.exit_code == 2
    assert "or use pytest with --convoprobe-trials" in result.output
    assert not (folder / ".convoprobe").exists()


def test_a_skipped_scenario(folder: Path, convoprobe: Convoprobe) -> None:
    file = project(folder, "http://127.0.0.1:9/v1")
    file.write_text(file.read_text() + "skip: not yet\n")
    result = convoprobe("stability", "scenarios/talk.yaml")
    assert result.exit_code == 2
    assert "Talk is skipped: not yet" in result.output
