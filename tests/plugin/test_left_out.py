"""No scenario file is passed over in silence, and a run that looked at too little is not green."""

from __future__ import annotations

import pytest

from .suite import TARGET, Suite


@pytest.fixture(autouse=True)
def without_settings(suite: Suite) -> None:
    """An option in the ini file would make the suite a project that uses us."""
    suite.gate = "auto"


@pytest.mark.parametrize("folder", ["build", "dist", "venv", "x.egg"])
def test_a_scenario_in_a_folder_that_pytest_passes_by(suite: Suite, folder: str) -> None:
    suite.scenario("one")
    suite.scenario("lost", file=f"scenarios/{folder}/x.yaml")
    result = suite.run("-q", "scenarios")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: 1 scenario file would not run, and nothing else would say so:",
            f"  scenarios/{folder}/x.yaml: pytest passes by folders named `*` (norecursedirs)",
            "Move or remove them, or leave them out on purpose: with `--ignore=PATH`*",
        ]
    )
    assert suite.log == []


def test_where_all_are_lost(suite: Suite) -> None:
    suite.scenario("lost", file="scenarios/build/x.yaml")
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.run("-q").stderr.fnmatch_lines(["  scenarios/build/x.yaml: *"])


def test_a_broken_scenario_is_a_lost_one_too(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("scenarios/build/x.yaml", "name: x\nevaluation: [\n")
    assert suite.run().ret == pytest.ExitCode.USAGE_ERROR


def test_a_link_that_leads_nowhere(suite: Suite) -> None:
    suite.scenario("one")
    (suite.path / "scenarios/link.yaml").symlink_to("gone.yaml")
    result = suite.run("scenarios")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["  scenarios/link.yaml: the link leads nowhere (gone.yaml)"])


@pytest.mark.parametrize("settings", ["convoprobe.yaml", "pyproject.toml"])
def test_where_the_project_s_settings_are_the_only_sign_of_scenarios(suite: Suite, settings: str) -> None:
    suite.write(settings, "[tool.convoprobe.run]\n" if settings == "pyproject.toml" else "run: {}\n")
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.scenario("lost", file="build/scenarios/x.yaml")
    (suite.path / "scenarios").symlink_to("../shared")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines_random(
        ["  scenarios: the link leads nowhere (../shared)", "  build/scenarios/x.yaml: pytest passes by*"]
    )


