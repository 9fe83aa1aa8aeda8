"""Scenarios whose own checks look at a state that a fixture gives: `convoprobe_state`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.warm_process import run

AGENT = """
import os, sqlite3

class Agent:
    def send(self, message):
        with sqlite3.connect(os.environ["SHOP"]) as shop:
            shop.execute("insert into orders values (?)", (message,))
        return "Done"
"""
CHECKS = """
import time

def order_is_there(state, scenario):
    wanted = [(scenario.synthetic_user.initial_query,)]
    time.sleep(0.05)
    assert state.execute("select * from orders").fetchall() == wanted

async def agent_is_there(agent):
    return type(agent).__name__ == "Agent"

def nothing_is_asked(transcript):
    return True
"""
CONFTEST = """
import os, sqlite3
import pytest

@pytest.fixture{scope}
def convoprobe_state(tmp_path_factory):
    file = tmp_path_factory.mktemp("shop") / "shop.db"
    os.environ["SHOP"] = str(file)
    shop = sqlite3.connect(file, check_same_thread=False)
    shop.execute("create table orders (number text)")
    shop.commit()
    print("opened", flush=True)
    yield shop
    shop.close()
    print("closed", flush=True)
"""


def scenario(name: str, check: str = "order_is_there") -> dict[str, object]:
    user = {"persona": "A customer", "initial_query": f"Order {name}", "max_turns": 1}
    return {
        "name": name,
        "description": "An order is made.",
        "synthetic_user": user,
        "evaluation": {"checks": [f"checks.py:{check}", "checks.py:agent_is_there"]},
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "convoprobe.yaml").write_text("target: {type: python, object: 'agent.py:Agent'}\n")
    (tmp_path / "conftest.py").write_text(CONFTEST.replace("{scope}", ""))
    text = yaml.safe_dump_all([scenario(name) for name in ("one", "two", "three")])
    (tmp_path / "orders.scenario.yaml").write_text(text)
    return tmp_path


def pytest_on(folder: Path, *words: str) -> str:
    done = run("pytest", "-c", "/dev/null", "--rootdir=.", "-s", *words, cwd=folder)
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--convoprobe-gate=confirm",),
        ("--convoprobe-gate=each", "--convoprobe-trials=2"),
        ("--convoprobe-gate=paired",),
        ("-n2",),
    ],
)
def test_each_conversation_has_a_state_of_its_own(project: Path, more: tuple[str, ...]) -> None:
    output = pytest_on(project, *more)
    count = 6 if "--convoprobe-trials=2" in more else 3
    assert f"{count} passed" in output, output
    if more != ("-n2",):
        assert output.count("opened") == output.count("closed") == count


def test_a_red_one_says_what_is_in_the_state(project: Path) -> None:
    (project / "agent.py").write_text(AGENT.replace("(message,)", '("another",)'))
    output = pytest_on(project, "-k", "one")
    assert "1 failed" in output, output
    assert "check checks.py:order_is_there" in output
    assert "decided by one conversation: what has function scope is made once (convoprobe_state)" in output


def test_a_state_of_the_session_is_shared_by_whoever_wrote_it(project: Path) -> None:
    """Its conversations still come one by one: the second sees what the first has left."""
    (project / "conftest.py").write_text(CONFTEST.replace("{scope}", '(scope="session")'))
    output = pytest_on(project, "-p", "no:randomly")
    assert "1 passed" in output, output
    assert "2 failed" in output


def test_only_those_with_checks_have_the_fixture(project: Path) -> None:
    plain = scenario("plain")
    plain["evaluation"] = {"efficiency": {"max_conversation_turns": 1}}
    (project / "orders.scenario.yaml").write_text(yaml.safe_dump(plain))
    (project / "agent.py").write_text("def answer(message): return 'Done'\n")
    (project / "convoprobe.yaml").write_text("target: {type: python, object: 'agent.py:answer'}\n")
    output = pytest_on(project)
    assert "1 passed" in output, output
    assert "opened" not in output


CARELESS_OF_OTHERS = """
import os, sqlite3, time

class Agent:
    def send(self, message):
        time.sleep(0.4 if "later" in message else 0)
        if "SHOP" in os.environ:
            with sqlite3.connect(os.environ["SHOP"]) as shop:
                shop.execute("insert into orders values (?)", (message,))
        return "Done"
"""


@pytest.mark.parametrize("names", ["one late", "late one later", "one late two later"])
def test_no_other_conversation_leaves_traces_in_it(project: Path, names: str) -> None:
    """All agents of a process write into the same shop: the one that the environment names at that time."""
    (project / "agent.py").write_text(CARELESS_OF_OTHERS)
    (project / "checks.py").write_text(CHECKS.replace("0.05", "0.8"))
    teardown = '    del os.environ["SHOP"]\n'
    (project / "conftest.py").write_text(CONFTEST.replace("{scope}", "") + teardown)
    mixed = [scenario(name) for name in names.split()]
    for one in mixed:
        if "late" in str(one["name"]):
            one["evaluation"] = {"efficiency": {"max_conversation_turns": 1}}
    (project / "orders.scenario.yaml").write_text(yaml.safe_dump_all(mixed))
    output = pytest_on(project, "-p", "no:randomly")
    assert f"{len(mixed)} passed" in output, output


def test_others_still_talk_at_once_when_the_state_is_gone(project: Path) -> None:
    """Four conversations after it wait for one another, which only such can that run at the same time."""
    (project / "agent.py").write_text("""
import threading
ALL = threading.Barrier(4)
class Agent:
    def send(self, message):
        if "late" in message:
            ALL.wait(20)
        return "Done"
""")
    mixed = [scenario("one", "nothing_is_asked"), *(scenario("late") for _ in range(4))]
    for one in mixed[1:]:
        one["evaluation"] = {"efficiency": {"max_conversation_turns": 1}}
    (project / "orders.scenario.yaml").write_text(yaml.safe_dump_all(mixed))
    assert "5 passed" in pytest_on(project, "-p", "no:randomly")


def test_without_a_fixture_the_advice_names_it(project: Path) -> None:
    (project / "conftest.py").unlink()
    output = pytest_on(project, "-k", "one")
    assert "1 error" in output
    assert "asks for `state`, and nothing gives one: return it from a fixture" in " ".join(output.split())


def test_the_default_state_is_nothing_and_needs_no_fixture(project: Path) -> None:
    (project / "conftest.py").unlink()
    (project / "agent.py").write_text("class Agent:\n    def send(self, message): return 'Done'\n")
    plain = [scenario(name, "nothing_is_asked") for name in ("one", "two")]
    (project / "orders.scenario.yaml").write_text(yaml.safe_dump_all(plain))
    assert "2 passed" in pytest_on(project)


def test_a_state_for_a_conversation_inside_a_test(project: Path) -> None:
    (project / "orders.scenario.yaml").rename(project / "orders.yaml")
    (project / "test_orders.py").write_text("""
import pytest

def test_it(convoprobe, convoprobe_state):
    convoprobe.run("orders.yaml::two", state=convoprobe_state).assert_passed()

@pytest.mark.asyncio
async def test_async(convoprobe, convoprobe_state):
    (await convoprobe.run_async("orders.yaml::one", state=convoprobe_state)).assert_passed()
""")
    assert "2 passed" in pytest_on(project)
