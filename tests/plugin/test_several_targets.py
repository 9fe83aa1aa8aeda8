"""`targets` in the settings: an item for each scenario and target, chosen by `--convoprobe-target`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer

from .suite import Suite
from .test_collection import ids
from .test_parameters import names_of_targets

AGENTS = """
def fast(message):
    return "fast: " + message

def slow(message):
    return "slow: " + message

class Careful:
    def __call__(self, message):
        return "careful: " + message
"""
SETTINGS = """
target: {type: python}
targets:
  fast: {object: "agents.py:fast"}
  slow: {object: "agents.py:slow"}
"""
SAYS = """
def pytest_convoprobe_result(item, result):
    log(f"{item.name}: {result.transcript.turns[0].reply.text}")
"""
OWN_TARGET = """
@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "own: " + message
"""


@pytest.fixture
def project(suite: Suite) -> Suite:
    """Two scenarios and two targets."""
    suite.conftest(SAYS, target="")
    suite.write("agents.py", AGENTS)
    suite.write("convoprobe.yaml", SETTINGS)
    suite.scenario("one", file="scenarios/a.yaml")
    suite.scenario("two words", file="scenarios/a.yaml")
    return suite


def said(suite: Suite) -> list[str]:
    return sorted(line for line in suite.log if ": hello" in line)


def usage_error(result: pytest.RunResult) -> str:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    return str(result.stderr)


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_each_scenario_is_an_item_of_each_target(project: Suite, words: tuple[str, ...]) -> None:
    result = project.run_process(*words, plugins=("xdist",) if words else ())
    result.assert_outcomes(passed=4)
    assert said(project) == [
        *(
            f"{name}[{target}]: {target}: hello"
            for name in ("one", "two words")
            for target in ("fast", "slow")
        )
    ]
    assert names_of_targets(project) == {
        (f"scenarios/a.yaml::{name}[{target}]", target, f"scenarios/a.yaml::{name}")
        for name in ("one", "two words")
        for target in ("fast", "slow")
    }


def test_ids_keep_the_name_where_there_is_one_target(project: Suite) -> None:
    project.write("convoprobe.yaml", "targets: {only: {type: python, object: 'agents.py:fast'}}")
    assert ids(project.run("--collect-only", "-q")) == [
        "scenarios/a.yaml::one[only]",
        "scenarios/a.yaml::two words[only]",
    ]
    project.run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("words", "ran"),
    [
        (("--convoprobe-target=fast",), ("fast",)),
        (("--convoprobe-target", "fast, slow"), ("fast", "slow")),
        (("--convoprobe-target=slow", "--convoprobe-target=fast"), ("fast", "slow")),
        (("-k", "slow"), ("slow",)),
        (("scenarios/a.yaml::one[slow]", "scenarios/a.yaml::two words[slow]"), ("slow",)),
    ],
)
def test_targets_can_be_chosen(project: Suite, words: tuple[str, ...], ran: tuple[str, ...]) -> None:
    assert project.run(*words).ret == 0
    assert said(project) == [
        f"{name}[{target}]: {target}: hello" for name in ("one", "two words") for target in ran
    ]


def test_what_was_not_chosen_is_part_of_the_project(project: Suite) -> None:
    project.run("--convoprobe-target=fast").assert_outcomes(passed=2, deselected=2)
    (info,) = (project.path / ".convoprobe").rglob("run.json")
    assert json.loads(info.read_text("utf-8"))["selection"] == {
        "scenarios": 2,
        "existing": 4,
        "trials": 2,
        "in_files": 2,
    }


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("fats", "there is no target `fats`; did you mean `fast`? there are fast, slow"),
        ("agents.py:fast", "`agents.py:fast` is a reference to Python code, and a target's name is expected"),
        (" ,", "expected names with commas between them"),
    ],
)
def test_unknown_names_are_usage_errors(project: Suite, option: str, said: str) -> None:
    assert said.replace("? there", "?; there") in usage_error(project.run(f"--convoprobe-target={option}"))
    assert project.log == []


def test_under_xdist_the_files_say_that_a_name_is_unknown(project: Suite) -> None:
    result = project.run_process("-n", "2", "--convoprobe-target=fats", plugins=("xdist",))
    assert result.ret not in (0, 3)
    result.stdout.fnmatch_lines(["*there is no target `fats`; did you mean `fast`*"])
    assert project.log == []


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_name_of_one_project_is_no_mistake_in_another(project: Suite, words: tuple[str, ...]) -> None:
    project.write("sub/convoprobe.yaml", "targets: {other: {type: python, object: 'agents.py:fast'}}")
    project.write("sub/agents.py", AGENTS)
    project.scenario("three", file="sub/scenarios/b.yaml")
    plugins = ("xdist",) if words else ()
    for name, passed in (("slow", 2), ("other", 1)):
        result = project.run_process(*words, f"--convoprobe-target={name}", plugins=plugins)
        assert result.ret == 0
        result.assert_outcomes(passed=passed, deselected=0 if words else 5 - passed)


def test_without_targets_there_is_nothing_to_choose(suite: Suite) -> None:
    suite.conftest("")
    suite.scenario("one")
    found = usage_error(suite.run("--convoprobe-target=fast"))
    assert "there is no target `fast`: the settings have no section `targets`" in found


def test_a_fixture_of_the_project_comes_before_the_settings(project: Suite) -> None:
    project.conftest(SAYS, target=OWN_TARGET)
    assert project.run().ret == 0
    assert said(project) == ["one: own: hello", "two words: own: hello"]
    found = usage_error(project.run("--convoprobe-target=fast"))
    assert "the project's fixture `convoprobe_target` gives its target" in found


def test_parametrised_targets_of_a_fixture_are_chosen_by_their_names(project: Suite) -> None:
    project.conftest(
        SAYS,
        target="""
