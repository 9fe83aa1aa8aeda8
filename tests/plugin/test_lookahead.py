"""Conversations that start before their turn, and those that must not."""

from __future__ import annotations

from .suite import Suite


def test_all_scenarios_talk_at_once_and_are_reported_in_order(suite: Suite) -> None:
    suite.scenario("s0", until="end scenarios/s2.yaml::s2")
    for name in ("s1", "s2"):
        suite.scenario(name)
    result = suite.run("-v")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*::s0 PASSED*", "*::s1 PASSED*", "*::s2 PASSED*"])
    assert suite.started() == ["s0", "s1", "s2"]
    assert suite.log.index("end scenarios/s2.yaml::s2 1") < suite.log.index("end scenarios/s0.yaml::s0 1")


def test_concurrency_of_one_is_one_after_another(suite: Suite) -> None:
    for number in range(3):
        suite.scenario(f"s{number}", sleep=0.05)
    suite.run("--convoprobe-concurrency=1").assert_outcomes(passed=3)
    talks = [line.split()[0] for line in suite.log if "::" in line]
    assert talks == ["start", "end"] * 3


def test_what_is_deselected_skipped_or_not_to_be_run_never_talks(suite: Suite) -> None:
    suite.conftest("""
        def pytest_collection_modifyitems(items):
            marks = {
                "b": pytest.mark.skip(reason="no"),
                "c": pytest.mark.skipif(True, reason="no"),
                "d": pytest.mark.xfail(run=False),
            }
            for item in items:
                if item.name in marks:
                    item.add_marker(marks[item.name])
        """)
    for name in "abcde":
        suite.scenario(name, file="scenarios/all.yaml")
    result = suite.run("--deselect", "scenarios/all.yaml::e")
    result.assert_outcomes(passed=1, skipped=2, xfailed=1, deselected=1)
    assert suite.started() == ["a"]


def test_a_target_of_narrower_scope_is_set_up_for_each_scenario(suite: Suite) -> None:
    suite.conftest(
        "",
        target="""
@pytest.fixture
def convoprobe_target(request):
    log("up")
    yield lambda message: "hello"
    log("down")
""",
    )
    suite.scenario("a")
    suite.scenario("b")
    suite.run().assert_outcomes(passed=2)
    kinds = [line.split()[0] for line in suite.log if line.split()[0] in ("up", "start", "end", "down")]
    assert kinds == ["up", "start", "end", "down"] * 2


def test_a_fixture_of_the_project_for_each_scenario_is_around_its_conversation(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture(autouse=True)
        def database(request):
            log("up")
            yield
            log("down")
        """)
    suite.scenario("a")
    suite.scenario("b")
    suite.run().assert_outcomes(passed=2)
    kinds = [line.split()[0] for line in suite.log if line.split()[0] in ("up", "start", "end", "down")]
    assert kinds == ["up", "start", "end", "down"] * 2


def test_session_fixtures_of_a_folder_are_set_up_before_its_scenarios_talk(suite: Suite) -> None:
    suite.scenario("a", file="scenarios/a.yaml")
    for name in "bc":
        suite.scenario(name, file=f"scenarios/z/{name}.yaml")
    suite.write(
        "scenarios/z/conftest.py",
        """
        import pytest
        from tests.plugin.stand_in import log
        @pytest.fixture(scope="session", autouse=True)
        def server():
            log("server")
        """,
    )
    suite.run().assert_outcomes(passed=3)
    order = [line.split()[0] for line in suite.log if line.split()[0] in ("server", "start")]
    assert order == ["start", "server", "start", "start"]


def test_a_yield_fixture_is_torn_down_after_the_last_conversation(suite: Suite) -> None:
    suite.conftest(
        "",
        target="""
@pytest.fixture(scope="session")
def convoprobe_target():
    yield lambda message: "hello"
    log("down")
""",
    )
    suite.scenario("a", outcome="failed", until="start scenarios/b.yaml::b")
    suite.scenario("b", sleep=60)
    result = suite.run("-x")
    result.assert_outcomes(failed=1)
    cancelled = suite.log.index("cancelled scenarios/b.yaml::b")
    assert cancelled < suite.log.index("down")


def test_maxfail_cancels_what_has_not_finished(suite: Suite) -> None:
    suite.scenario("a", outcome="failed", until="start scenarios/d.yaml::d")
    for name in "bcd":
        suite.scenario(name, sleep=60)
    suite.run("--maxfail=1").assert_outcomes(failed=1)
    assert sorted(line for line in suite.log if line.startswith("cancelled")) == [
        f"cancelled scenarios/{name}.yaml::{name}" for name in "bcd"
    ]


def test_ordinary_tests_between_them_run_in_their_place(suite: Suite) -> None:
    suite.scenario("a", file="scenarios/a.yaml")
    suite.write("scenarios/test_b.py", "def test_b(): pass")
    suite.scenario("c", file="scenarios/c.yaml")
    result = suite.run("-v")
    result.assert_outcomes(passed=3)
    assert suite.started() == ["a", "c"]


def test_a_scenario_that_breaks_the_settings_hook_fails_alone_and_in_its_place(suite: Suite) -> None:
    suite.conftest("""
        def pytest_convoprobe_settings(item, scenario, settings):
            if item.name == "b":
                raise LookupError("no such tenant")
        """)
    for name in "abc":
        suite.scenario(name)
    result = suite.run("-v")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*::b ERROR*", "E*LookupError: no such tenant"])


def test_last_failed_and_stepwise(suite: Suite) -> None:
    suite.scenario("a")
    suite.scenario("b", outcome="failed")
    suite.scenario("c")
    suite.run("--sw").assert_outcomes(passed=1, failed=1)
    (suite.path / "talk.log").unlink()
    suite.run("--lf").assert_outcomes(failed=1)
    assert suite.started() == ["b"]


def test_the_runner_is_closed_at_the_end(suite: Suite) -> None:
    suite.scenario("a")
    suite.run()
    assert suite.log[-1] == "closed"


def test_an_item_that_another_fixture_breaks_never_asks_for_its_conversation(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture(autouse=True, scope="session")
        def broken(): raise OSError("no database")
        """)
    suite.scenario("a")
    result = suite.run()
    result.assert_outcomes(errors=1)
    assert suite.started() == []


def test_a_target_that_cannot_be_closed_is_an_error_after_the_fixtures_are_torn_down(suite: Suite) -> None:
    suite.conftest("""
        from pytest_convoprobe.targets.fake import FakeTarget
        class Bad(FakeTarget):
            async def aclose(self): raise OSError("line is busy")
        @pytest.fixture(scope="session", autouse=True)
        def database():
            yield
            log("database down")
        @pytest.fixture(scope="session")
        def convoprobe_target():
            return Wrapped()
        class Wrapped: pass
        class Backend(StandIn):
            def open_session(self, *arguments):
                session = super().open_session(*arguments)
                session.as_target = lambda value: Bad("hello")
                return session
        def pytest_configure(config):
            config.stash[BACKEND] = Backend()
        """)
    suite.scenario("a")
    result = suite.run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of a*", "E*OSError: line is busy"])
    assert "database down" in suite.log
