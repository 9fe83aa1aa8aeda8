"""The Ray engine on a real cluster: three nodes on this machine, one processor each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from pytest_convoprobe.benchmark.engines.local import LocalEngine
from pytest_convoprobe.benchmark.engines.ray import RayEngine
from pytest_convoprobe.benchmark.pipeline.pipeline import run_bench
from pytest_convoprobe.benchmark.rows.work import Engine, Item, RowResult, Task
from pytest_convoprobe.errors import Problem, SettingsError
from pytest_convoprobe.settings.model_settings import ModelSettings
from pytest_convoprobe.settings.models import PythonTarget, RunSettings
from tests.conversation.doubles import says
from tests.support.chat_server import ChatServer

from .. import project
from ..cluster_doubles import Spending, Stand, items, refusing, task
from ..parts import SCENARIO, config, conversation, evaluation, found, simulation
from ..parts import task as stage_task

pytestmark = pytest.mark.cluster

REPOSITORY = Path(__file__).resolve().parents[3]
SECRET = "sk-not-for-anybody-0123456789"


async def test_without_ray_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match=r'not installed: pip install "pytest-convoprobe\[ray\]"'):
        await outcomes(RayEngine(), task(tmp_path), items(1))


async def test_a_stage_with_nothing_to_do_needs_no_ray(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert await outcomes(RayEngine(), task(tmp_path), []) == []


async def test_a_ray_client_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="run this on a machine of the cluster, with the address auto"):
        await outcomes(RayEngine("ray://head:10001"), task(tmp_path), items(1))


async def outcomes(engine: Engine, task: Task, items: Iterable[Item]) -> list[RowResult]:
    return [outcome async for outcome in engine.run(task, items)]


def without_tickets(outcomes: Iterable[RowResult]) -> list[str]:
    """In order; the ticket of a row's calls is another one each time."""
    return sorted(str(replace(outcome, ticket="")) for outcome in outcomes)


def made(outcomes: Iterable[RowResult]) -> Counter[int]:
    return Counter(outcome.row["number"] for outcome in outcomes if outcome.row)


def processes(folder: Path) -> list[int]:
    """Those that began an item of a task in this folder."""
    return [int(file.name.removeprefix("began-")) for file in folder.glob("began-*")]


