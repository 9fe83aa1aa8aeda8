"""Scenarios with parametrised fixtures: items of their own, with their own targets and records."""

from __future__ import annotations

import json

import pytest

from pytest_convoprobe.reports.html.anchors import scenario_anchor

from .suite import Suite
from .test_collection import ids

MATRIX = """
@pytest.fixture(scope="session", params=["small", "large"])
def convoprobe_target(request):
    log(f"made {request.param}")
    yield lambda message: f"{request.param} says {message}"
    log(f"gone {request.param}")

def pytest_convoprobe_result(item, result):
    log(f"{item.name}: {result.transcript.turns[0].reply.text}")
"""

TARGET_OF_MODEL = """
@pytest.fixture(scope="session")
def model(request):
    yield getattr(request, "param", "plain")
    log("taken away")

@pytest.fixture(scope="session")
def convoprobe_target(model):
    return lambda message: f"{model} says"
"""
"""It says which parameter it was made with."""


def said(suite: Suite) -> list[str]:
    return [line for line in suite.log if " says" in line]


def stored(suite: Suite) -> dict[tuple[str, int], str]:
    """The names of the stored trials, by scenario and number."""
    files = (suite.path / ".convoprobe").rglob("*.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return {(row["scenario_id"], row["trial"]): row["name"] for row in rows if "scenario_id" in row}


def names_of_targets(suite: Suite) -> set[tuple[str, str | None, str | None]]:
    """Of the stored trials: the scenario's id, the name of its target, and its id without that."""
    files = (suite.path / ".convoprobe").rglob("trials-*.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    return {(row["scenario_id"], row.get("target_name"), row.get("base_id")) for row in rows}


def test_a_parametrised_target_makes_a_matrix(suite: Suite) -> None:
    suite.conftest("", target=MATRIX)
    suite.scenario("one", file="scenarios/a.yaml")
    suite.scenario("two words", file="scenarios/a.yaml", outcome="failed")
    found = ids(suite.run("--collect-only", "-q"))
    assert sorted(found) == [
        f"scenarios/a.yaml::{name}[{model}]" for name in ("one", "two words") for model in ("large", "small")
    ]
    suite.run().assert_outcomes(passed=2, failed=2)
    assert said(suite) == [
        f"{name}[{model}]: {model} says hello"
        for model in ("small", "large")
        for name in ("one", "two words")
    ]
    # Each target is made once, and none is taken away while somebody talks with it.
    assert [line for line in suite.log if line.startswith(("made", "gone"))] == [
        "made small",
        "gone small",
        "made large",
        "gone large",
    ]
    assert stored(suite) == {
        (f"scenarios/a.yaml::{name}[{model}]", 1): f"{name} [{model}]"
        for name in ("one", "two words")
        for model in ("large", "small")
    }


def test_each_item_of_a_matrix_can_be_asked_for(suite: Suite) -> None:
    suite.conftest("", target=MATRIX)
    suite.scenario("bad", outcome="failed")
    result = suite.run("--convoprobe-trials=2")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(
        [
            "run again: pytest 'scenarios/bad.yaml::bad[[]small[]]'",
            "*'scenarios/bad.yaml::bad[[]small[]][[]trial-2[]]' --convoprobe-trials=2",
        ]
    )
    suite.run("scenarios/bad.yaml::bad[large]").assert_outcomes(failed=1)
    suite.run("scenarios/bad.yaml::bad").assert_outcomes(failed=2)
    suite.run("-k", "large").assert_outcomes(failed=1, deselected=1)
    suite.run("--lf", "-v").stdout.fnmatch_lines(["*::bad[[]large[]] FAILED*"])


def test_what_failed_last_is_found_by_parameters_trials_and_names_with_brackets(suite: Suite) -> None:
    suite.conftest(
        """
        def pytest_convoprobe_checks(item):
            from pytest_convoprobe.judging.types import CheckResult
            if "trial-2" in item.name and "large" in item.name:
                return [CheckResult("never", False, "more", "less")]
        """,
        target=MATRIX,
    )
    for name in ("one", "two [vip] people"):
        suite.scenario(name, file="scenarios/a.yaml")
    suite.run("--convoprobe-trials=2").assert_outcomes(passed=6, failed=2)
    suite.run("--lf", "--convoprobe-trials=2").assert_outcomes(failed=2)


@pytest.mark.parametrize(
    ("hook", "names"),
    [
        ('"convoprobe_target", [lambda m: "a says", lambda m: "b says"], ids=["a", "b"]', ["a", "b"]),
        ('"model", ["a", "b"], scope="session", indirect=True', ["a", "b"]),
        ('"model", [pytest.param("a", marks=pytest.mark.skip), "b"], scope="session", indirect=True', ["b"]),
    ],
)
def test_hooks_that_generate_tests_do_so_for_scenarios(suite: Suite, hook: str, names: list[str]) -> None:
    suite.conftest(
        f"""
        def pytest_generate_tests(metafunc):
            if metafunc.definition.name == "one" and metafunc.definition.get_closest_marker("wide"):
                metafunc.parametrize({hook})

        def pytest_convoprobe_result(item, result):
            log(f"{{item.name}}: {{result.transcript.turns[0].reply.text}}")
        """,
        target="""
@pytest.fixture(scope="session")
def model(request):
    return getattr(request, "param", "plain")

@pytest.fixture(scope="session")
def convoprobe_target(model):
    return lambda message: f"{model} says"
""",
    )
    suite.scenario("one", tags=["wide"])
    suite.scenario("two")
    assert suite.run().ret == 0
    assert sorted(said(suite)) == [*(f"one[{name}]: {name} says" for name in names), "two: plain says"]


def test_parameters_of_our_own_fixture_are_the_targets(suite: Suite) -> None:
    suite.conftest(
        """
        def pytest_generate_tests(metafunc):
            if "convoprobe_target" in metafunc.fixturenames:
                targets = [lambda m: "a says", lambda m: "b says"]
                metafunc.parametrize("convoprobe_target", targets, ids="ab", indirect=True, scope="session")

        def pytest_convoprobe_result(item, result):
            log(f"{item.name}: {result.transcript.turns[0].reply.text}")
        """,
        target="",
    )
    suite.scenario("one")
    suite.run().assert_outcomes(passed=2)
    assert said(suite) == ["one[a]: a says", "one[b]: b says"]


def test_no_item_starts_early_with_the_target_of_another(suite: Suite) -> None:
    """Only some of the items have parameters: pytest makes the target again in the middle of the run."""
    suite.conftest(
        """
        def pytest_generate_tests(metafunc):
            if metafunc.definition.name == "b":
                metafunc.parametrize("model", ["x", "y"], indirect=True)

        def pytest_convoprobe_result(item, result):
            log(f"{item.name}: {result.transcript.turns[0].reply.text}")
        """,
        target=TARGET_OF_MODEL,
    )
    for name in ("a1", "a2", "b", "c1", "c2"):
        suite.scenario(name, sleep=0.05)
    suite.run().assert_outcomes(passed=6)
    kinds = ("start", "end", "taken")
    events = [line.split("::")[-1].split()[0] for line in suite.log if line.startswith(kinds)]
    assert events.index("taken") > max(place for place, name in enumerate(events) if name.startswith("a"))
    assert [line for line in said(suite) if not line.startswith("b")] == [
        f"{name}: plain says" for name in ("a1", "a2", "c1", "c2")
    ]


def test_an_ordinary_test_with_parameters_takes_a_target_from_nobody(suite: Suite) -> None:
    suite.conftest(
        "",
        target=TARGET_OF_MODEL,
    )
    suite.scenario("a")
    suite.scenario("z", sleep=0.05)
    test = '@pytest.mark.parametrize("model", ["x"], indirect=True)\ndef test_b(model): pass\n'
    suite.write("scenarios/test_b.py", "import pytest\n" + test)
    suite.run().assert_outcomes(passed=3)
    events = [line.split("::")[-1] for line in suite.log if line.startswith(("start", "taken"))]
    assert events == ["a 1", "taken away", "taken away", "z 1", "taken away"]


def test_reports_and_gates_tell_them_apart(suite: Suite) -> None:
    suite.conftest("", target=MATRIX)
    suite.scenario("one")
    suite.run().assert_outcomes(passed=2)
    result = suite.run(
        "--junitxml=junit.xml", "--convoprobe-html=page.html", "--convoprobe-baseline=latest", "-k", "large"
    )
    result.assert_outcomes(passed=1, deselected=1)
    xml = (suite.path / "junit.xml").read_text("utf-8")
    assert 'name="one[large]"' in xml
    page = (suite.path / "page.html").read_text("utf-8")
    assert f'id="{scenario_anchor("scenarios/one.yaml::one[large]")}"' in page


def test_autouse_fixtures_with_parameters_multiply_scenarios(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture(autouse=True, params=["sqlite", "postgres::15"])
        def database(request):
            log(f"database {request.param}")
        """)
    suite.scenario("one")
    found = ids(suite.run("--collect-only", "-q"))
    assert found == ["scenarios/one.yaml::one[sqlite]", "scenarios/one.yaml::one[postgres:15]"]
    suite.run().assert_outcomes(passed=2)
    assert [line for line in suite.log if line.startswith("database")] == [
        "database sqlite",
        "database postgres::15",
    ]


def test_parameters_and_names_that_end_alike_have_distinct_ids(suite: Suite) -> None:
    suite.conftest("""
        def pytest_generate_tests(metafunc):
            if metafunc.definition.name == "one":
                metafunc.parametrize("convoprobe_target", [str, repr], ids=["a::2", "a:2"])
        """)
    suite.scenario("one", file="scenarios/a.yaml")
    suite.scenario("one[a:2]", file="scenarios/a.yaml")
    found = ids(suite.run("--collect-only", "-q"))
    assert len(set(found)) == 3


def test_no_parameters_at_all_are_skipped_as_pytest_does(suite: Suite) -> None:
    suite.conftest("", target=MATRIX.replace('["small", "large"]', "[]"))
    suite.scenario("one")
    suite.run().assert_outcomes(skipped=1)


@pytest.mark.parametrize("name", ["pytest_generate_tests", "setup_module", "__name__", "__class__", "test_x"])
def test_names_that_mean_something_in_a_module(suite: Suite, name: str) -> None:
    suite.conftest("", target=MATRIX)
    suite.scenario(name, file="scenarios/a.yaml")
    suite.run().assert_outcomes(passed=2)
    assert said(suite) == [f"{name}[{model}]: {model} says hello" for model in ("small", "large")]


def test_records_say_which_target_it_was(suite: Suite) -> None:
    suite.conftest("", target=MATRIX)
    suite.scenario("one", outcome="failed")
    suite.scenario("not yet", skip="later")
    suite.run().assert_outcomes(failed=2, skipped=2)
    assert names_of_targets(suite) == {
        (f"scenarios/{name}.yaml::{name}[{model}]", model, f"scenarios/{name}.yaml::{name}")
        for name in ("one", "not yet")
        for model in ("large", "small")
    }


def test_records_name_the_parameters_of_what_the_target_is_made_of(suite: Suite) -> None:
    params = TARGET_OF_MODEL.replace('fixture(scope="session")', 'fixture(scope="session", params="xy")', 1)
    suite.conftest("", target=params)
    suite.scenario("one")
    suite.run().assert_outcomes(passed=2)
    assert {target for _, target, _ in names_of_targets(suite)} == {"x", "y"}


def test_parameters_of_other_fixtures_are_no_targets(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture(autouse=True, params=["sqlite", "postgres"])
        def database(request):
            pass
        """)
    suite.scenario("one")
    suite.run().assert_outcomes(passed=2)
    assert {(target, base) for _, target, base in names_of_targets(suite)} == {(None, None)}


def test_a_test_with_a_parametrised_target_says_which_it_was(suite: Suite) -> None:
    suite.conftest("", target=MATRIX)
    suite.scenario("one")
    suite.write(
        "test_own.py",
        """
        def test_own(convoprobe, convoprobe_target):
            assert convoprobe.run("scenarios/one.yaml").base_id == "test_own.py::test_own::one"
            assert not convoprobe.run("scenarios/one.yaml", target=lambda said: said).target_name
        """,
    )
    suite.run("test_own.py").assert_outcomes(passed=2)
    assert names_of_targets(suite) == {
        *(
            (f"test_own.py::test_own[{name}]::one", name, "test_own.py::test_own::one")
            for name in ("small", "large")
        ),
        *((f"test_own.py::test_own[{name}]::one[2]", None, None) for name in ("small", "large")),
    }
