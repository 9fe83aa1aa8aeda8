"""xdist's `-n`: scenarios are dealt to the workers at the beginning, which look as far ahead as they may."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest
from xdist import scheduler

from pytest_convoprobe.plugin.dealt_items import CHANNEL
from pytest_convoprobe.plugin.xdist_scheduler import LoadScheduling, connect, deal
from tests.support.chat_server import ChatServer

from .suite import TARGET, Suite
from .test_storing import running, the_run, wait_for

XDIST = ["xdist.plugin"]


def scenarios(suite: Suite, count: int, **of_some: dict[str, Any]) -> None:
    """Scenarios s0, s1… in one file; of two workers, the first gets those with even numbers."""
    for number in range(count):
        suite.scenario(f"s{number}", file="scenarios/all.yaml", **of_some.get(f"s{number}", {}))


def end_of(name: str) -> str:
    return f"end scenarios/all.yaml::{name} "


def named(suite: Suite, word: str) -> set[str]:
    """The scenarios in lines of the log that begin with a word."""
    lines = (line for line in suite.log if line.startswith(f"{word} "))
    return {line.split("::")[1].split()[0] for line in lines}


# How far workers look ahead


def test_each_worker_talks_as_far_ahead_as_its_scenarios_go(suite: Suite) -> None:
    scenarios(suite, 8, s0={"until": end_of("s6")}, s1={"until": end_of("s7")})
    suite.run_process("-n2", plugins=XDIST).assert_outcomes(passed=8)
    log = suite.log
    assert log.index("end scenarios/all.yaml::s6 1") < log.index("end scenarios/all.yaml::s0 1")
    assert sorted(suite.started()) == [f"s{number}" for number in range(8)]


class PatientServer(ChatServer):
    """Answers nobody before `together` have asked at once, as long as that may take."""

    def __init__(self, together: int) -> None:
        super().__init__(latency=0.05)
        self._together = together

    async def _answer(self, *arguments: Any) -> bool:
        deadline = time.monotonic() + 30
        while self.peak < self._together and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        return await super()._answer(*arguments)


@pytest.mark.parametrize("workers", ["-n2", "-n3"])
def test_the_workers_together_talk_as_much_at_once_as_one_process_may(suite: Suite, workers: str) -> None:
    with PatientServer(9) as server:
        suite.write("conftest.py", "import pytest\n" + TARGET)
        # The first calls with a schema would go alone.
        more = "api_key: sk-none-of-it, structured_output: text"
        settings = f"llm: {{model: openai/fake, api_base: '{server.base_url}', {more}}}\n"
        suite.write("convoprobe.yaml", settings)
        scenarios(suite, 24)
        result = suite.run_process(workers, "--convoprobe-concurrency=9", plugins=XDIST)
    result.assert_outcomes(passed=24)
    assert server.peak == 9


def test_trials_and_gated_scenarios_run_ahead_too(suite: Suite) -> None:
    scenarios(suite, 2, s0={"until": "end scenarios/all.yaml::s1 3"})
    suite.run_process("-n1", "--convoprobe-trials=3", plugins=XDIST).assert_outcomes(passed=6)
    suite.gate = "confirm"
    suite.run_process("-n1", plugins=XDIST).assert_outcomes(passed=2)


def test_scenarios_of_a_worker_stay_in_the_order_that_others_give_them(suite: Suite) -> None:
    suite.conftest("def pytest_collection_modifyitems(items): items.reverse()")
    scenarios(suite, 6)
    suite.run_process("-n1", "--convoprobe-concurrency=1", plugins=XDIST).assert_outcomes(passed=6)
    assert suite.started() == [f"s{number}" for number in reversed(range(6))]


def test_a_shuffled_suite_is_dealt_in_the_shuffled_order(suite: Suite) -> None:
    scenarios(suite, 12)
    plugins = ["xdist", "pytest_randomly"]  # by this name, the other plug-in finds it
    orders = []
    for seed in (1, 2, 1):
        words = ("-n1", "--convoprobe-concurrency=1", "-p", "no:cacheprovider", f"--randomly-seed={seed}")
        suite.run_process(*words, plugins=plugins).assert_outcomes(passed=12)
        orders.append(suite.started())
        (suite.path / "talk.log").unlink()
    assert orders[0] == orders[2] != orders[1]


def test_reruns_and_session_fixtures_are_as_before(suite: Suite) -> None:
    suite.conftest("""
        @pytest.fixture(scope="session", autouse=True)
        def server():
            log("up")
            yield
            log("down")
        """)
    scenarios(suite, 6, s1={"outcome": "failed", "until_run": 1})
    plugins = [*XDIST, "pytest_rerunfailures"]
    suite.run_process("-n2", "--reruns=1", plugins=plugins).assert_outcomes(passed=6)
    assert suite.started().count("s1") == 2
    assert (suite.log.count("up"), suite.log.count("down")) == (2, 2)


def test_only_what_failed_last_runs_again(suite: Suite) -> None:
    scenarios(suite, 6, s1={"outcome": "failed"}, s4={"outcome": "failed"})
    suite.run_process("-n2", plugins=XDIST).assert_outcomes(passed=4, failed=2)
    (suite.path / "talk.log").unlink()
    suite.run_process("-n2", "--lf", plugins=XDIST).assert_outcomes(failed=2)
    assert sorted(suite.started()) == ["s1", "s4"]


MODULE = """
@pytest.fixture(scope="module", autouse=True)
def server(request):
    log(f"up {request.node.name}")