@pytest.fixture(scope="session", params=["a", "b"])
def convoprobe_target(request):
    return lambda message: f"{request.param}: {message}"
""",
    )
    project.run("--convoprobe-target=a").assert_outcomes(passed=2, deselected=2)
    assert said(project) == ["one[a]: a: hello", "two words[a]: a: hello"]


def test_other_parameters_multiply_beside_the_targets(project: Suite) -> None:
    project.conftest(
        """
        @pytest.fixture(autouse=True, params=["sqlite", "postgres"])
        def database(request):
            pass
        """,
        target="",
    )
    project.run("-k", "one").assert_outcomes(passed=4, deselected=4)
    assert {(name, target, base) for name, target, base in names_of_targets(project)} == {
        (f"scenarios/a.yaml::one[{db}][{target}]", target, f"scenarios/a.yaml::one[{db}]")
        for db in ("sqlite", "postgres")
        for target in ("fast", "slow")
    }


def test_trials_and_what_failed_last_work_for_each_target(project: Suite) -> None:
    project.conftest(
        """
        def pytest_convoprobe_checks(item):
            from pytest_convoprobe.judging.types import CheckResult
            if item.name == "one[slow][trial-2]":
                return [CheckResult("never", False, "more", "less")]
        """,
        target="",
    )
    result = project.run("--convoprobe-trials=2")
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(["run again: pytest 'scenarios/a.yaml::one[[]slow[]][[]trial-2[]]'*"])
    again = project.run("--lf", "-v", "--convoprobe-trials=2")
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*::one[[]slow[]][[]trial-2[]] FAILED*"])


def test_a_broken_target_is_an_error_of_its_scenarios_only(project: Suite) -> None:
    project.write(
        "convoprobe.yaml",
        SETTINGS + "  absent: {object: 'agents.py:nobody'}\n  careful: {object: 'agents.py:Careful'}\n",
    )
    project.run("-k", "one").assert_outcomes(passed=3, errors=1, deselected=4)
    assert said(project) == [f"one[{name}]: {name}: hello" for name in ("careful", "fast", "slow")]


def test_what_a_target_says_wrong_names_its_place(project: Suite) -> None:
    project.write("convoprobe.yaml", "targets: {a: {type: http, url: 'http://127.0.0.1/{{ nix }}'}}")
    assert "targets.a.url: the template uses `nix`" in usage_error(project.run())


def test_tests_name_one_of_several(project: Suite) -> None:
    project.write(
        "test_own.py",
        """
        import pytest

        @pytest.mark.parametrize("name", ["fast", "slow"])
        def test_named(convoprobe, name):
            result = convoprobe.run("scenarios/a.yaml::one", target=name)
            assert result.transcript.turns[0].reply.text == f"{name}: hello"
            assert (result.target_name, result.base_id) == (name, f"test_own.py::test_named[{name}]::one")

        async def test_awaited(convoprobe):
            result = await convoprobe.run_async("scenarios/a.yaml::one", target="slow")
            assert result.transcript.turns[0].reply.text == "slow: hello"

        def test_of_all(convoprobe):
            convoprobe.run("scenarios/a.yaml::one")

        def test_misspelt(convoprobe):
            convoprobe.run("scenarios/a.yaml::one", target="fats")
        """,
    )
    words = ("test_own.py", "-p", "asyncio", "--asyncio-mode=auto")
    result = project.run_process(*words)
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines_random(
        [
            "*SeveralTargets: targets: the settings name several targets (fast, slow), and nothing says*",
            "*there is no target `fats`; did you mean `fast`*",
        ]
    )
    project.run_process(*words, "-k", "of_all", "--convoprobe-target=slow").assert_outcomes(
        passed=1, deselected=4
    )


def test_scenarios_of_several_targets_start_ahead_of_their_turn(project: Suite) -> None:
    for number in range(4):
        project.scenario(f"s{number}", sleep=0.05)
    project.run().assert_outcomes(passed=12)
    events = [line.split(" ")[0] for line in project.log if line.startswith(("start", "end"))]
    assert events[:3] == ["start"] * 3, "they talked one after another"


@pytest.fixture
def server() -> ChatServer:
    return ChatServer()


def real(suite: Suite, server: ChatServer, targets: str) -> None:
    suite.write("conftest.py", "import pytest\n")
    suite.scenario("one")
    suite.write("agents.py", AGENTS)
    key = f"llm: {{model: openai/fake, api_base: '{server.base_url}', api_key: sk-not-a-real-key-123}}\n"
    suite.write("convoprobe.yaml", key + targets)


def test_recordings_and_baselines_are_kept_for_each_target(suite: Suite, server: ChatServer) -> None:
    with server:
        real(suite, server, SETTINGS)
        suite.run_process("--convoprobe-replay=record").assert_outcomes(passed=2)
        recorded = sorted(path.name for path in (suite.path / "scenarios/_recordings").rglob("*.json"))
        assert len(recorded) == 2
        assert ["fast" in recorded[0], "slow" in recorded[1]] == [True, True]
        calls = len(server.requests)
        suite.run_process("--convoprobe-replay=only").assert_outcomes(passed=2)
        assert len(server.requests) == calls
        # The slow one is broken now, and only it is worse than before.
        suite.write("agents.py", AGENTS.replace('return "slow: "', "return 1 / 0 or "))
        result = suite.run_process("--convoprobe-baseline=latest")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*new failure: scenarios/one.yaml::one[[]slow[]]", "*the baseline knows 2 of 2*"]
    )


def test_each_target_has_its_own_faults(suite: Suite, server: ChatServer) -> None:
    targets = """
    targets:
      plain: {type: model, tools: ["tools.py:search"]}
      broken: {type: model, tools: ["tools.py:search"], faults: [{tool: search, kind: error}]}
    """
    with server:
        real(suite, server, "")
        suite.write("tools.py", 'def search(word: str) -> str:\n    """Search."""\n    return "found"\n')
        text = (suite.path / "convoprobe.yaml").read_text("utf-8")
        suite.write("convoprobe.yaml", text)
        with (suite.path / "convoprobe.yaml").open("a") as file:
            file.write(targets.replace("\n    ", "\n"))
        assert suite.run_process().ret is not None
    rows = {row["target_name"]: row for row in trials(suite.path)}
    assert rows["plain"]["prints"].get("target_faults") is None
    assert rows["broken"]["prints"]["target_faults"]


def trials(path: Path) -> list[dict[str, object]]:
    files = (path / ".convoprobe").rglob("trials-*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def test_a_worker_that_dies_names_the_target(project: Suite) -> None:
    project.write("agents.py", AGENTS.replace('return "slow: "', "import os; os._exit(1); return "))
    project.run_process("-n", "1", plugins=("xdist",))
    rows = {row["scenario_id"]: row for row in trials(project.path)}
    lost = rows["scenarios/a.yaml::one[slow]"]
    assert (lost["outcome"], lost["target_name"], lost["base_id"]) == (
        "error",
        "slow",
        "scenarios/a.yaml::one",
    )


def test_reports_of_others_have_the_name(project: Suite) -> None:
    project.run("--junitxml=junit.xml", "-k", "slow")
    assert 'name="convoprobe_target" value="slow"' in (project.path / "junit.xml").read_text("utf-8")


def test_settings_are_shown_for_each(project: Suite) -> None:
    result = project.run("--convoprobe-show-config")
    result.stdout.fnmatch_lines(["targets.fast", "  object*agents.py:fast*convoprobe.yaml:4 (targets.fast)"])
