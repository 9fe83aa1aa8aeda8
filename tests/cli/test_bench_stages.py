"""The stages of a benchmark from the command line, with models that a loopback server stands in for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from pytest_convoprobe.cli import main
from pytest_convoprobe.files import locked
from tests.support import warm_process
from tests.support.chat_server import ChatServer, Fault, fault

from .benchmark import CARELESS, INVENTS, answer, benchmark
from .conftest import Convoprobe

NOWHERE = "http://127.0.0.1:9/v1"
EVIL = "\x1b[2J\u202e::error::"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answer) as running:
        yield running


@pytest.fixture(scope="module")
def finishing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A benchmark of which everything is done, and what the command printed, away from a terminal."""
    folder = tmp_path_factory.mktemp("finished")
    with ChatServer(answer) as running:
        path = benchmark(folder, running.base_url)
        result = CliRunner().invoke(main, ["bench", "all", str(path)])
    assert result.exit_code == 0, result.output
    return path, result


@pytest.fixture
def finished(finishing: tuple[Path, Result]) -> Path:
    """The folder of it; to be copied."""
    return finishing[0]


@pytest.fixture
def done(folder: Path, finished: Path) -> Path:
    """A copy of it in the working folder, its models gone."""
    path = shutil.copytree(finished, folder / "hours")
    reconfigure(path, llm={"model": "openai/fake", "api_base": NOWHERE, "api_key": "sk-x", "max_attempts": 1})
    return path


def reconfigure(path: Path, **changes: Any) -> None:
    config = yaml.safe_load((path / "config.yaml").read_text())
    (path / "config.yaml").write_text(yaml.safe_dump({**config, **changes}))


def rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def test_stage_by_stage(folder: Path, convoprobe: Convoprobe, server: ChatServer) -> None:
    path = benchmark(folder, server.base_url)
    for stage in ("gen_metrics", "gen_scenarios", "simulate", "evaluate"):
        result = convoprobe("bench", stage, "hours")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[0].startswith("STAGE ")
    assert (path / "benchmark.yaml").read_text().startswith("# Keep this comment.\nname: ")
    assert len(rows(path / "scenarios.json")) == 8
    assert len(rows(path / "runs" / "careless" / "conversations.json")) == 8
    assert sum(row["passed"] for row in rows(path / "runs" / "careful" / "scores.json")) == 8
    asked = len(server.requests)
    result = convoprobe("bench", "aggregate", "hours")
    assert result.exit_code == 0
    assert len(server.requests) == asked
    title, best, other, *_ = result.stdout.splitlines()
    assert title.split("  ")[0] == "TARGET"
    assert (
        best.split()
        == "careful 100 % (34-100 %) 100 % (34-100 %) 100 % (51-100 %) 8 0 0 40 600 unknown".split()
    )
    assert other.split() == "careless 0 % (0-66 %) 0 % (0-66 %) 0 % (0-49 %) 8 0 0 40 600 unknown".split()
    assert "gaps between groups: 0 of 2 are more than chance\n" in result.stdout
    spent = "cost of all runs together: 91 calls, 910 + 455 tokens, price unknown\n"
    assert result.stdout.endswith(spent)
    assert convoprobe("bench", "status", "hours").stdout.endswith(spent)


def test_nothing_to_do_calls_nothing(done: Path, convoprobe: Convoprobe) -> None:
    before = (done / "results.json").read_bytes()
    result = convoprobe("bench", "all", "hours")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].startswith("careful  ")
    assert "simulate careful: nothing to do, 8 done before\n" in result.stderr
    assert (done / "results.json").read_bytes() == before


def test_plain_lines_away_from_a_terminal(finishing: tuple[Path, Result]) -> None:
    _, result = finishing
    assert "simulate careless: 8 to do\n" in result.stderr
    assert "simulate careless: 8 made, 480 tokens, " in result.stderr
    assert "\x1b" not in result.stderr
    assert "\r" not in result.stderr
    # gen-metrics, draft-scenarios and gen-scenarios once, the others for each target: beginning and end.
    assert len(result.stderr.splitlines()) == 14