def lives(process: psutil.Process) -> bool:
    """Whether it still does, half a minute later. A zombie is only not yet missed by its parent."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.wait(30)
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster that the host of the engine has begun and is connected to."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
        cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        cluster.add_node(**node)
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
async def engine(cluster: Any) -> AsyncIterator[RayEngine]:
    engine = RayEngine(workers=2, make=Stand)
    yield engine
    await engine.aclose()


@pytest.fixture
async def engine_of_models(cluster: Any) -> AsyncIterator[RayEngine]:
    engine = RayEngine(workers=2)
    yield engine
    await engine.aclose()


async def test_every_item_is_done_once_by_one_of_two_processes(engine: RayEngine, tmp_path: Path) -> None:
    found = await outcomes(engine, task(tmp_path), items(60, processes=2))
    assert made(found) == Counter(range(60))
    assert len({outcome.row["process"] for outcome in found if outcome.row}) == 2


async def test_a_killed_process_loses_no_row(engine: RayEngine, tmp_path: Path) -> None:
    found: list[RowResult] = []
    async for outcome in engine.run(task(tmp_path), items(60)):
        found.append(outcome)
        if len(found) == 10:
            os.kill(processes(tmp_path)[0], signal.SIGKILL)
    assert made(found) == Counter(range(60))


async def test_a_killed_node_loses_no_row(cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    engine = RayEngine(workers=3, make=Stand)
    found: list[RowResult] = []
    async for outcome in engine.run(task(tmp_path, concurrency=12), items(120, seconds=0.1)):
        found.append(outcome)
        if len(found) == 30:
            cluster.remove_node(node, allow_graceful=False)
    await engine.aclose()
    assert made(found) == Counter(range(120))
    assert len(processes(tmp_path)) >= 3


async def test_an_item_that_kills_its_process_again_and_again_fails(
    engine: RayEngine, tmp_path: Path
) -> None:
    (failed,) = await outcomes(engine, task(tmp_path), items(1, deadly=True))
    assert failed.row is None
    assert "3 worker processes were lost while they did this; the last: The actor is dead" in failed.failure


async def test_leaving_early_ends_the_processes(engine: RayEngine, tmp_path: Path) -> None:
    async with aclosing(engine.run(task(tmp_path), items(500))) as coming:
        await coming.__anext__()
    assert processes(tmp_path)
    # Not without letting go of what they had.
    assert {f"closed-{pid}" for pid in processes(tmp_path)} <= {file.name for file in tmp_path.iterdir()}
    started = [psutil.Process(pid) for pid in processes(tmp_path) if psutil.pid_exists(pid)]
    assert not any(map(lives, started))


async def test_a_ray_that_the_host_has_begun_stays(engine: RayEngine, tmp_path: Path) -> None:
    import ray

    await outcomes(engine, task(tmp_path), items(2))
    await engine.aclose()
    assert ray.is_initialized()


async def test_one_budget_is_for_all_processes_and_stages(engine: RayEngine, tmp_path: Path) -> None:
    spender = RayEngine(workers=2, make=Spending)
    limited = task(tmp_path, concurrency=4, max_tokens=1000)
    found = await outcomes(spender, limited, items(400))
    spent = 15 * sum(outcome.row is not None for outcome in found)
    # Each alone might have spent it all. A call of each may come on top.
    assert 1000 <= spent <= 1030
    assert any(outcome.over_budget for outcome in found)
    again = await outcomes(spender, limited, items(8))
    await spender.aclose()
    assert all(outcome.over_budget for outcome in again)


async def test_what_a_worker_says_at_its_start_comes_whole(cluster: Any, tmp_path: Path) -> None:
    engine = RayEngine(workers=2, make=refusing)
    with pytest.raises(SettingsError, match=r"^agents/shop\.py: no such file$") as raised:
        await outcomes(engine, task(tmp_path), items(4))
    await engine.aclose()
    assert raised.value.problems == (Problem("no such file", file="agents/shop.py"),)


async def test_real_models_give_the_rows_of_one_process_within_one_limit(
    cluster: Any, tmp_path: Path
) -> None:
    talks = [evaluation(conversation(id=f"m01_s{number:03}_v01")) for number in range(40)]
    engine = RayEngine(workers=2)
    with ChatServer(lambda _: found(True), latency=0.05) as server:
        model = ModelSettings(model="openai/judge", api_base=server.base_url, api_key=SECRET)
        settings = config(evaluator_model=model)
        evaluating = stage_task("evaluate", settings, root=tmp_path, secrets=(SECRET,))
        local = LocalEngine()
        here = await outcomes(local, evaluating, talks)
        await local.aclose()
        server.requests.clear()
        server.peak = 0
        there = await outcomes(engine, evaluating, talks)
        await engine.aclose()
    assert without_tickets(there) == without_tickets(here)
    assert all(outcome.row for outcome in there)
    # One process alone begins with 16 at once.
    assert 1 < server.peak <= 16
    assert len(server.requests) == 40
    logs = Path(cluster.head_node.get_session_dir_path()) / "logs"
    assert [file for file in logs.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()] == []


class Killer:
    """Answers, and kills a worker process once a target has been asked so many times."""

    def __init__(self, calls: int) -> None:
        self.killed: int | None = None
        self._left = calls

    def __call__(self, body: Mapping[str, Any]) -> str:
        self._left -= body["model"] in ("good", "bad")
        if self._left <= 0 and self.killed is None:
            self.killed = next(workers())
            os.kill(self.killed, signal.SIGKILL)
        return project.answer_body(body)


def workers() -> Iterator[int]:
    """The worker processes of the cluster that this process has begun; Ray names them after their class."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if " ".join(process.cmdline()).startswith("ray::WorkerProcess"):
                yield process.pid


