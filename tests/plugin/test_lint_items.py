"""`--convoprobe-lint`: a test for each scenario file."""

from __future__ import annotations

from .suite import Suite


def vague(suite: Suite, file: str = "scenarios/vague.yaml") -> None:
    suite.write(
        file,
        """\
        name: vague
        description: A talk
        synthetic_user: {persona: Somebody, initial_query: Hello}
        evaluation:
          correctness_criteria: ["The agent is helpful. \\u202e\\n::error::pwned"]
          failure_criteria: ["The agent is good."]
        """,
    )


def test_nothing_without_the_option(suite: Suite) -> None:
    vague(suite)
    suite.run().assert_outcomes(passed=1)


def test_each_file_has_a_test_of_its_own(suite: Suite) -> None:
    vague(suite)
    suite.scenario("fine")
    result = suite.run("--convoprobe-lint", "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "scenarios/fine.yaml::convoprobe-lint PASSED*",
            "scenarios/vague.yaml::convoprobe-lint FAILED*",
            "scenarios/vague.yaml:6:22: evaluation.failure_criteria[[]0]: f1 is vague*",
            "*warning vague-criterion: Say what the agent says or does*",
        ]
    )
    result.stdout.no_fnmatch_line("::error::pwned*")
    result.stdout.no_fnmatch_line("*lint_items.py*")


def test_a_broken_file_hides_no_other(suite: Suite) -> None:
    vague(suite)
    suite.write("scenarios/broken.yaml", "name: x\nevaluation: y\n")
    result = suite.run("--convoprobe-lint", "--continue-on-collection-errors", "-k", "convoprobe-lint")
    result.assert_outcomes(failed=2, errors=1)
    result.stdout.fnmatch_lines(["*error invalid-file: Put the file right*"])


def test_workers_lint_too(suite: Suite) -> None:
    vague(suite)
    result = suite.run_process("--convoprobe-lint", "-n", "2", plugins=("xdist",))
    result.assert_outcomes(passed=1, failed=1)
