"""A scenario has a place in every scope of pytest's, as a function in a module has."""

from __future__ import annotations

from .suite import Suite

FIXTURES = """
    @pytest.fixture(scope="{scope}", autouse=True)
    def around_{scope}(request):
        log(f"begin {scope}")
        yield
        log(f"end {scope}")
"""
SCOPES = ("session", "package", "module", "class", "function")


def events(suite: Suite) -> list[str]:
    return [line for line in suite.log if line.startswith(("begin", "end ")) and "::" not in line]


def test_fixtures_of_every_scope(suite: Suite) -> None:
    suite.conftest("".join(FIXTURES.format(scope=scope) for scope in SCOPES))
    for name, file in (("one", "a"), ("two", "a"), ("three", "b")):
        suite.scenario(name, file=f"scenarios/{file}.yaml")
    suite.write("scenarios/__init__.py", "")
    suite.run().assert_outcomes(passed=3)
    for scope, times in zip(SCOPES, (1, 1, 2, 3, 3), strict=True):
        assert events(suite).count(f"begin {scope}") == events(suite).count(f"end {scope}") == times
    assert events(suite)[-1] == "end session"


def test_a_target_for_each_file(suite: Suite) -> None:
    suite.conftest(
        """
        def pytest_convoprobe_result(item, result):
            log(f"{item.name}: {result.transcript.turns[0].reply.text}")
        """,
        target="""
@pytest.fixture(scope="module")
def convoprobe_target(request):
    log(f"made {request.module.__name__} {request.path.name} {request.node.name}")
    yield lambda message: request.module.__file__.rpartition("/")[2]
""",
    )
    for name, file in (("one", "a"), ("two", "a"), ("three", "b")):
        suite.scenario(name, file=f"scenarios/{file}.yaml")
    suite.run().assert_outcomes(passed=3)
    assert [line for line in suite.log if line.startswith("made")] == [
        "made a a.yaml a.yaml",
        "made b b.yaml b.yaml",
    ]
    assert "two: a.yaml" in suite.log
    assert "three: b.yaml" in suite.log


def test_what_a_request_knows(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture(autouse=True)
        def _ask(request):
            item = request.node
            assert request.module is item.module is item.parent.obj
            assert request.cls is None and item.cls is None and request.instance is None
            assert request.function is item.function
            assert item.function.__doc__ == "A talk"
            assert item.originalname == item.name == "one"
            assert request.path.name == item.path.name == "one.yaml"
            assert request.keywords["smoke"]
            assert request.getfixturevalue("convoprobe_target")("x") == "echo x"
            log("asked")

        def pytest_collection_modifyitems(items):
            for item in items:
                assert item.getparent(pytest.Module).name == item.path.name
                assert item.module.__name__ == item.path.stem
                assert item.getmodpath() == item.name
        """)
    suite.scenario("one", tags=["smoke"])
    suite.run().assert_outcomes(passed=1)
    assert "asked" in suite.log


def test_usefixtures_of_the_ini_file_and_of_marks(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture
        def by_ini():
            log("by ini")

        @pytest.fixture(scope="module")
        def by_mark():
            log("by mark")

        def pytest_collection_modifyitems(items):
            for item in items:
                item.fixturenames.append("by_mark")
        """)
    suite.write("pytest.ini", "[pytest]\nusefixtures = by_ini\n")
    suite.scenario("one")
    suite.scenario("two")
    suite.run().assert_outcomes(passed=2)
    assert suite.log.count("by ini") == 2
    assert suite.log.count("by mark") == 2


def test_module_fixtures_under_xdist_and_reruns(suite: Suite) -> None:
    suite.conftest("".join(FIXTURES.format(scope=scope) for scope in ("module", "class")))
    suite.scenario("flaky", outcome="failed", until_run=1)
    suite.scenario("two")
    plugins = ["xdist.plugin", "pytest_rerunfailures"]
    suite.run_process("-n1", "--reruns=1", plugins=plugins).assert_outcomes(passed=2)


def test_a_hook_that_makes_nothing_of_a_scenario_is_named(suite: Suite) -> None:
    suite.conftest("""
        def pytest_pycollect_makeitem(name):
            return [] if name == "two" else None
        """)
    suite.scenario("one")
    suite.scenario("two")
    result = suite.run("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["scenarios/two.yaml::two: a hook `pytest_pycollect_makeitem`*"])
