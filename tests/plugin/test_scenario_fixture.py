"""Data for the agent: what the project learns of the scenario that is to run."""

from __future__ import annotations

import pytest

from .suite import Suite

SEEDED = """
CUSTOMERS = {}

@pytest.fixture
def convoprobe_target(convoprobe_scenario):
    customer = convoprobe_scenario.metadata["customer"]
    log(f"seeded {customer}")
    CUSTOMERS[customer] = ["order of " + customer]
    yield lambda message: CUSTOMERS[customer].pop()
    del CUSTOMERS[customer]
    log(f"gone {customer}")

def pytest_convoprobe_result(item, result):
    log(f"{item.name}: {result.transcript.turns[0].reply.text}")
"""


def two(suite: Suite, target: str = SEEDED) -> None:
    suite.conftest("", target=target)
    for name in ("anna", "bert"):
        suite.scenario(name, file="scenarios/a.yaml", customer=name)


def said(suite: Suite) -> list[str]:
    return [line for line in suite.log if ": order of" in line]


@pytest.mark.parametrize("words", [(), ("-n", "2")])
def test_a_customer_is_seeded_for_each_trial(suite: Suite, words: tuple[str, ...]) -> None:
    two(suite)
    plugins = ("xdist",) if words else ()
    suite.run_process("--convoprobe-trials=2", *words, plugins=plugins).assert_outcomes(passed=4)
    assert sorted(said(suite)) == [
        f"{name}{trial}: order of {name}" for name in ("anna", "bert") for trial in ("", "[trial-2]")
    ]
    assert sorted(line for line in suite.log if line.startswith(("seeded", "gone"))) == [
        *["gone anna"] * 2,
        *["gone bert"] * 2,
        *["seeded anna"] * 2,
        *["seeded bert"] * 2,
    ]


def test_nothing_is_talked_about_before_it_is_seeded(suite: Suite) -> None:
    """An autouse fixture prepares the world of a target that lives as long as the session."""
    two(
        suite,
        """
CURRENT = []

@pytest.fixture(autouse=True)
def customer(convoprobe_scenario):
    CURRENT.append(convoprobe_scenario.metadata["customer"])
    yield
    CURRENT.clear()

@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "order of " + "+".join(CURRENT)

def pytest_convoprobe_result(item, result):
    log(f"{item.name}: {result.transcript.turns[0].reply.text}")
""",
    )
    suite.run().assert_outcomes(passed=2)
    assert said(suite) == ["anna: order of anna", "bert: order of bert"]


def test_a_gate_does_not_talk_twice_with_what_was_seeded_once(suite: Suite) -> None:
    two(suite)
    suite.scenario("carl", file="scenarios/a.yaml", customer="carl", outcomes=["failed", "passed"])
    suite.gate = "confirm"
    suite.run().assert_outcomes(passed=2, failed=1)
    assert len(said(suite)) == 3


def test_targets_of_settings_see_it_by_their_context(suite: Suite) -> None:
    suite.conftest(
        """
        def pytest_convoprobe_result(item, result):
            log(f"{item.name}: {result.transcript.turns[0].reply.text}")
        """,
        target="",
    )
    suite.write(
        "agents.py",
        """
        class Shop:
            def __init__(self, context):
                self.customer = context.metadata["customer"]

            def __call__(self, message):
                return "order of " + self.customer

        def make(*, context):
            return Shop(context)
        """,
    )
    for name in ("anna", "bert"):
        suite.scenario(name, file="scenarios/a.yaml", customer=name)
    suite.write(
        "convoprobe.yaml",
        "targets:\n  kind: {type: python, object: 'agents.py:Shop'}\n"
        "  factory: {type: python, object: 'agents.py:make'}\n",
    )
    suite.run().assert_outcomes(passed=4)
    assert sorted(said(suite)) == [
        f"{name}[{target}]: order of {name}" for name in ("anna", "bert") for target in ("factory", "kind")
    ]


def test_the_item_has_it_too(suite: Suite) -> None:
    two(
        suite,
        """
@pytest.fixture
def convoprobe_target(request):
    name = request.node.convoprobe_scenario.name
    return lambda message: "order of " + name

def pytest_convoprobe_result(item, result):
    log(f"{item.name}: {result.transcript.turns[0].reply.text}")
""",
    )
    suite.run().assert_outcomes(passed=2)
    assert said(suite) == ["anna: order of anna", "bert: order of bert"]


def test_an_ordinary_test_has_none(suite: Suite) -> None:
    two(suite)
    suite.write("test_own.py", "def test_own(convoprobe_scenario): pass\n")
    result = suite.run("test_own.py")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["test_own.py::test_own is not an item of a scenario file*"])


def test_a_fixture_of_the_session_cannot_ask_for_it(suite: Suite) -> None:
    two(suite, SEEDED.replace("@pytest.fixture", '@pytest.fixture(scope="session")'))
    result = suite.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*ScopeMismatch*convoprobe_scenario*"])
