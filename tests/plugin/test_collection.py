"""Which files and scenarios pytest finds, and under which names."""

from __future__ import annotations

import pytest

from .suite import Suite


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_scenarios_are_listed_by_file_and_name(suite: Suite) -> None:
    suite.scenario("one", file="scenarios/a.yaml")
    suite.scenario("two words", file="scenarios/a.yaml")
    suite.scenario("three", file="elsewhere/b.scenario.yaml")
    suite.write("elsewhere/plain.yaml", "a: 1")
    result = suite.run("--collect-only", "-q")
    assert result.ret == 0
    assert ids(result) == [
        "elsewhere/b.scenario.yaml::three",
        "scenarios/a.yaml::one",
        "scenarios/a.yaml::two words",
    ]


def test_collecting_needs_no_settings_and_no_target(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "nonsense: [")
    suite.conftest("", target="")
    suite.scenario("one")
    assert ids(suite.run("--collect-only", "-q")) == ["scenarios/one.yaml::one"]


def test_a_broken_file_is_an_error_of_that_file_with_its_message(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "run: {}")
    suite.scenario("good")
    suite.write("scenarios/broken.yaml", "name: x\ndescriptoin: y\n")
    result = suite.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR collecting scenarios/broken.yaml*", "*broken.yaml:2:1:*description*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*collection.py*")


def test_a_broken_file_gives_no_commands_to_a_ci_system(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "run: {}")
    suite.write("scenarios/broken.yaml", "name: x\n::error file=x::pwned\n")
    suite.write("scenarios/odd.yaml", "'##vso[task.setvariable]x': 1\n")
    result = suite.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["    \\::error file=x::pwned"])
    result.stdout.no_re_match_line(r"\s*::error")
    result.stdout.no_fnmatch_line("*##vso[[]*")


def test_names_that_are_hard_for_node_ids_can_be_pasted_back(suite: Suite) -> None:
    for name in ("two words", "with [brackets]", "a::b", "Grüße 你好", 'it\'s "quoted"'):
        suite.scenario(name, file="scenarios/a.yaml")
    found = ids(suite.run("--collect-only", "-q"))
    assert len(found) == 5
    for node_id in found:
        suite.run(node_id).assert_outcomes(passed=1)


def test_two_scenarios_of_one_name_have_two_ids(suite: Suite) -> None:
    suite.scenario("same", file="scenarios/a.yaml")
    suite.scenario("same", file="scenarios/a.yaml", outcome="failed")
    found = ids(suite.run("--collect-only", "-q"))
    assert len(set(found)) == 2
    suite.run(found[1]).assert_outcomes(failed=1)


def test_a_file_on_the_command_line_is_collected_whatever_its_name(suite: Suite) -> None:
    suite.scenario("one", file="drafts/_idea.yml")
    suite.run().assert_outcomes()
    suite.run("drafts/_idea.yml").assert_outcomes(passed=1)


@pytest.mark.parametrize("folder", [".", "drafts", "drafts/../drafts"])
def test_a_file_beside_its_folder_on_the_command_line_is_collected_too(suite: Suite, folder: str) -> None:
    suite.scenario("one", file="drafts/_idea.yml")
    suite.scenario("two", file="drafts/_other.yml")
    suite.run(folder, "drafts/_idea.yml").assert_outcomes(passed=1)


def test_a_file_that_another_plugin_takes_is_left_to_it(suite: Suite) -> None:
    suite.conftest("""
        class Other(pytest.File):
            def collect(self):
                return []
        def pytest_collect_file(file_path, parent):
            if file_path.name == "test_api.tavern.yaml":
                return Other.from_parent(parent, path=file_path)
        """)
    suite.write("test_api.tavern.yaml", "stages: []")
    result = suite.run("test_api.tavern.yaml")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_patterns_are_an_ini_option(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\nconvoprobe_files = talks/*.yaml\n")
    suite.scenario("one", file="talks/a.yaml")
    suite.scenario("two")
    assert ids(suite.run("--collect-only", "-q")) == ["talks/a.yaml::one"]


def test_k_finds_names_and_tags(suite: Suite) -> None:
    suite.scenario("Refund of an order", file="scenarios/a.yaml", tags=["money"])
    suite.scenario("Weather", file="scenarios/a.yaml")
    suite.run("-k", "refund").assert_outcomes(passed=1, deselected=1)
    suite.run("-k", "money").assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize("name", ["scenarios", "."])
def test_from_another_folder(suite: Suite, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.scenario("bad", outcome="failed")
    monkeypatch.chdir(suite.path / "scenarios")
    result = suite.run(f"../{name}", "--rootdir", str(suite.path), "-c", "/dev/null")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["run again: pytest bad.yaml::bad"])


def test_importlib_mode_and_a_conftest_below(suite: Suite) -> None:
    suite.scenario("one", file="scenarios/deep/a.yaml")
    suite.write(
        "scenarios/deep/conftest.py",
        """
        import pytest
        @pytest.fixture(scope="session")
        def convoprobe_target():
            return lambda message: "from below"
        def pytest_convoprobe_result(item, result):
            print("it said", result.transcript.turns[0].reply.text)
        """,
    )
    result = suite.run("--import-mode=importlib", "-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*it said from below*"])


def test_a_folder_outside_the_rootdir(suite: Suite) -> None:
    suite.scenario("one", file="here/scenarios/a.yaml")
    suite.write("there/pytest.ini", "[pytest]")
    result = suite.run("here", "--rootdir", "there", "-c", "there/pytest.ini", "--collect-only", "-q")
    assert [line.rpartition("/")[2] for line in ids(result)] == ["a.yaml::one"]


def test_trials_are_items_of_their_own(suite: Suite) -> None:
    suite.scenario("one")
    result = suite.run("--convoprobe-trials=3", "-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*one.yaml::one PASSED*", "*::one[[]trial-2[]] PASSED*", "*::one[[]trial-3[]] PASSED*"]
    )
    again = suite.run("--convoprobe-trials=3", "scenarios/one.yaml::one[trial-2]")
    again.assert_outcomes(passed=1)


def test_the_command_for_a_trial_names_the_number_of_trials(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed")
    result = suite.run("--convoprobe-trials=2")
    result.stdout.fnmatch_lines(
        [
            "run again: pytest scenarios/bad.yaml::bad",
            "*'scenarios/bad.yaml::bad*trial-2*' --convoprobe-trials=2",
        ]
    )


def test_the_command_repeats_the_options_that_decide_the_outcome(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed")
    suite.write("other.yaml", "run: {turn_timeout: 5}")
    result = suite.run(
        "--convoprobe-config=other.yaml", "--convoprobe-judge-model=m", "--convoprobe-max-cost=1"
    )
    result.stdout.fnmatch_lines(
        [
            "run again: pytest scenarios/bad.yaml::bad --convoprobe-config=other.yaml "
            "--convoprobe-judge-model=m"
        ]
    )


def test_the_command_does_not_record_again(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed")
    result = suite.run("--convoprobe-replay=record", "--convoprobe-model=m")
    result.stdout.fnmatch_lines(["run again: pytest scenarios/bad.yaml::bad --convoprobe-model=m"])


def test_collect_only_shows_the_descriptions_when_verbose(suite: Suite) -> None:
    suite.scenario("one")
    result = suite.run("--collect-only", "-v")
    result.stdout.fnmatch_lines(["*<ScenarioFile one.yaml>", "*<ScenarioItem one>", "*A talk"])
