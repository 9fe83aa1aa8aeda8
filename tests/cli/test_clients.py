"""Every door calls models without LiteLLM where it can, and says which client it takes and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convoprobe import Outcome, run_scenario
from tests.calibration.judges import labelled
from tests.support.chat_server import ChatServer

from .benchmark import answer as answer_of_benchmark
from .benchmark import benchmark
from .conftest import Convoprobe
from .live import KEY, project

# In a process of its own: the modules of other tests are in this one.
RUN = """
import atexit, runpy, sys
def tell():
    sys.__stdout__.write(f"LITELLM {sum(name.partition('.')[0] == 'litellm' for name in sys.modules)}\\n")
atexit.register(tell)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
API = """
from pytest_convoprobe import run_scenario
result = run_scenario("scenarios/talk.yaml", target=lambda message: f"You said: {message}")
assert result.outcome.value == "passed", result.reason
"""
DRAFT = {
    "name": "Where is it",
    "description": "The agent looks up an order.",
    "persona": "A customer",
    "initial_query": "Where is my order?",
    "required_tools": [],
    "correctness_criteria": ["The agent names the day on which the order arrives"],
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), env.get("PYTHONPATH"))))
    command = [sys.executable, "-c", RUN, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def clients(server: ChatServer) -> set[str]:
    """What called the server: the beginning of the names that clients give themselves."""
    every = [*server.requests, *server.routine]
    return {request.headers.get("user-agent", "").partition("/")[0] for request in every}


OURS, LITELLMS = "pytest-convoprobe", "AsyncOpenAI"


@pytest.mark.parametrize(
    "words",
    [
        ("pytest", "-q"),
        ("pytest_convoprobe.cli", "doctor"),
        ("pytest_convoprobe.cli", "doctor", "--judge"),
        ("api",),
    ],
    ids=" ".join,
)
def test_a_door_needs_nothing_of_litellm(words: tuple[str, ...], folder: Path) -> None:
    with ChatServer() as server:
        project(folder, server.base_url)
        (folder / "api.py").write_text(API)
        done = run(folder, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LITELLM 0\n" in done.stdout
    assert clients(server) == {OURS}


def test_a_model_as_target_its_labels_and_a_new_verdict_need_nothing_of_litellm(folder: Path) -> None:
    target = {"type": "model", "system_prompt": "Be kind."}
    with ChatServer() as server:
        project(folder, server.base_url, target=target, judge={"second_vote": False})
        (folder / "a.labels.yaml").write_text(labelled("t1x"))
        for words in (
            ("pytest", "-q", "scenarios", "a.labels.yaml"),
            ("pytest_convoprobe.cli", "rejudge", "latest"),
        ):
            done = run(folder, *words)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "LITELLM 0\n" in done.stdout
            assert clients(server) == {OURS}
            server.requests.clear()


def test_generating_scenarios_needs_nothing_of_litellm(folder: Path) -> None:
    tools = "def get_order(id: str) -> str:\n    '''Looks up an order.'''\n    return id\n"
    with ChatServer(lambda body: json.dumps(DRAFT), routine=False) as server:
        project(
            folder,
            server.base_url,
            target={"type": "model", "model": "openai/fake", "tools": ["shop.py:get_order"]},
        )
        (folder / "shop.py").write_text(tools)
        done = run(folder, "pytest_convoprobe.cli", "generate", "--count", "1", "-o", "scenarios/made")
    assert "1 scenario written" in done.stdout, done.stdout + done.stderr
    assert "LITELLM 0\n" in done.stdout
    assert clients(server) == {OURS}


def test_a_benchmark_needs_nothing_of_litellm(folder: Path) -> None:
    with ChatServer(answer_of_benchmark) as server:
        path = benchmark(folder, server.base_url)
        done = run(folder, "pytest_convoprobe.cli", "bench", "all", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "LITELLM 0\n" in done.stdout
    assert clients(server) == {OURS}


def test_the_client_is_set_for_a_role(folder: Path, convoprobe: Convoprobe, chat_server: ChatServer) -> None:
    project(folder, chat_server.base_url, judge={"client": "litellm"})
    found = json.loads(convoprobe("doctor", "--json").stdout)
    assert {one["what"]: one["client"] for one in found if one["client"]} == {
        "judge": "litellm",
        "synthetic user": "direct",
    }
    assert clients(chat_server) == {OURS, LITELLMS}


def test_the_client_may_come_from_a_variable(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer() as server:
        file = project(folder, server.base_url).parents[1] / "convoprobe.yaml"
        told = yaml.safe_load(file.read_text())
        file.write_text(yaml.safe_dump({**told, "llm": {**told["llm"], "client": "${CLIENT:-auto}"}}))
        for given, taken in (("litellm", LITELLMS), ("direct", OURS), (None, OURS)):
            server.requests.clear()
            result = convoprobe("doctor", env={"CLIENT": given} if given else {})
            assert result.exit_code == 0, result.output
            assert clients(server) == {taken}


def test_the_client_may_be_set_for_one_call_of_the_api(folder: Path, chat_server: ChatServer) -> None:
    file = project(folder, chat_server.base_url)
    result = run_scenario(file, target=str.upper, settings={"llm.client": "litellm"})
    assert result.outcome is Outcome.PASSED, result.reason
    assert clients(chat_server) == {LITELLMS}


def test_the_client_is_set_in_a_benchmarks_config(folder: Path, convoprobe: Convoprobe) -> None:
    with ChatServer(answer_of_benchmark) as server:
        own = {"evaluator_model": {"client": "litellm"}}
        path = benchmark(folder, server.base_url, **own)
        assert convoprobe("bench", "gen-metrics", str(path)).exit_code == 0
        assert clients(server) == {OURS}
        assert convoprobe("bench", "all", str(path)).exit_code == 0
    assert clients(server) == {OURS, LITELLMS}


def test_what_cannot_be_called_directly_is_said_before_any_call(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    project(folder, chat_server.base_url, judge={"model": "anthropic/claude-x", "client": "direct"})
    result = convoprobe("doctor")
    assert result.exit_code == 1
    assert (
        "✗ judge: judge.model: `anthropic/claude-x` cannot be called with `client: direct`" in result.output
    )
    assert clients(chat_server) == {OURS}  # the user's model


def test_doctor_says_how_each_model_is_called_and_why(
    folder: Path, convoprobe: Convoprobe, chat_server: ChatServer
) -> None:
    target = {"type": "model", "model": "openai/fake", "client": "litellm"}
    project(folder, chat_server.base_url, target=target)
    output = convoprobe("doctor").output
    why = f"client direct: the server at {chat_server.base_url} speaks chat completions"
    assert f"; {why}\n" in next(
        line + "\n" for line in output.splitlines() if line.startswith("✓ judge and synthetic user")
    )
    assert "client litellm: `client: litellm` is set" in next(
        line for line in output.splitlines() if line.startswith("✓ target")
    )
    offline = convoprobe("doctor", "--offline").output
    assert f"not called; {why}" in offline
    found = json.loads(convoprobe("doctor", "--offline", "--json").stdout)
    assert [one["client"] for one in found] == ["", "direct", "litellm", ""]


def test_a_secret_in_an_address_is_not_shown(folder: Path, convoprobe: Convoprobe) -> None:
    project(folder, "http://somebody:hunter2secret@127.0.0.1:9/v1")
    for words in (("doctor", "--offline"), ("doctor", "--offline", "--json")):
        output = convoprobe(*words).output
        assert "direct" in output
        assert "hunter2secret" not in output
        assert KEY not in output


def shown(folder: Path, **settings: Any) -> dict[str, str]:
    """The lines about clients that `--convoprobe-show-config` prints, by role."""
    project(folder, "http://127.0.0.1:9/v1", **settings)
    output = run(folder, "pytest", "--convoprobe-show-config").stdout
    lines = output.split("\nclients\n")[1].split("\n\n")[0].splitlines()
    return {" ".join(line.split()[:2]): " ".join(line.split()[2:]) for line in lines if line[:2] == "  "}


def test_the_settings_are_shown_with_the_client_of_each_role(folder: Path) -> None:
    lines = shown(
        folder,
        judge={"model": "anthropic/claude-x", "panel": ["openai/second"]},
        synthetic_user={"model": "openai/third", "client": "litellm"},
        target={"type": "model", "model": "ollama/fourth"},
    )
    assert list(lines) == ["judge litellm", "judge direct", "synthetic_user litellm", "target litellm"]
    assert lines["judge litellm"].startswith("anthropic/claude-x: `anthropic` is a provider that LiteLLM")
    assert lines["judge direct"] == "openai/second: `openai` speaks chat completions"
    assert lines["synthetic_user litellm"] == "openai/third: `client: litellm` is set"
    assert lines["target litellm"].startswith("ollama/fourth: Ollama's own protocol is used unless")


def test_a_target_that_is_no_model_has_no_client(folder: Path) -> None:
    assert list(shown(folder)) == ["judge direct", "synthetic_user direct"]