"""


@pytest.mark.parametrize("words", [["--dist=load"], ["--maxschedchunk=1000"]], ids=" ".join)
def test_scenarios_that_cannot_run_ahead_are_scheduled_with_their_neighbours(
    suite: Suite, words: list[str]
) -> None:
    """The first eight items go to one worker: dealt in turn, both would set up the fixtures of every file.

    The second words: that is what xdist's own scheduler does.
    """
    suite.conftest(MODULE)
    for file in range(8):
        for number in range(8):
            suite.scenario(f"s{file}{number}", file=f"scenarios/f{file}.yaml")
    suite.run_process("-n2", *words, plugins=XDIST).assert_outcomes(passed=64)
    ups = [line for line in suite.log if line.startswith("up ") and ("f0" in line or "f1" in line)]
    assert len(ups) == 2, ups
    assert len(suite.started()) == 64


# Other tests


def test_tests_between_scenarios_run_once_and_in_any_worker(suite: Suite) -> None:
    scenarios(suite, 8, s0={"until": end_of("s6")})
    body = "import pytest\n@pytest.mark.parametrize('number', range(40))\ndef test_it(number): pass\n"
    suite.write("test_a.py", body)
    suite.write("test_z.py", body)
    suite.write(
        "test_own.py", "def test_own(convoprobe):\n    convoprobe.run('single.yml').assert_passed()\n"
    )
    suite.scenario("single", file="single.yml")
    result = suite.run_process("-n2", "-v", plugins=XDIST)
    result.assert_outcomes(passed=89)
    ran = re.findall(r"PASSED (\S+)", result.stdout.str())
    assert len(ran) == len(set(ran)) == 89


def test_a_suite_without_scenarios_has_xdists_own_schedule() -> None:
    ids = [f"test_a.py::test_{number}" for number in range(101)]
    for chunk in (None, 3):
        ours, theirs = sent(LoadScheduling, ids, chunk), sent(scheduler.LoadScheduling, ids, chunk)
        assert ours == theirs
        assert sorted(index for hand in ours for index in hand) == list(range(101))


def test_the_name_of_the_scheduler_is_xdists_with_and_without_scenarios(suite: Suite) -> None:
    suite.write("test_a.py", "def test_a(): pass")
    suite.run_process("-n1", "-v", plugins=XDIST).stdout.fnmatch_lines(
        ["scheduling tests via LoadScheduling"]
    )
    scenarios(suite, 1)
    suite.run_process("-n1", "-v", plugins=XDIST).stdout.fnmatch_lines(
        ["scheduling tests via LoadScheduling"]
    )


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (["--dist=load"], "pytest_convoprobe.plugin.xdist_scheduler"),
        (["--dist=worksteal"], "xdist.scheduler.worksteal"),
        (["--dist=loadscope"], "xdist.scheduler.loadscope"),
        (["--dist=loadfile"], "xdist.scheduler.loadfile"),
        (["--dist=loadgroup"], "xdist.scheduler.loadgroup"),
        (["--dist=each"], "xdist.scheduler.each"),
        (["--maxschedchunk=1"], "xdist.scheduler.load"),
        (["-n0"], ""),
    ],
)
def test_other_ways_to_distribute_are_xdists_own(suite: Suite, words: Sequence[str], module: str) -> None:
    suite.conftest("""
        def pytest_sessionfinish(session):
            running = session.config.pluginmanager.get_plugin("dsession")
            if running is not None:
                log(f"scheduler {type(running.sched).__module__}")
        """)
    scenarios(suite, 8)
    times = 2 if "each" in words[0] else 1
    suite.run_process("-n2", *words, plugins=XDIST).assert_outcomes(passed=8 * times)
    used = [line.removeprefix("scheduler ") for line in suite.log if line.startswith("scheduler ")]
    assert used == ([module] if module else [])
    assert len(suite.started()) == 8 * times


def test_the_scheduler_of_a_project_comes_first_and_workers_run_only_what_they_know(suite: Suite) -> None:
    suite.conftest("""
        from xdist.scheduler import LoadScheduling
        class OneWorker(LoadScheduling):
            def _send_tests(self, node, num):
                log(f"sends {num}")
                super()._send_tests(node, num)
        def pytest_xdist_make_scheduler(config, log):
            return OneWorker(config, log)
        """)
    scenarios(suite, 8, s0={"until": end_of("s1")}, s2={"sleep": 0.3})
    suite.run_process("-n1", plugins=XDIST).assert_outcomes(passed=8)
    assert "sends 2" in suite.log
    log = suite.log
    assert log.index("end scenarios/all.yaml::s0 1") < log.index("start scenarios/all.yaml::s2 1")


# Ending early


def test_after_x_other_workers_end_with_their_present_scenario(suite: Suite) -> None:
    """The first worker fails while both are as far ahead as they can be; what is ahead ends then."""
    cut = {"sleep": 100}
    scenarios(
        suite,
        10,
        s0={"outcome": "failed", "until": "start scenarios/all.yaml::s9"},
        s1={"until": "cancelled scenarios/all.yaml::s9"},
        **{f"s{number}": cut for number in range(2, 10)},
    )
    result = suite.run_process("-n2", "-x", plugins=XDIST)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])
    assert {line.split("::")[1] for line in suite.log if line.startswith("cancelled")} >= {
        "s3",
        "s5",
        "s7",
        "s9",
    }


def test_nothing_starts_in_other_workers_once_x_has_stopped_the_session(suite: Suite) -> None:
    scenarios(
        suite,
        40,
        s0={"outcome": "failed", "until": "start scenarios/all.yaml::s3"},
        s1={"until": "cancelled scenarios/all.yaml::s3"},
        **{f"s{number}": {"sleep": 100} for number in range(2, 40)},
    )
    suite.run_process("-n2", "-x", "--convoprobe-concurrency=4", plugins=XDIST).assert_outcomes(
        failed=1, passed=1
    )
    others = {f"s{number}" for number in range(1, 40, 2)}
    assert named(suite, "start") & others == {"s1", "s3"}


def test_maxfail_counts_the_failures_of_all_workers(suite: Suite) -> None:
    """Neither worker has two of its own, so only the controller knows. A present scenario may end."""
    last = {"until": "cancelled scenarios/all.yaml::s7"}
    scenarios(
        suite,
        8,
        s0={"outcome": "failed"},
        s1={"outcome": "failed", "until": "start scenarios/all.yaml::s7"},
        s2=last,
        s3=last,
        **{f"s{number}": {"sleep": 100} for number in range(4, 8)},
    )
    result = suite.run_process("-n2", "--maxfail=2", plugins=XDIST)
    assert result.parseoutcomes()["failed"] == 2
    assert result.parseoutcomes().get("passed", 0) <= 2
    assert not any(line.startswith(tuple(end_of(f"s{n}") for n in range(4, 8))) for line in suite.log)


def test_without_maxfail_failures_stop_nothing(suite: Suite) -> None:
    scenarios(suite, 12, **{f"s{number}": {"outcome": "failed"} for number in range(0, 12, 3)})
    suite.run_process("-n2", plugins=XDIST).assert_outcomes(passed=8, failed=4)


# Workers that crash


def test_a_worker_that_is_killed_loses_only_the_scenario_in_its_turn(suite: Suite) -> None:
    suite.conftest("""
        import os
        def pytest_sessionstart(session):
            if hasattr(session.config, "workerinput"):
                log(f"worker {session.config.workerinput['workerid']} {os.getpid()}")
        """)
    scenarios(suite, 12, s0={"until": "go on"}, s1={"until": "go on"})
    with running(suite, "-p", "xdist.plugin", "-n2", "-rA") as process:
        wait_for(lambda: {"s10", "s11"} <= named(suite, "end"), process)
        pid = next(int(line.split()[-1]) for line in suite.log if line.startswith("worker gw0 "))
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: any(line.startswith("worker gw2 ") for line in suite.log), process)
        with open(suite.path / "talk.log", "a") as log:
            log.write("go on\n")
        assert process.wait(60) == 1
    output = (suite.path / "output.txt").read_text()
    assert re.findall(r"^FAILED scenarios/all.yaml::(\w+)", output, re.MULTILINE) == ["s0"]
    assert "worker 'gw0' crashed while running 'scenarios/all.yaml::s0'" in output
    assert set(re.findall(r"^PASSED scenarios/all.yaml::(\w+)", output, re.MULTILINE)) == {
        f"s{n}" for n in range(1, 12)
    }
    assert the_run(suite).info.counts == {"passed": 11, "error": 1}


def test_after_a_crash_the_next_one_is_reported_on_the_scenario_that_causes_it(suite: Suite) -> None:
    """Nobody knows which conversation ended the first worker. The next worker runs them one by one."""
    suite.conftest(
        "",
        target="""
