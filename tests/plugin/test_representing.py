"""No result is lost because an exception could not be shown."""

from __future__ import annotations

import pytest

from .suite import Suite

COLLISION = """
    import ast
    parse = ast.parse
    def failing(source, *args, **kwargs):
        if len(str(source)) > 2:
            raise SystemError("AST constructor recursion depth mismatch (before=6, after=9)")
        return parse(source, *args, **kwargs)
    def pytest_collection_finish(session):
        ast.parse = failing
    def pytest_unconfigure(config):
        ast.parse = parse
"""


def outcomes(suite: Suite) -> None:
    suite.scenario("bad", outcome="failed", reason="it promised a refund")
    suite.scenario("away", outcome="error", reason="the provider is down")
    suite.scenario("good")


@pytest.mark.parametrize("option", ["--tb=auto", "--full-trace", "--tb=native"])
def test_verdicts_need_no_source(suite: Suite, option: str) -> None:
    suite.conftest(COLLISION)
    outcomes(suite)
    result = suite.run(option)
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*it promised a refund*",
            "FAILED scenarios/bad.yaml::bad - agent: it promised a refund",
            "ERROR scenarios/away.yaml::away - infrastructure: the provider is down",
        ]
    )
    result.stdout.no_fnmatch_line("*AST constructor*")


def test_an_error_of_a_fixture_and_of_a_test_is_shown_in_short_if_pytest_cannot(suite: Suite) -> None:
    suite.conftest(
        COLLISION + "\n    @pytest.fixture\n    def broken(): raise ValueError('no such account')\n"
    )
    outcomes(suite)
    suite.write("test_a.py", "def test_a():\n    print('as printed')\n    assert 1 == 2, 'they differ'\n")
    suite.write("test_b.py", "def test_b(broken): pass\n")
    result = suite.run()
    result.assert_outcomes(passed=1, failed=2, errors=2)
    result.stdout.fnmatch_lines(["test_a.py:3: in test_a", "AssertionError: they differ*", "as printed"])
    result.stdout.fnmatch_lines(["ValueError: no such account", "(shown in short*SystemError*"])
    result.stdout.fnmatch_lines(["ERROR test_b.py::test_b - ValueError: no such account"])


def test_a_collision_that_is_over_costs_nothing(suite: Suite) -> None:
    suite.conftest(COLLISION.replace("raise", "ast.parse = parse\n            raise"))
    outcomes(suite)
    suite.write("test_a.py", "def test_a():\n    assert 1 == 2, 'they differ'\n")
    result = suite.run()
    result.assert_outcomes(passed=1, failed=2, errors=1)
    result.stdout.fnmatch_lines([">       assert 1 == 2, 'they differ'"])
    result.stdout.no_fnmatch_line("*shown in short*")


def test_an_expected_failure_still_looks_at_what_was_raised(suite: Suite) -> None:
    suite.conftest("""
        from pytest_convoprobe.result import ScenarioFailed
        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.xfail(raises=ScenarioFailed))
        """)
    outcomes(suite)
    suite.run().assert_outcomes(xpassed=1, xfailed=1, errors=1)


def test_a_broken_representation_is_no_internal_error(suite: Suite) -> None:
    suite.conftest("""
        class Broken(Exception):
            def __str__(self): raise RuntimeError("no text")
        @pytest.fixture(autouse=True)
        def broken(request):
            if request.node.name == "good":
                raise Broken
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(item, call):
            if call.excinfo and item.name == "good":
                raise LookupError("a fault in a report")
        """)
    outcomes(suite)
    result = suite.run()
    result.assert_outcomes(failed=1, errors=2)
    result.stdout.fnmatch_lines(["Broken: (its text can't be had)", "*LookupError: a fault in a report*"])


def test_nothing_of_ours_is_imported_once_conversations_run(suite: Suite) -> None:
    """pytest parses a plug-in's modules at their import, which must not happen beside other threads."""
    suite.conftest("""
        import importlib.abc, sys
        class Watch(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name.startswith("pytest_convoprobe"):
                    print("imported late:", name)
        def pytest_runtest_call(item):
            if not isinstance(sys.meta_path[0], Watch):
                sys.meta_path.insert(0, Watch())
        """)
    outcomes(suite)
    suite.run_new_process("-s").stdout.no_fnmatch_line("*imported late*")


UNMASKABLE = """
    from pytest_convoprobe.runs.session import Session
    MASKED = Session.masked

    def masked(session, text):
        raise ValueError("no such pattern")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(item, call):
        Session.masked = masked if (item.name, call.when) in {broken} else MASKED

    def pytest_unconfigure():
        Session.masked = MASKED
"""


def test_a_report_that_cannot_be_completed_is_an_error_of_that_item(suite: Suite) -> None:
    suite.conftest(UNMASKABLE.format(broken=[("bad", "call"), ("test_a", "call")]))
    suite.scenario("bad", outcome="failed")
    suite.scenario("good")
    suite.write("test_z.py", "def test_a():\n    print('SECRET')\ndef test_b(): pass\n")
    result = suite.run()
    result.assert_outcomes(passed=2, errors=2)  # it is the fault of no agent
    result.stdout.fnmatch_lines(["*report on this test could not be completed: ValueError: no such pattern"])
    assert "SECRET" not in result.stdout.str()


def test_reports_and_exceptions_of_other_plugins_are_left_as_they_are(suite: Suite) -> None:
    """None of it is text, or can be looked at without a mistake of its own."""
    suite.conftest("""
        from typing import NamedTuple

        class Shown(NamedTuple):
            text: str
            def toterminal(self, tw):
                tw.line(f"shown: {self.text}")

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(item, call):
            report = yield
            report.sections.append(("Attached", b"bytes"))
            if item.name == "test_named":
                report.longrepr = Shown("as it was")
            return report

        class Awkward(Exception):
            @property
            def blame(self):
                raise RuntimeError("nobody's")

            __dict__ = blame
        """)
    suite.scenario("good")
    suite.write(
        "test_z.py",
        """
        from conftest import Awkward
        def test_awkward():
            raise Awkward("by the project")
        def test_named():
            assert False
        """,
    )
    result = suite.run("--show-capture=no")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["E *Awkward: by the project", "shown: as it was"])
