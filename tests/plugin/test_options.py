"""The command line, the ini file, and the settings behind them."""

from __future__ import annotations

import pytest

from .suite import Suite

SEEN = """
    def pytest_convoprobe_settings(item, scenario, settings):
        print("judge:", settings.judge.model, "user:", settings.synthetic_user.model)
        print("run:", settings.run)
    """


def test_help_has_a_group_of_its_own(suite: Suite) -> None:
    result = suite.run("--help")
    result.stdout.fnmatch_lines(
        ["simulated conversations (convoprobe):", "*--convoprobe-config*", "*--convoprobe-replay*"]
    )
    result.stdout.fnmatch_lines(["*convoprobe_files (args):*"])


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("--convoprobe-model=openai/a", "judge: openai/a user: openai/a"),
        ("--convoprobe-judge-model=openai/b", "judge: openai/b user: *"),
        ("--convoprobe-user-model=openai/c", "judge: * user: openai/c"),
        ("--convoprobe-max-cost=1.5", "run: *max_cost=1.5 *"),
        ("--convoprobe-max-tokens=1000", "run: *max_tokens=1000 *"),
        ("--convoprobe-turn-timeout=3", "run: *turn_timeout=3.0 *"),
        ("--convoprobe-scenario-timeout=4", "run: *scenario_timeout=4.0 *"),
        ("--convoprobe-inconclusive=skip", "run: *inconclusive='skip' *"),
        ("--convoprobe-replay=auto", "run: *replay='auto' *"),
    ],
)
def test_an_option_reaches_the_scenarios_settings(suite: Suite, option: str, shown: str) -> None:
    suite.conftest(SEEN)
    suite.scenario("one")
    suite.run("-s", option).stdout.fnmatch_lines([f"*{shown}*"])


def test_the_more_special_model_option_wins(suite: Suite) -> None:
    suite.conftest(SEEN)
    suite.scenario("one")
    result = suite.run("-s", "--convoprobe-judge-model=openai/b", "--convoprobe-model=openai/a")
    result.stdout.fnmatch_lines(["*judge: openai/b user: openai/a"])


def test_the_ini_file_comes_after_the_command_line(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\nconvoprobe_max_tokens = 7\nconvoprobe_inconclusive = fail\n")
    suite.conftest(SEEN)
    suite.scenario("one")
    result = suite.run("-s", "--convoprobe-max-tokens=9", "--strict-config")
    result.stdout.fnmatch_lines(["*max_tokens=9 inconclusive='fail'*"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "convoprobe_concurrency = many",
            "*convoprobe_concurrency in pytest.ini: expected a whole number from 1, got 'many'",
        ),
        (
            "convoprobe_max_cost = nan",
            "*convoprobe_max_cost in pytest.ini: expected a number from 0, got 'nan'",
        ),
        ("convoprobe_replay = perhaps", "*expected one of off, auto, only, record, got 'perhaps'*"),
        ("convoprobe_fail_on = regresion", "*got 'regresion'; did you mean `regression`?"),
    ],
)
def test_nonsense_in_the_ini_file_is_a_usage_error(suite: Suite, line: str, words: str) -> None:
    suite.write("pytest.ini", f"[pytest]\n{line}\n")
    suite.scenario("one")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([words])


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--convoprobe-concurrency=0", "a whole number from 1"),
        ("--convoprobe-max-cost=-1", "a number from 0"),
        ("--convoprobe-max-cost=inf", "a number from 0"),
        ("--convoprobe-max-tokens=1.5", "a whole number from 0"),
        ("--convoprobe-turn-timeout=nan", "a number above 0"),
        ("--convoprobe-trials=x", "a whole number from 1"),
    ],
)
def test_nonsense_on_the_command_line_is_a_usage_error(suite: Suite, option: str, expected: str) -> None:
    result = suite.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    flag, value = option.split("=")
    result.stderr.fnmatch_lines([f"*{flag}: expected {expected}, got '{value}'"])