import os

@pytest.fixture(scope="session")
def convoprobe_target():
    return lambda message: "echo"

def pytest_convoprobe_settings(item):
    if item.name == "s6":
        os._exit(1)
""",
    )
    scenarios(suite, 10, s0={"until": "never"})
    result = suite.run_process("-n1", plugins=XDIST)
    result.assert_outcomes(failed=2, passed=8)
    blamed = re.findall(r"^FAILED scenarios/all.yaml::(s\d)", result.stdout.str(), re.MULTILINE)
    assert sorted(blamed) == ["s0", "s6"]
    result.stdout.fnmatch_lines(
        [
            "worker 'gw0' crashed while running 'scenarios/all.yaml::s0'; another scenario that *",
            "worker 'gw1' crashed while running 'scenarios/all.yaml::s6'",
        ]
    )


CRASHES = "import os\ndef test_crash(): os._exit(1)\n"


@pytest.mark.parametrize("file", ["a/test_it.py", "z/test_it.py"])
def test_a_crash_of_a_test_while_no_scenario_talks_is_its_own(suite: Suite, file: str) -> None:
    """Before the first scenario, and after the last one."""
    scenarios(suite, 2)
    suite.write(file, CRASHES + "def test_more(): pass\n")
    result = suite.run_process("-n1", plugins=XDIST)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines([f"worker 'gw0' crashed while running '{file}::test_crash'"])
    result.stdout.no_fnmatch_line("*another scenario*")


def test_a_crash_of_a_test_while_scenarios_talk_ahead_may_be_theirs(suite: Suite) -> None:
    suite.scenario("first", file="scenarios/a.yaml")
    suite.write("scenarios/test_between.py", CRASHES)
    suite.scenario("last", file="scenarios/z.yaml")
    result = suite.run_process("-n1", plugins=XDIST)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["worker 'gw0' crashed *::test_crash'; another scenario that *"])


def test_a_worker_that_crashes_before_the_scenarios_are_dealt_is_replaced(suite: Suite) -> None:
    suite.conftest("""
        import os
        def pytest_collection_modifyitems(config):
            if getattr(config, "workerinput", {}).get("workerid") == "gw0":
                os._exit(1)
        """)
    scenarios(suite, 8, s0={"until": end_of("s6")})
    suite.run_process("-n2", plugins=XDIST).assert_outcomes(passed=8)


# The scheduler alone


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("scenario_count", [1, 2, 7, 50])
@pytest.mark.parametrize("test_count", [0, 1, 5, 200])
def test_dealing_gives_each_scenario_to_one_worker_in_order_and_evenly(
    workers: int, scenario_count: int, test_count: int
) -> None:
    items = list(range(scenario_count + test_count))
    chosen = items[1::3][:scenario_count]
    chosen = sorted({*chosen, *items[: scenario_count - len(chosen)]})[:scenario_count]
    tests = sorted(set(items) - set(chosen))
    hands, rest = deal(chosen, tests, workers)
    assert sorted([*chain(*hands), *rest]) == items
    assert all(hand == sorted(hand) for hand in hands)
    shares = [len(set(hand) & set(chosen)) for hand in hands]
    assert max(shares) - min(shares) <= 1
    assert not set(rest) & set(chosen)
    if rest:  # a worker that has only one item waits with it for another one
        assert all(len(hand) >= 2 for hand in hands)


class Channel:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def setcallback(self, callback: Callable[[Any], object]) -> None:
        self.hears = callback

    def send(self, message: Any) -> None:
        self.sent.append(message)


class Node:
    """What a scheduler sees of a worker. Its items take no time."""

    def __init__(self, config: Any, name: str) -> None:
        self.config, self.workerinput = config, {}
        self.gateway = SimpleNamespace(id=name, newchannel=Channel)
        self.hand: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.hand.extend(indices)

    def shutdown(self) -> None:
        self.shutting_down = True


def sent(kind: Any, ids: list[str], chunk: int | None, announced: Sequence[int] = ()) -> list[list[int]]:
    """The items that each of three workers gets until none is left, all as fast as each other."""
    options = {"tx": ["3*popen"], "maxschedchunk": chunk}
    config: Any = SimpleNamespace(
        getvalue=options.get,
        getoption=options.get,
        stash=pytest.Stash(),
        pluginmanager=SimpleNamespace(get_plugin=lambda name: None),
    )
    nodes = [Node(config, f"gw{place}") for place in range(3)]
    made = kind(config, None)
    for node in nodes:
        connect(node)
        node.workerinput[CHANNEL].hears(list(announced))
        made.add_node(node)
    for node in nodes:
        made.add_node_collection(node, ids)
    made.schedule()
    done = {node: 0 for node in nodes}
    while any(done[node] < len(node.hand) for node in nodes):
        for node in nodes:
            if done[node] < len(node.hand):
                done[node] += 1
                made.mark_test_complete(node, node.hand[done[node] - 1], 0.01)
    assert made.tests_finished
    return [node.hand for node in nodes]


def test_tests_beside_scenarios_are_handed_out_as_workers_ask_for_them() -> None:
    ids = [f"item {number}" for number in range(100)]
    hands = sent(LoadScheduling, ids, None, announced=range(40, 70))
    assert sorted(chain(*hands)) == list(range(100))
    assert [[place for place in hand if 40 <= place < 70] for hand in hands] == [
        list(range(40 + first, 70, 3)) for first in range(3)
    ]
