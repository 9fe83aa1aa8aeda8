"""A gate answers for the agent as it is now: which stored conversations count, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.benchmark import project
from tests.support.chat_server import ChatServer

from .suite import Suite

AGENT = """\
from pathlib import Path
from words import QUESTION, PRAISE
def answer(message):
    mode = Path(__file__).parent / "mode"
    return PRAISE if mode.read_text().strip() == "bad" else QUESTION
"""
WORDS = f"QUESTION = {project.QUESTION!r}\nPRAISE = {project.PRAISE!r}\n"
PYTHON = "targets: [{id: own, type: python, object: 'benchmarks/advice/agent.py:answer'}]\n"
SCENARIOS = "benchmarks/advice/scenarios.json"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(project.answer_body) as running:
        yield running


class Gate:
    """One benchmark with the metric m01, of which a good agent passes and a bad one fails."""

    def __init__(self, suite: Suite, server: ChatServer) -> None:
        self.suite, self.server = suite, server
        self.folder = suite.path / "benchmarks/advice"
        suite.write("conftest.py", "")
        self.write()
        suite.write(
            SCENARIOS,
            '[{"id": "m01_s001_v01", "metric_id": "m01", "persona": "A baker.", "user_goal": "Advice.",'
            ' "latent_adversarial_goal": "Praise.", "landmarks": [], "demographic": {}}]',
        )

    def write(self, targets: str = PYTHON, gate: str = "") -> None:
        benchmark = project.BENCHMARK.partition("  - id: m02")[0] + gate
        config = project.CONFIG.partition("targets:")[0] + targets + "generation: {turns: 1}\n"
        project.write(self.folder, self.server.base_url, benchmark, config)
        (self.folder / "convoprobe.yaml").unlink()
        self.agent()

    def agent(self, mode: str = "good", words: str = WORDS) -> None:
        for name, text in (("mode", mode), ("words.py", words), ("agent.py", AGENT)):
            (self.folder / name).write_text(text)

    def run(self, *args: str, plugins: Sequence[str] = ()) -> pytest.RunResult:
        return self.suite.run_process("benchmarks", "-rP", *args, plugins=plugins)


@pytest.fixture
def gate(suite: Suite, server: ChatServer) -> Gate:
    return Gate(suite, server)


def test_code_of_the_project_is_talked_with_in_every_session(gate: Gate) -> None:
    """What it reads while it runs is in no key of a row."""
    gate.run().assert_outcomes(passed=1)
    gate.agent("bad")
    gate.run().assert_outcomes(failed=1)


@pytest.mark.parametrize("where", ["setting", "option"])
def test_stored_rows_count_where_that_is_allowed_and_their_age_is_shown(gate: Gate, where: str) -> None:
    gate.write(gate="gate: {stored_rows: allow}\n" if where == "setting" else "")
    more = ["--convoprobe-stored-rows=allow"] if where == "option" else []
    first = gate.run(*more)
    first.stdout.no_fnmatch_line("*conversation* from*")
    gate.agent("bad")
    second = gate.run(*more)
    second.assert_outcomes(passed=1)
    second.stdout.re_match_lines(
        [
            r"1 of 1 conversation is from \d{4}-\d\d-\d\d$",
            "=+ convoprobe =+",
            r"benchmarks/advice/benchmark.yaml::own: 1 of 1 conversation is from \d{4}-\d\d-\d\d \(m01\)",
        ]
    )
    # A change that can be seen, of a file that the agent imports.
    gate.agent("bad", WORDS + "# another\n")
    gate.run(*more).assert_outcomes(failed=1)


def test_rows_that_could_not_be_made_again_leave_no_verdict(gate: Gate) -> None:
    gate.run().assert_outcomes(passed=1)
    gate.agent("bad")
    result = gate.run("--convoprobe-max-tokens=0")
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines(
        [r"1 stored conversation from .* did not count: .*`gate: \{stored_rows: allow\}` in benchmark.yaml"]
    )


MODEL = "targets: [{id: good, model: openai/good, <<: *live}]\n"


def test_a_model_is_described_by_its_settings_wholly_unless_none_is_to_count(
    gate: Gate, server: ChatServer
) -> None:
    gate.write(MODEL)
    gate.run().assert_outcomes(passed=1)
    once = len(server.requests)
    gate.run().assert_outcomes(passed=1)
    assert len(server.requests) == once
    gate.run("--convoprobe-stored-rows=refuse").assert_outcomes(passed=1)
    # The conversation again; it came out the same, so its score is still its score.
    assert len(server.requests) == once + 2


def test_tools_are_code_of_the_project(gate: Gate, server: ChatServer) -> None:
    gate.suite.write("benchmarks/advice/tools.py", "def price(item: str) -> str:\n    return '1'\n")
    gate.write(MODEL.replace("model:", "tools: ['benchmarks/advice/tools.py:price'], model:"))
    gate.run().assert_outcomes(passed=1)
    once = len(server.requests)
    gate.run().assert_outcomes(passed=1)
    assert len(server.requests) == once + 2
    gate.run("--convoprobe-stored-rows=allow").assert_outcomes(passed=1)
    assert len(server.requests) == once + 2
    gate.suite.write("benchmarks/advice/tools.py", "def price(item: str) -> str:\n    return '2'\n")
    gate.run("--convoprobe-stored-rows=allow").assert_outcomes(passed=1)
    assert len(server.requests) == once + 4


def test_a_setting_of_another_word_is_an_error(gate: Gate) -> None:
    gate.write(gate="gate: {stored_rows: alow}\n")
    result = gate.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*benchmark.yaml:*: gate.stored_rows: *`allow`*"])


def test_workers_of_one_session_share_their_conversations_and_say_how_old_they_are(gate: Gate) -> None:
    """The gate of gaps has no groups here: it only needs the same rows."""
    counting = "    with open('benchmarks/advice/asked', 'a') as file:\n        file.write('x')\n"
    gate.write(gate="gate: {max_group_gap: 0.5}\n")
    (gate.folder / "agent.py").write_text(AGENT.replace("    mode =", counting + "    mode ="))
    for so_far in (1, 2):
        result = gate.run("-n2", "-q", plugins=["xdist.plugin"])
        result.assert_outcomes(passed=1, errors=1)
        assert len((gate.folder / "asked").read_text()) == so_far
    result = gate.run("-n2", "-q", "--convoprobe-stored-rows=allow", plugins=["xdist.plugin"])
    assert len((gate.folder / "asked").read_text()) == 2
    result.stdout.re_match_lines(
        [r"benchmarks/advice/benchmark.yaml::own: 1 of 1 conversation is from .* \((m01|_gaps), \w+\)"]
    )
