"""One run over several projects of a repository: each scenario talks with its own project's agent."""

from __future__ import annotations

import pytest

from pytest_convoprobe import run_scenario
from pytest_convoprobe.benchmark.format.project import load_project
from pytest_convoprobe.errors import NoTarget

from .suite import Suite

SHOWN = """
def pytest_convoprobe_result(item, result):
    print("said:", result.name, "<-", result.transcript.turns[0].reply.text)
"""


@pytest.fixture
def mono(suite: Suite) -> Suite:
    """A shop at the root, a bank below it; the agents' files have the same name."""
    suite.conftest(SHOWN, target="")
    suite.write("pytest.ini", "[pytest]\n")
    for folder, name in ((".", "shop"), ("packages/bank", "bank")):
        suite.write(f"{folder}/agent.py", f"def reply(message):\n    return 'I am the {name}'\n")
        suite.write(f"{folder}/convoprobe.yaml", "target: {type: python, object: 'agent.py:reply'}\n")
        suite.scenario(f"at the {name}", file=f"{folder}/scenarios/{name}.yaml")
    return suite


def said(result: pytest.RunResult) -> list[str]:
    return [line[line.index("said: ") + 6 :] for line in result.outlines if "said: " in line]


EACH_ITS_OWN = ["at the bank <- I am the bank", "at the shop <- I am the shop"]


def test_each_scenario_talks_with_the_agent_of_its_project(mono: Suite) -> None:
    result = mono.run("-s", ".")
    result.assert_outcomes(passed=2)
    assert sorted(said(result)) == EACH_ITS_OWN


def test_the_folder_of_one_project_alone(mono: Suite) -> None:
    assert said(mono.run("-s", "packages/bank")) == ["at the bank <- I am the bank"]


def test_a_settings_file_that_is_named_counts_for_all(mono: Suite) -> None:
    result = mono.run("-s", "--convoprobe-config=convoprobe.yaml", "packages/bank")
    assert said(result) == ["at the bank <- I am the shop"]


def test_without_settings_at_the_root(mono: Suite) -> None:
    (mono.path / "convoprobe.yaml").unlink()
    assert said(mono.run("-s", "packages")) == ["at the bank <- I am the bank"]
    refused = mono.run("-s", ".")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*no target is named. Name it in convoprobe.yaml:"])


def test_nearer_settings_without_a_target(mono: Suite) -> None:
    mono.write("packages/bank/convoprobe.yaml", "run: {turn_timeout: 5}\n")
    refused = mono.run(".")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(["*Name it in packages/bank/convoprobe.yaml:"])


def test_a_test_that_runs_a_scenario(mono: Suite) -> None:
    mono.write(
        "packages/bank/test_it.py",
        """
        def test_file(convoprobe):
            convoprobe.run("scenarios/bank.yaml")
        def test_text(convoprobe):
            convoprobe.run({"name": "inline", "description": "d",
                "synthetic_user": {"persona": "p", "initial_query": "q"},
                "evaluation": {"correctness_criteria": ["c"]}})
        def test_settings(convoprobe):
            convoprobe.run("scenarios/bank.yaml", settings={"run.turn_timeout": 9})
        """,
    )
    result = mono.run("-s", "packages/bank/test_it.py")
    result.assert_outcomes(passed=3)
    assert said(result) == [
        "at the bank <- I am the bank",
        "inline <- I am the bank",
        "at the bank <- I am the bank",
    ]


def test_a_difference_in_what_the_run_has_once_is_said(mono: Suite) -> None:
    with (mono.path / "packages/bank/convoprobe.yaml").open("a") as file:
        file.write("run: {concurrency: 3}\n")
    mono.run(".").stdout.fnmatch_lines(
        ["note: packages/bank/convoprobe.yaml: `run.concurrency: 3` does not*"]
    )


def test_the_settings_of_what_is_asked_for_are_shown(mono: Suite) -> None:
    shown = mono.run("--convoprobe-show-config", "packages/bank", "scenarios").outlines
    found = [line for line in shown if line.startswith("convoprobe settings from ")]
    assert [line.removeprefix(f"convoprobe settings from {mono.path}/") for line in found] == [
        "packages/bank/convoprobe.yaml",
        "convoprobe.yaml",
    ]


def test_the_python_api_does_not_fall_back_on_the_root_s_target(mono: Suite) -> None:
    mono.write("packages/bank/convoprobe.yaml", "run: {turn_timeout: 5}\n")
    with pytest.raises(NoTarget):
        run_scenario("packages/bank/scenarios/bank.yaml")


def test_a_benchmark(mono: Suite) -> None:
    mono.write("packages/bank/bench/benchmark.yaml", "name: b\ndescription: d\n")
    loaded = load_project(mono.path / "packages/bank/bench", root=mono.path)
    assert loaded.root == mono.path / "packages/bank"