def test_a_mistyped_choice_on_the_command_line_names_the_nearest_one(suite: Suite) -> None:
    result = suite.run("--convoprobe-replay=onyl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    words = "expected one of off, auto, only, record, got 'onyl'; did you mean `only`?"
    result.stderr.fnmatch_lines([f"*--convoprobe-replay: {words}"])


def test_broken_settings_are_one_usage_error_before_any_work(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "jugde:\n  model: x\n")
    suite.scenario("one")
    suite.scenario("two")
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *convoprobe.yaml:1:1:*judge*"])
    assert suite.log == []


def test_broken_settings_do_not_hurt_where_no_scenario_is_to_run(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "jugde:\n  model: x\n")
    suite.scenario("later", skip="not yet")
    suite.write("test_plain.py", "def test_plain(): pass")
    suite.run().assert_outcomes(passed=1, skipped=1)


def test_the_settings_file_may_be_named(suite: Suite) -> None:
    suite.write("other.yaml", "judge:\n  model: openai/special\n")
    suite.conftest(SEEN)
    suite.scenario("one")
    suite.run("-s", "--convoprobe-config=other.yaml").stdout.fnmatch_lines(["*judge: openai/special*"])


def test_show_config_prints_and_runs_nothing(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "llm:\n  model: openai/a\n  api_key: very-secret-key-1234\n")
    suite.scenario("one")
    result = suite.run("--convoprobe-show-config", "--convoprobe-concurrency=3")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*openai/a*"])
    result.stdout.no_fnmatch_line("*very-secret*")
    assert suite.log == []


def test_show_config_of_broken_settings_is_a_usage_error(suite: Suite) -> None:
    suite.write("convoprobe.yaml", "jugde: {}\n")
    result = suite.run("--convoprobe-show-config")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*convoprobe.yaml:1:1*"])


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest 9 is the first to read TOML as it is")
def test_numbers_of_toml_are_numbers(suite: Suite) -> None:
    suite.write("pytest.toml", "[pytest]\nconvoprobe_max_tokens = 7\nconvoprobe_max_cost = 2\n")
    suite.conftest(SEEN)
    suite.scenario("one")
    suite.run("-s", "--strict-config").stdout.fnmatch_lines(["*max_cost=2.0 max_tokens=7 *"])
    suite.write("pytest.toml", '[pytest]\nconvoprobe_max_tokens = "seven"\n')
    result = suite.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    expected = "convoprobe_max_tokens in pytest.toml: expected a whole number from 0, got 'seven'"
    result.stderr.fnmatch_lines([f"*{expected}"])


def test_nonsense_given_for_the_ini_file_is_said_to_be_the_command_lines(suite: Suite) -> None:
    suite.write("test_plain.py", "def test_plain(): pass")
    result = suite.run("-o", "convoprobe_trials=none")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*convoprobe_trials in `--override-ini`: expected a whole number from 1*"])


def test_the_ini_file_may_name_models(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\nconvoprobe_model = openai/a\nconvoprobe_judge_model = openai/b\n")
    suite.conftest(SEEN)
    suite.scenario("one")
    suite.run("-s").stdout.fnmatch_lines(["*judge: openai/b user: openai/a"])
    # The command line counts, though the ini file has the more special option.
    suite.run("-s", "--convoprobe-model=openai/c").stdout.fnmatch_lines(["*judge: openai/c user: openai/c"])


def test_paths_in_the_ini_file_are_seen_from_its_folder(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\nconvoprobe_html = out/page.html\nconvoprobe_config = other.yaml\n")
    suite.write("other.yaml", "judge:\n  model: openai/special\n")
    suite.conftest(SEEN)
    suite.scenario("one")
    suite.pytester.chdir()
    below = suite.path / "scenarios"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(below)
        suite.run("-s").stdout.fnmatch_lines(["*judge: openai/special*", "report: *page.html"])
    assert (suite.path / "out/page.html").exists()
    suite.run("--convoprobe-html=", "--convoprobe-no-results").assert_outcomes(passed=1)


def test_the_ini_file_may_name_a_baseline_and_what_fails(suite: Suite) -> None:
    suite.scenario("one", until_run=1, outcome="failed")
    suite.run()
    suite.write("pytest.ini", "[pytest]\nconvoprobe_fail_on = new-failure\n")
    assert suite.run("-p", "no:cacheprovider").ret == pytest.ExitCode.OK
    suite.write("pytest.ini", "[pytest]\nconvoprobe_baseline = latest\nconvoprobe_fail_on = new-failure\n")
    suite.run().stdout.fnmatch_lines(["*compared with a baseline*", "*new-failure*"])
    assert suite.run("--fixtures-per-test", "-o", "convoprobe_baseline=nowhere").ret == pytest.ExitCode.OK
    suite.run("--convoprobe-baseline=").stdout.no_fnmatch_line("*compared with a baseline*")


def test_show_config_names_the_ini_file(suite: Suite) -> None:
    suite.write("pytest.ini", "[pytest]\nconvoprobe_turn_timeout = 7\nconvoprobe_max_tokens = 9\n")
    shown = suite.run("--convoprobe-show-config", "--convoprobe-max-tokens=8").stdout
    shown.fnmatch_lines_random(["*turn_timeout * 7.0 *pytest.ini", "*max_tokens * 8 *command line"])