@pytest.fixture(scope="module")
def without_ray(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The files of a benchmark that one process has run."""
    with ChatServer(project.answer_body) as server:
        folder = project.write(tmp_path_factory.mktemp("local"), server.base_url, config=project.PRICED)
        assert asyncio.run(run_bench(project.load(folder), ["all"])).complete
    return project.results(folder)


async def test_a_benchmark_whose_worker_is_killed_comes_to_the_results_of_one_process(
    engine_of_models: RayEngine, without_ray: Mapping[str, bytes], tmp_path: Path
) -> None:
    killer = Killer(6)
    with ChatServer(killer, latency=0.05) as server:
        folder = project.write(tmp_path, server.base_url, config=project.PRICED)
        report = await run_bench(project.load(folder), ["all"], engine=engine_of_models)
    assert report.complete
    assert killer.killed is not None
    found, expected = project.results(folder), dict(without_ray)
    cost, least = (json.loads(files.pop("cost.json"))["total"] for files in (found, expected))
    assert cost["calls"] >= least["calls"]
    assert found == expected
    assert set(Counter(rows_made(folder)).values()) == {1}


def rows_made(folder: Path) -> Iterator[tuple[Any, ...]]:
    """What each line that is kept of a run is a row of."""
    for file in folder.glob(".rows/*/*.jsonl"):
        for line in map(json.loads, file.read_text().splitlines()):
            yield (file.parent.name, file.stem, line["id"], line["sample"], line["metric"])


@pytest.mark.usefixtures("has_ray")
def test_the_command_line_runs_a_benchmark_on_a_ray_of_its_own(
    without_ray: Mapping[str, bytes], tmp_path: Path
) -> None:
    with ChatServer(project.answer_body) as server:
        folder = project.write(tmp_path, server.base_url, config=project.PRICED)
        asked = ("bench", "all", str(folder), "--engine", "ray", "--workers", "2")
        with alone("pytest_convoprobe.cli", *asked) as run:
            out, err = run.communicate(timeout=240)
    assert run.returncode == 0, out + err
    assert project.results(folder) == without_ray


def run_alone(folder: Path, count: int, seconds: float, **environment: str) -> subprocess.Popen[str]:
    return alone("tests.benchmark.ray_run", str(folder), str(count), str(seconds), **environment)


def alone(module: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A module in a process of its own, with nothing of Ray in its environment but what is given."""
    command = [sys.executable, "-m", module, *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | environment
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=pipe, stderr=pipe, text=True, env=env)


def test_it_joins_the_cluster_that_it_is_told_and_leaves_it_as_it_was(cluster: Any, tmp_path: Path) -> None:
    import ray

    cluster.wait_for_nodes()  # one that another test has killed counts as alive for a while
    before = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    with run_alone(tmp_path, 8, 0.01, RAY_ADDRESS=cluster.address) as run:
        out, err = run.communicate(timeout=120)
    assert (sorted(map(int, out.split())), err) == (list(range(8)), "")
    assert [node["NodeID"] for node in ray.nodes() if node["Alive"]] == before


@pytest.mark.usefixtures("has_ray")
def test_an_address_where_nobody_listens_is_no_cluster(tmp_path: Path) -> None:
    with run_alone(tmp_path, 8, 0.01, RAY_ADDRESS="127.0.0.1:1") as run:
        _, err = run.communicate(timeout=120)
    assert "no Ray cluster at 127.0.0.1:1: " in err


@pytest.mark.usefixtures("has_ray")
def test_a_ray_of_its_own_is_quiet_and_ends_with_it(tmp_path: Path) -> None:
    with run_alone(tmp_path, 8, 0.01) as run:
        assert run.stdout is not None
        first = run.stdout.readline()
        started = psutil.Process(run.pid).children(recursive=True)
        # From the same reader as the first line: it may have taken more than that from the pipe already.
        rest = run.stdout.read()
        _, err = run.communicate(timeout=120)
    assert sorted(map(int, (first + rest).split())) == list(range(8))
    assert err == ""
    assert started
    assert not any(map(lives, started))


@pytest.mark.usefixtures("has_ray")
def test_nothing_survives_ctrl_c(tmp_path: Path) -> None:
    with run_alone(tmp_path, 10_000, 0.05) as run:
        assert run.stdout is not None
        run.stdout.readline()
        started = psutil.Process(run.pid).children(recursive=True)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=120)
    assert err.endswith("KeyboardInterrupt\n")
    assert not any(map(lives, started))


@pytest.fixture
def has_ray() -> None:
    pytest.importorskip("ray")


async def test_a_target_that_never_comes_back_fails_alone(
    engine_of_models: RayEngine, tmp_path: Path
) -> None:
    kinds = ("fine", "starts", "swallows", "sleeps", "waits")

    def asks(body: Mapping[str, Any]) -> str:
        texts = "".join(str(message.get("content")) for message in body["messages"])
        return says(next(kind for kind in kinds if f"Somebody {kind}." in texts))

    target = PythonTarget(object="tests.support.hanging_agents:HangingInEveryWay")
    run = RunSettings(turn_timeout=3, scenario_timeout=10, replay="off")
    talks = [
        simulation(replace(SCENARIO, persona=f"Somebody {kind}."), sample=number)
        for number, kind in enumerate(kinds)
    ]
    with ChatServer(asks) as server:
        user = ModelSettings(model="openai/user", api_base=server.base_url, api_key=SECRET)
        settings = config(target, turns=1, run=run, user_model=user)
        found = await outcomes(engine_of_models, stage_task("simulate", settings, root=REPOSITORY), talks)
    failures = {kinds[outcome.unit.place.sample]: outcome.failure for outcome in found}
    assert not failures.pop("fine")
    assert not failures.pop("starts")
    assert failures.keys() == {"swallows", "sleeps", "waits"}
    for failure in failures.values():
        assert "hanging_agents.py:" in str(failure)
        assert "did not return in time" in str(failure)