def test_scenarios_that_testpaths_does_not_name_are_noted(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    suite.write("convoprobe.yaml", "run: {}\n")
    suite.write("tests/test_plain.py", "def test_plain(): pass")
    suite.scenario("one", file="tests/scenarios/one.yaml")
    suite.scenario("forgotten")
    result = suite.run()
    result.assert_outcomes(passed=2)
    lines = [line for line in result.outlines if line.startswith("note: left out")]
    assert lines == ["note: left out: scenarios/forgotten.yaml: `testpaths` does not name its folder"]


def test_the_scenarios_of_a_folder_that_testpaths_does_not_name_are_one_note(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    suite.write("convoprobe.yaml", "run: {}\n")
    suite.write("tests/test_plain.py", "def test_plain(): pass")
    for file in ("scenarios/a.yaml", "scenarios/b.yaml", "scenarios/deeper/c.yaml"):
        suite.scenario("forgotten", file=file)
    lines = [line for line in suite.run().outlines if line.startswith("note: left out")]
    assert lines == [
        "note: left out: scenarios: `testpaths` does not name this folder, which has 2 scenario files",
        "note: left out: scenarios/deeper/c.yaml: `testpaths` does not name its folder",
    ]


def test_a_stray_benchmark_file_that_looks_real_hides_nothing(suite: Suite) -> None:
    suite.scenario("y", file="scenarios/sub/y.yaml")
    suite.write("scenarios/benchmark.yaml", "name: load\ndescription: d\n")
    suite.run("scenarios").assert_outcomes(passed=1)


def test_a_stray_benchmark_file_is_named_and_hides_nothing(suite: Suite) -> None:
    suite.scenario("y", file="scenarios/sub/y.yaml")
    suite.write("scenarios/sub/benchmark.yaml", "foo: 1")
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: left out: scenarios/sub/benchmark.yaml: *"])
    suite.write("convoprobe.yaml", "run: {}\n")
    result = suite.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*scenarios/sub/benchmark.yaml:1:1: this isn't a scenario*"])


def test_a_benchmark_that_pytest_passes_by(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("bench/dist/benchmark.yaml", "name: b\ndescription: d\nmetrics: []\n")
    suite.run().stderr.fnmatch_lines(["  bench/dist/benchmark.yaml: pytest passes by*"])


def test_what_is_no_scenario_is_only_named(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("scenarios/build/data.yaml", "a: 1")
    result = suite.run("-q")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["note: left out: scenarios/build/data.yaml: pytest passes by folders named*"]
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--ignore=scenarios/build"],
        ["--ignore-glob=*/build"],
        ["scenarios/one.yaml"],
        ["-o", "norecursedirs=build"],
        ["-o", "convoprobe_files=scenarios/*.yaml"],
    ],
)
def test_what_is_left_out_on_purpose_is_no_error(suite: Suite, words: list[str]) -> None:
    suite.scenario("one")
    suite.scenario("lost", file="scenarios/build/x.yaml")
    suite.run(*words).assert_outcomes(passed=1)


def test_a_conftest_may_leave_out_what_it_wants(suite: Suite) -> None:
    suite.conftest("collect_ignore = ['scenarios/build', 'scenarios/old.yaml']")
    for name in ("one", "old", "build/x"):
        suite.scenario("a", file=f"scenarios/{name}.yaml")
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: left out: scenarios/old.yaml: pytest was told to ignore it"])


def test_selecting_is_no_error(suite: Suite) -> None:
    suite.scenario("one")
    suite.scenario("two")
    suite.run("-k", "one", "--deselect=scenarios/two.yaml").assert_outcomes(passed=1, deselected=1)


def test_a_folder_that_is_asked_for_by_name_is_collected(suite: Suite) -> None:
    suite.scenario("one", file="scenarios/build/x.yaml")
    suite.run("scenarios/build").assert_outcomes(passed=1)


def test_each_scenario_of_a_loop_runs_once(suite: Suite) -> None:
    suite.scenario("one")
    (suite.path / "scenarios/loop").symlink_to(".")
    suite.run().assert_outcomes(passed=1)


def test_other_files_of_other_projects_are_nobody_s_business(suite: Suite) -> None:
    suite.write("tests/scenarios/build/load.yaml", "users: [bob]")
    (suite.path / "tests/scenarios/link.yaml").symlink_to("gone.yaml")
    suite.write("test_plain.py", "def test_plain(): pass")
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*left out*")


def test_with_other_errors_the_end_is_red_and_says_why(suite: Suite) -> None:
    suite.scenario("one")
    suite.scenario("lost", file="scenarios/build/x.yaml")
    suite.write("scenarios/broken.yaml", "evaluation: [")
    result = suite.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*scenarios that were left out*", "  scenarios/build/x.yaml: *"])
    listed = suite.run("--collect-only", "-q", "--ignore=scenarios/broken.yaml")
    assert listed.ret == pytest.ExitCode.TESTS_FAILED
    listed.stdout.fnmatch_lines(["scenarios/one.yaml::one", "  scenarios/build/x.yaml: *"])


def test_under_xdist_the_end_is_red(suite: Suite) -> None:
    suite.scenario("one")
    suite.scenario("lost", file="scenarios/build/x.yaml")
    result = suite.run_process("-n1", "--convoprobe-min-scenarios=2", plugins=["xdist.plugin"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        [
            "  scenarios/build/x.yaml: *",
            "1 scenario ran: the run fails with fewer than 2 (convoprobe_min_scenarios)",
        ]
    )


class TestEnough:
    def test_too_few_scenarios(self, suite: Suite) -> None:
        suite.scenario("one")
        suite.scenario("not now", skip=True)
        result = suite.run("-q", "--convoprobe-min-scenarios=2", "--convoprobe-trials=3")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(
            ["1 scenario ran: the run fails with fewer than 2 (convoprobe_min_scenarios)"]
        )

    def test_none_at_all(self, suite: Suite) -> None:
        suite.write("test_plain.py", "def test_plain(): pass")
        result = suite.run("--convoprobe-min-scenarios=1")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["0 scenarios ran: the run fails with fewer than 1 *"])

    def test_enough(self, suite: Suite) -> None:
        suite.write("pytest.ini", "[pytest]\nconvoprobe_min_scenarios = 2\n")
        suite.scenario("one")
        suite.scenario("two")
        assert suite.run().ret == 0
        assert suite.run("-k", "one").ret == pytest.ExitCode.TESTS_FAILED
        assert suite.run("-k", "one", "--convoprobe-min-scenarios=0").ret == 0

    def test_the_ini_file_asks_nothing_of_a_run_of_other_places(self, suite: Suite) -> None:
        suite.write("pytest.ini", "[pytest]\nconvoprobe_min_scenarios = 1\nconvoprobe_baseline = nowhere\n")
        suite.write("unit/test_plain.py", "def test_plain(): pass")
        suite.scenario("one", file="talks/one.yaml")
        unit, none = "unit/test_plain.py", "--convoprobe-baseline="
        # There are no scenarios anywhere: they may have been renamed.
        assert suite.run(unit).ret == pytest.ExitCode.USAGE_ERROR
        assert suite.run(unit, none).ret == pytest.ExitCode.TESTS_FAILED
        (suite.path / "talks").rename(suite.path / "scenarios")
        result = suite.run(unit)
        assert result.ret == pytest.ExitCode.OK
        result.stdout.no_fnmatch_line("*baseline*")
        assert suite.run(unit, "scenarios", none, "-k", "plain").ret == pytest.ExitCode.TESTS_FAILED
        assert suite.run(".", none, "-k", "plain").ret == pytest.ExitCode.TESTS_FAILED
        assert suite.run(unit, "--convoprobe-min-scenarios=1").ret == pytest.ExitCode.TESTS_FAILED
        assert suite.run(unit, "--convoprobe-baseline=latest").ret == pytest.ExitCode.USAGE_ERROR

    def test_tests_elsewhere_that_run_scenarios_need_the_baseline_of_the_ini_file(self, suite: Suite) -> None:
        suite.write("pytest.ini", "[pytest]\nconvoprobe_baseline = nowhere\n")
        suite.write("unit/test_agent.py", "def test_agent(convoprobe): convoprobe.run('scenarios/one.yaml')")
        suite.scenario("one")
        result = suite.run("unit")
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(["no comparison with nowhere: *", "gate (regression): closed"])
        suite.run("unit", "--convoprobe-baseline=")
        result = suite.run("unit", "-o", "convoprobe_baseline=latest")
        assert result.ret == pytest.ExitCode.OK
        result.stdout.fnmatch_lines(["*compared with a baseline*"])

    def test_a_pattern_that_fits_nothing(self, suite: Suite) -> None:
        suite.write("pytest.ini", "[pytest]\nconvoprobe_files = scenarios/*.yaml talks/*.yaml\n")
        suite.scenario("one")
        result = suite.run("scenarios/one.yaml")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: convoprobe_files: no file in * fits `talks/[*].yaml`.*"])


FOREIGN = {
    "scenarios/load.yaml": "users: [bob]\n",
    "tests/scenarios/load.yaml": "name: load\nusers: [bob]\nsteps:\n  - {evaluation: strict}\n",
    "molecule/scenarios/play.yml": "- hosts: all\n  tasks: []\n",
    "chart/scenarios/job.yaml": "{{- if .Values.on }}\nname: {{ .Values.name }}\n{{- end }}\n",
    "chart/scenarios/stack.yaml": "---\na: !Ref b\n---\nc: !vault |\n  x\n--- d: [\n",
    "scenarios/empty.yaml": "",
    "perf/benchmark.yaml": "name: load\ndescription: d\nmetrics: [p50, p99]\n",
    "perf/deep/benchmark.yaml": "name: load\nmetrics:\n  - {name: p50, type: histogram}\nscenario: login\n",
    "chart/benchmark.yaml": "name: {{ .Values.name }}\nmetrics: [a\n",
}


def test_files_of_other_programs_are_not_noticed(suite: Suite) -> None:
    suite.conftest("", target="")
    for name, text in FOREIGN.items():
        suite.write(name, text)
    suite.write("scenarios/dump.yaml", "rows:\n" + "  - {name: x, evaluation: 1}\n" * 100_000)
    suite.write("test_plain.py", "def test_plain(): pass")
    result = suite.run()
    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*left out*")
    assert suite.run("scenarios").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_benchmarks_of_other_programs_are_noted_too(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("perf/benchmark.yaml", FOREIGN["perf/benchmark.yaml"])
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: left out: perf/benchmark.yaml: nothing in it or beside it says*"])


def test_under_xdist_they_are_noted_at_the_end(suite: Suite) -> None:
    suite.scenario("one")
    suite.write("scenarios/load.yaml", "users: [bob]\n")
    result = suite.run_process("-n1", plugins=["xdist.plugin"])
    result.assert_outcomes(passed=1)
    notes = [line for line in result.outlines if line.startswith("note: left out: scenarios/load.yaml")]
    assert len(notes) == 1


def test_beside_scenarios_they_are_noted(suite: Suite) -> None:
    suite.scenario("zero", file="scenarios/zero.yaml")  # collected after the file in question
    suite.write("scenarios/load.yaml", "users: [bob]\n")
    result = suite.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["note: left out: scenarios/load.yaml: it has neither `synthetic_user` nor `evaluation`*"]
    )


@pytest.mark.parametrize(
    ("file", "text", "args"),
    [
        ("convoprobe.yaml", "run: {}\n", ()),
        ("pytest.ini", "[pytest]\nconvoprobe_files = scenarios/*.yaml\n", ()),
        ("scenarios/.convoprobe.yaml", "run: {}\n", ()),
        ("other.yaml", "", ("scenarios/load.yaml",)),
        ("other.yaml", "", ("--convoprobe-model=m",)),
    ],
)
def test_where_the_project_says_that_it_uses_us_they_are_errors(
    suite: Suite, file: str, text: str, args: tuple[str, ...]
) -> None:
    suite.conftest("", target="")
    suite.write(file, text)
    suite.write("scenarios/load.yaml", "users: [bob]\n")
    suite.run(*args).stdout.fnmatch_lines(["*scenarios/load.yaml:1:1: this isn't a scenario*"])


MISSPELT = """
name: late
description: d
syntetic_user: {persona: p, initial_query: q}
evalution: {correctness_criteria: [c]}
"""


@pytest.mark.parametrize(
    "sign",
    [
        "convoprobe_target: fixture",
        "def pytest_convoprobe_result(item, result): pass",
        "def test_it(convoprobe): pass",
        "pytest_plugins = ['agents_of_suite']",
    ],
)
def test_a_scenario_does_not_vanish_because_its_keys_are_misspelt(suite: Suite, sign: str) -> None:
    if sign.startswith("convoprobe_target"):
        suite.conftest("")
    elif sign.startswith("def test"):
        suite.conftest("", target="")
        suite.write("test_it.py", sign)
    else:
        suite.conftest(sign, target="")
        suite.write("agents_of_suite.py", "import pytest\n" + TARGET)
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.write("scenarios/late.yaml", MISSPELT)
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["  scenarios/late.yaml: `evalution` is not a key of a scenario; did you mean `evaluation`[?]"]
    )


def test_one_key_is_enough_and_the_other_is_explained(suite: Suite) -> None:
    suite.conftest("", target="")
    suite.write("scenarios/late.yaml", MISSPELT.replace("evalution", "evaluation"))
    suite.run().stdout.fnmatch_lines(
        ["*late.yaml:4:1: syntetic_user: unknown key; did you mean `synthetic_user`*"]
    )


@pytest.mark.parametrize("file", ["one", "two"])
def test_ctrl_c_in_the_middle_of_a_collection_leaves_nothing_out(suite: Suite, file: str) -> None:
    """The files that pytest hasn't come to by then are no error, and the status is that of Ctrl-C."""
    suite.conftest(f"""
    def pytest_collect_file(file_path):
        if file_path.name == "{file}.yaml":
            raise KeyboardInterrupt
    """)
    suite.scenario("one")
    suite.scenario("two")
    result = suite.run_process("scenarios")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "would not run" not in result.stdout.str() + result.stderr.str()
