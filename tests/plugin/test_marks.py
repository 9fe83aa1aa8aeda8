"""Tags as markers."""

from __future__ import annotations

import pytest

from .suite import Suite

STRICT = ("--strict-markers", "-W", "error")


def test_tags_can_be_selected_under_strict_markers(suite: Suite) -> None:
    suite.scenario("one", tags=["smoke"])
    suite.scenario("two", tags=["slow"])
    suite.run(*STRICT, "-m", "smoke").assert_outcomes(passed=1, deselected=1)


def test_tags_with_dashes_and_blanks(suite: Suite) -> None:
    suite.scenario("one", tags=["needs-network", "big one"])
    suite.scenario("two")
    suite.run(*STRICT, "-m", "needs-network").assert_outcomes(passed=1, deselected=1)
    suite.run(*STRICT, "-m", "big_one").assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize(
    "tag", ["skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings", "asyncio", "timeout"]
)
def test_tags_with_the_names_of_marks_that_act_do_nothing(suite: Suite, tag: str) -> None:
    suite.scenario("one", tags=[tag])
    result = suite.run_process(*STRICT, plugins=["timeout"])
    result.assert_outcomes(passed=1)


def test_the_hosts_own_check_stays_strict(suite: Suite) -> None:
    suite.scenario("one", tags=["smoke"], file="a/scenarios/a.yaml")
    suite.write("b/test_host.py", "import pytest\n@pytest.mark.smoke\ndef test_it(): pass\n")
    result = suite.run(*STRICT)
    result.stdout.fnmatch_lines(["*'smoke' not found in `markers` configuration option*"])


def test_unknown_markers_are_still_refused_by_m(suite: Suite) -> None:
    suite.scenario("one", tags=["smoke"])
    assert suite.run("-m", "smoke").ret == 0
    result = suite.run("-m", "smok")
    result.assert_outcomes(deselected=1)


def test_the_list_of_markers_is_left_as_it_was(suite: Suite) -> None:
    suite.conftest("""
        def pytest_collection_finish(session):
            print("registered:", [line for line in session.config.getini("markers") if "smoke" in line])
        """)
    suite.scenario("one", tags=["smoke"])
    suite.run("-s", "-m", "smoke").stdout.fnmatch_lines(["*registered: []*"])