def test_json(done: Path, convoprobe: Convoprobe) -> None:
    reconfigure(done, generation={"num_metrics": 2, "scenarios_per_metric": 2, "turns": 2, "num_samples": 2})
    found = json.loads(convoprobe("bench", "all", "hours", "--json").stdout)
    simulate = next(stage for stage in found["stages"] if stage["stage"] == "simulate")
    careful = simulate["targets"]["careful"]
    assert (careful["before"], careful["made"], careful["unreadable"]) == (8, 0, 0)
    assert "m01_s001_v01#2" in [failure["row"] for failure in careful["failed"]]
    assert [target["id"] for target in found["results"]["targets"]] == ["careful", "careless"]


def test_only_one_target_is_shown(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "aggregate", "hours", "--target", "careless")
    assert [line.split()[0] for line in result.stdout.splitlines()[:2]] == ["TARGET", "careless"]
    assert "careful " not in result.stdout
    assert len(json.loads((done / "results.json").read_text())["targets"]) == 2


def test_an_unknown_target(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "simulate", "hours", "--target", "carefull")
    assert result.exit_code == 2
    assert "there is no target `carefull`; did you mean `careful`?" in result.output


def test_a_limit_and_a_pattern(folder: Path, convoprobe: Convoprobe, server: ChatServer) -> None:
    path = benchmark(folder, server.base_url)
    convoprobe("bench", "gen-metrics", "hours")
    convoprobe("bench", "gen-scenarios", "hours")
    result = convoprobe("bench", "simulate", "hours", "--only", "m02", "--limit", "3")
    assert result.exit_code == 0
    held = [
        row["id"]
        for name in ("careful", "careless")
        for row in rows(path / "runs" / name / "conversations.json")
    ]
    assert len(held) == 3
    assert {name[:3] for name in held} == {"m02"}
    assert result.stdout.splitlines()[1].split() == ["simulate", "careful", "0", "2", "0", "0", "2"]


def test_results_that_lack_conversations_are_a_finding(
    folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    benchmark(folder, server.base_url)
    assert convoprobe("bench", "all", "hours", "--limit", "3").exit_code == 0
    result = convoprobe("bench", "aggregate", "hours")
    assert result.exit_code == 1
    assert "MISSING" in result.stdout


def test_a_dry_run(folder: Path, convoprobe: Convoprobe, server: ChatServer) -> None:
    path = benchmark(folder, server.base_url)
    result = convoprobe("bench", "all", "hours", "--dry-run")
    assert result.exit_code == 0
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line[:1].isalpha()}
    assert lines["simulate"] == "simulate 0 about 16 64 80,000 10,560 price unknown".split()
    assert lines["all"] == "all stages 91 136,500 29,460 price unknown".split()
    assert "nothing was called or written; calls that have to be repeated come on top\n" in result.stdout
    assert server.requests == []
    assert not (path / "scenarios.json").exists()


def test_a_dry_run_with_nothing_to_do(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "all", "hours", "--dry-run")
    assert result.stdout.splitlines()[-1] == "nothing to do"


def test_a_target_that_fails_does_not_stop_the_other(folder: Path, convoprobe: Convoprobe) -> None:
    def broken(body: dict[str, Any]) -> Any:
        careless = body["messages"][0]["content"] == CARELESS
        return fault("500") if careless else answer(body)

    with ChatServer(broken) as running:
        benchmark(folder, running.base_url)
        result = convoprobe("bench", "all", "hours")
        assert result.exit_code == 1
        assert "careful   100 %" in result.stdout
        head = "simulate careless: 8 rows could not be made (m01_s001_v01#1, m01_s001_v02#1, "
        assert result.stdout.count("could not be made") == 1
        assert head in result.stdout
        assert " and 5 more):\n    openai/fake is not available (status 500)" in result.stdout
    with ChatServer(answer) as running:
        reconfigure(
            folder / "hours", llm={"model": "openai/fake", "api_base": running.base_url, "api_key": "sk-x"}
        )
        assert convoprobe("bench", "all", "hours").exit_code == 0


