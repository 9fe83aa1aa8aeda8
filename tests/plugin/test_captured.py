"""Whose output is shown where conversations run ahead of their turn."""

from __future__ import annotations

from .suite import Suite

TARGET = """
import logging

@pytest.fixture(scope="session")
def convoprobe_target():
    def start(message):
        print("printed by an agent")
        logging.getLogger("shop").warning("logged by an agent")
        return "echo " + message
    return start
"""
WORD = "What was printed and logged is not shown: other conversations ran at the same time"


def test_a_scenario_alone_shows_its_own_output(suite: Suite) -> None:
    suite.conftest("", target=TARGET)
    suite.scenario("bad", outcome="failed")
    shown = suite.run().stdout.str()
    assert "printed by an agent" in shown
    assert "logged by an agent" in shown
    assert WORD not in shown


def test_output_of_others_is_never_shown_under_a_scenario(suite: Suite) -> None:
    """The first item is being set up while all three talk."""
    suite.conftest("", target=TARGET)
    for name in ("one", "two", "three"):
        suite.scenario(name, file="scenarios/all.yaml", outcome="failed", sleep=0.05)
    shown = suite.run("-rA").stdout.str()
    assert "Captured" not in shown
    assert "by an agent" not in shown
    assert WORD in shown


def test_the_one_that_failed_says_that_its_output_is_left_out(suite: Suite) -> None:
    """All three talk while the first is being set up: of the others nothing is captured."""
    suite.conftest("", target=TARGET)
    suite.scenario("one", file="scenarios/all.yaml")
    suite.scenario("two", file="scenarios/all.yaml")
    suite.scenario("bad", file="scenarios/all.yaml", outcome="failed")
    assert suite.run().stdout.str().count(WORD) == 1


def test_an_ordinary_test_hears_that_conversations_ran(suite: Suite) -> None:
    suite.conftest("", target=TARGET)
    suite.scenario("one")
    suite.scenario("two", until="over")
    suite.write(
        "test_it.py",
        """
        def test_it():
            print("its own")
            with open("talk.log", "a") as log:
                assert not log.write("over\\n")
        """,
    )
    shown = suite.run("scenarios/one.yaml", "test_it.py", "scenarios/two.yaml").stdout
    shown.fnmatch_lines(["*its own*", "Conversations of scenarios ran while this test did:*"])