def test_nothing_can_be_had(done: Path, convoprobe: Convoprobe) -> None:
    result = convoprobe("bench", "simulate", "hours", "--force", "--target", "careful")
    assert result.exit_code == 3
    assert "simulate careful: 8 rows could not be made" in result.stdout


def test_without_scenarios_the_reason_stands_first_and_nobody_knows_what_is_missing(
    folder: Path, convoprobe: Convoprobe
) -> None:
    def without_scenarios(body: dict[str, Any]) -> Any:
        said = answer(body)
        return fault("500") if '"scenarios"' in str(said) else said

    with ChatServer(without_scenarios) as running:
        benchmark(folder, running.base_url)
        result = convoprobe("bench", "all", "hours")
    assert result.exit_code == 1
    assert result.stdout.startswith("draft-scenarios: 2 rows could not be made")
    table = [line.split() for line in result.stdout.splitlines()]
    assert ["careful", "-", "-", "-", "0", "0", "-"] in [line[:7] for line in table]


def test_an_answer_that_cannot_be_read(folder: Path, convoprobe: Convoprobe) -> None:
    def mumbling(body: dict[str, Any]) -> Any:
        said = answer(body)
        return "Hm." if '"present"' in str(said) and INVENTS in body["messages"][1]["content"] else said

    with ChatServer(mumbling) as running:
        benchmark(folder, running.base_url)
        result = convoprobe("bench", "all", "hours")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[2].split()[:7] == "careless - - - 0 8 0".split()
    status = convoprobe("bench", "status", "hours")
    assert status.exit_code == 0
    assert "evaluate careless 8 0 0 8".split() in [line.split() for line in status.stdout.splitlines()]


def test_metrics_that_could_not_all_be_made(folder: Path, convoprobe: Convoprobe, server: ChatServer) -> None:
    benchmark(folder, server.base_url, generation={"num_metrics": 3, "scenarios_per_metric": 2, "turns": 2})
    result = convoprobe("bench", "gen-metrics", "hours")
    assert result.exit_code == 1
    told = "gen-metrics: 2 of 3 metrics could be made. What the generator wrote was refused after 3 tries: "
    assert told in result.stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "no metric could be made. "),
        (("--max-tokens", "1"), "the run's budget is used up: "),
    ],
)
def test_without_metrics_the_reason_is_shown_and_not_the_command_that_just_ran(
    folder: Path, convoprobe: Convoprobe, more: tuple[str, ...], words: str
) -> None:
    with ChatServer(lambda body: "Hm.") as running:
        path = benchmark(folder, running.base_url)
        (path / "benchmark.yaml").write_text(
            "name: hours\ndescription: Says when it is closed.\nmetrics: []\n"
        )
        result = convoprobe("bench", "all", "hours", *more)
    assert result.exit_code == 3
    assert words in result.stdout
    assert "there are no metrics yet" not in result.output


def test_the_budget_is_used_up(folder: Path, convoprobe: Convoprobe, server: ChatServer) -> None:
    path = benchmark(folder, server.base_url)
    config = yaml.safe_load((path / "config.yaml").read_text())
    prices = {"input_cost_per_token": 0.001, "output_cost_per_token": 0.001}
    reconfigure(path, llm={**config["llm"], **prices})
    # The second run goes on from what the first has made, and has a budget of its own.
    for limit, most in (("--max-tokens", "200"), ("--max-cost", "0.2")):
        result = convoprobe("bench", "all", "hours", limit, most, "--concurrency", "1")
        assert result.exit_code == 3, limit
        assert "the run's budget is used up: " in result.stdout, limit
        assert " rows of simulate left\n" in result.stdout, limit
    assert convoprobe("bench", "all", "hours").exit_code == 0


def test_the_sum_of_a_dry_run_for_programs(folder: Path, convoprobe: Convoprobe) -> None:
    prices = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5}
    path = benchmark(folder, NOWHERE)
    config = yaml.safe_load((path / "config.yaml").read_text())
    reconfigure(path, llm={**config["llm"], **prices})
    found = json.loads(convoprobe("bench", "all", "hours", "--dry-run", "--json").stdout)["forecast_total"]
    assert (found["calls"], found["prompt_tokens"], found["completion_tokens"]) == (91, 136500, 29460)
    assert found["cost"] == pytest.approx(0.1365 + 0.2946)
    reconfigure(path, llm=config["llm"], generator_model=prices)
    found = json.loads(convoprobe("bench", "all", "hours", "--dry-run", "--json").stdout)["forecast_total"]
    assert found["cost"] is None


def test_a_budget_that_finishes_nothing_says_so(
    folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    benchmark(folder, server.base_url)
    convoprobe("bench", "gen-metrics", "hours")
    convoprobe("bench", "gen-scenarios", "hours")
    options = ("bench", "simulate", "hours", "--max-tokens", "16")
    result = convoprobe(*options, "--concurrency", "8")
    assert result.exit_code == 3
    told = "not one row was finished, and what this run spent is lost: "
    assert told in result.stdout
    line = next(line for line in result.stdout.splitlines() if line.startswith(told))
    assert " tokens, price unknown. The same would happen again: " in line
    assert line.endswith("lower run.concurrency (--concurrency, 8 now), or raise the limit")
    single = convoprobe(*options, "--concurrency", "1").stdout
    assert single.endswith("The same would happen again: raise the limit\n")


def test_without_scores_the_next_stage_is_told(
    folder: Path, convoprobe: Convoprobe, server: ChatServer
) -> None:
    benchmark(folder, server.base_url)
    result = convoprobe("bench", "aggregate", "hours")
    assert result.exit_code == 2
    assert "there are no scenarios yet, and nothing to add up: run `convoprobe bench all hours` first" in (
        result.stderr
    )
    for stage in ("gen-metrics", "gen-scenarios"):
        convoprobe("bench", stage, "hours")
    note = "note: nothing has a score yet; `convoprobe bench {} hours` is next\n"
    assert note.format("simulate") in convoprobe("bench", "aggregate", "hours").stderr
    convoprobe("bench", "simulate", "hours")
    assert note.format("evaluate") in convoprobe("bench", "aggregate", "hours").stderr


def test_without_its_key_a_finished_benchmark_can_be_run(done: Path, convoprobe: Convoprobe) -> None:
    reconfigure(done, llm={"model": "openai/fake", "api_base": NOWHERE, "api_key": "${UNSET_HERE}"})
    for command in (
        ("all",),
        ("all", "--dry-run"),
        ("simulate",),
        ("status",),
        ("aggregate",),
        ("report",),
        ("export", "--to-scenarios", "out"),
    ):
        result = convoprobe("bench", command[0], "hours", *command[1:])
        assert result.exit_code == 0, result.output
    result = convoprobe("bench", "evaluate", "hours", "--force")
    assert result.exit_code == 2
    assert "the environment variable UNSET_HERE is not set" in result.stderr


def test_what_others_say_is_harmless(folder: Path, convoprobe: Convoprobe) -> None:
    refusal = Fault("evil", status=400, body=json.dumps({"error": {"message": EVIL}}))
    with ChatServer(lambda body: refusal) as running:
        path = benchmark(folder, running.base_url)
        (path / "benchmark.yaml").write_text(f"name: x\ndescription: y\ncolor: {json.dumps(EVIL)}\n")
        result = convoprobe("bench", "gen-metrics", "hours")
    assert result.exit_code == 3
    assert "note: " in result.stderr
    assert "\\x1b[2J" in result.stdout
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output


@pytest.mark.parametrize("option", ["--ray-address", "--workers"])
def test_options_of_clusters_need_one(done: Path, convoprobe: Convoprobe, option: str) -> None:
    result = convoprobe("bench", "simulate", "hours", option, "2")
    assert result.exit_code == 2
    assert f"{option} is for clusters: it needs --engine ray" in result.output


def test_another_run_is_at_work(done: Path, convoprobe: Convoprobe) -> None:
    with locked(done / ".rows"):
        result = convoprobe("bench", "all", "hours")
    assert result.exit_code == 2
    assert "another run is at work in hours" in result.output


def test_status(done: Path, convoprobe: Convoprobe) -> None:
    convoprobe("bench", "simulate", "hours", "--force", "--only", "m01_s001_v01", "--target", "careful")
    reconfigure(done, generation={"num_metrics": 2, "scenarios_per_metric": 3, "turns": 2})
    result = convoprobe("bench", "status", "hours", env={"OPENAI_API_KEY": ""})
    assert result.exit_code == 0
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == ["STAGE", "TARGET", "DONE", "MISSING", "FAILED", "UNREADABLE", "FROM"]
    assert ["gen-scenarios", "8", "4", "0", "0"] in lines
    today = datetime.now(timezone.utc).date().isoformat()
    assert ["simulate", "careless", "8", "0", "0", "0", today] in lines
    found = json.loads(convoprobe("bench", "status", "hours", "--json").stdout)
    assert found[1]["stage"] == "gen-scenarios"
    assert found[1]["missing"] == 4
    assert found[2]["made"] == {"first": today, "last": today, "unknown": 0}


def test_status_says_why_rows_failed(done: Path, convoprobe: Convoprobe) -> None:
    reconfigure(done, generation={"num_metrics": 2, "scenarios_per_metric": 2, "turns": 2, "num_samples": 2})
    assert convoprobe("bench", "simulate", "hours", "--limit", "1").exit_code == 3
    result = convoprobe("bench", "status", "hours")
    assert ["simulate", "careful", "8", "8", "1", "0"] in [
        line.split()[:6] for line in result.stdout.splitlines()
    ]
    assert "simulate careful: 1 row could not be made (m01_s001_v01#2):\n    " in result.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_keeps_what_is_finished(folder: Path, convoprobe: Convoprobe) -> None:
    asked = [0]

    def stuck(body: dict[str, Any]) -> Any:
        """The fifth question to the evaluator is not answered."""
        asked[0] += '"present"' in json.dumps(body.get("response_format"))
        return fault("hang") if asked[0] == 5 else answer(body)

    with ChatServer(stuck) as running:
        benchmark(folder, running.base_url, run={"concurrency": 1})
        command = [warm_process.executable(), "-m", "pytest_convoprobe.cli", "bench", "all", "hours"]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        _wait_until(lambda: asked[0] == 5, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert errors.splitlines()[-1] == "interrupted"
        # A list of metrics, two lists of scenarios, 8 scenarios, 16 conversations, 4 scores.
        assert "the 31 rows that this run made are kept; the same command continues from there\n" in errors
        before = len(running.requests)
        assert convoprobe("bench", "all", "hours").exit_code == 0
        assert len(running.requests) - before == 16 - 4


def _wait_until(there: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    while not there():
        assert process.poll() is None
        time.sleep(0.02)


@pytest.mark.skipif(os.name == "nt", reason="terminals")
def test_bars_on_a_terminal(folder: Path, on_terminal: Callable[..., str], server: ChatServer) -> None:
    benchmark(folder, server.base_url)
    server.latency = 0.05  # a bar is drawn a few times a second
    output = on_terminal("bench", "all", "hours", columns=100)
    assert "simulate careless  ░░░░" in output
    assert "simulate careless: 8 made, 480 tokens, " in output
    assert "\ncareful   " in output.replace("\x1b[K", "").replace("\x1b[J", "")


def test_results_that_cannot_be_written_are_shown_all_the_same(convoprobe: Convoprobe, done: Path) -> None:
    """As in a checkout that is read-only, with nothing in it that a run has left."""
    (done / "results.json").unlink()
    (done / "results.json").mkdir()
    shutil.rmtree(done / ".rows")
    (done / ".rows").write_text("in the way of a folder")
    result = convoprobe("bench", "aggregate", "hours")
    assert result.exit_code == 3
    assert "careless" in result.output
    assert sum("hours/results.json cannot be written" in line for line in result.output.splitlines()) == 1
    assert "Traceback" not in result.output
