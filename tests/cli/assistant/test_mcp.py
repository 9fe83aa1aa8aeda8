"""`convoprobe mcp`, as assistants use it: over standard input and output, with a real client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.cli.assistant.answers import NOTICE, PAGE, answer
from pytest_convoprobe.cli.assistant.commands import RunningCommand
from pytest_convoprobe.cli.assistant.reading import Reading
from pytest_convoprobe.cli.assistant.running import ScenarioRuns, ServerBudget
from tests.cli import live
from tests.cli.conftest import Convoprobe
from tests.cli.stored import failed, passed, store
from tests.support.chat_server import ChatServer

from .client import Client, client

pytest.importorskip("mcp")


def talk(folder: Path, use: Callable[[Client], Awaitable[None]], *options: str) -> None:
    async def main() -> None:
        async with client(folder, *options) as open_client:
            await use(open_client)

    asyncio.run(main())


def test_stored_runs_are_read(folder: Path) -> None:
    store(folder, 1, [passed("a"), passed("b")])
    newest = store(folder, 2, [failed("a"), passed("b")])

    async def use(open_client: Client) -> None:
        assert "run_scenarios" not in await open_client.names()
        runs = await open_client.call("list_runs")
        assert runs["notice"] == NOTICE
        assert runs["data"][0]["id"] == newest
        shown = await open_client.call("show_run")
        assert [trial["outcome"] for trial in shown["data"]["trials"]] == ["failed", "passed"]
        one = await open_client.call("show_conversation", scenario="a")
        assert one["data"]["outcome"] == "failed"
        assert one["data"]["transcript"]["turns"]
        compared = await open_client.call("compare_runs", base="latest~1")
        assert compared["data"]["changes"][0]["kind"] == "new failure"
        trends = await open_client.call("show_trends", scenario="a")
        assert trends["data"][0]["passed"] == 1
        with pytest.raises(ValueError, match="is not a stored run"):
            await open_client.call("show_run", run="--help")

    talk(folder, use)


def test_scenario_files_are_checked_and_others_are_not_read(folder: Path) -> None:
    (folder / "scenarios").mkdir()
    (folder / "scenarios" / "a.yaml").write_text("name: [")

    async def use(open_client: Client) -> None:
        found = await open_client.call("validate_scenarios", paths=["scenarios"])
        assert found["data"][0]["problems"][0]["line"] == 1
        linted = await open_client.call("lint_scenarios", paths=["scenarios/a.yaml"])
        assert linted["data"]["findings"][0]["rule"] == "invalid-file"
        with pytest.raises(ValueError, match="not in the project"):
            await open_client.call("lint_scenarios", paths=["../../etc"])
        with pytest.raises(ValueError, match="not in the project"):
            await open_client.call("show_run", run="..")

    talk(folder, use)


def test_scenarios_run_within_the_budget_of_the_server(folder: Path, chat_server: ChatServer) -> None:
    live.project(folder, chat_server.base_url)

    async def use(open_client: Client) -> None:
        with pytest.raises(ValueError, match="not in the project"):
            await open_client.call("run_scenarios", paths=["/etc"])
        found = await run_to_end(open_client)
        assert found["exit_status"] == 0, found["output"]
        assert (await open_client.call("show_run", run=found["run"]))["data"]["state"] == "finished"
        assert 0 < found["left"]["tokens"] < 1_000_000

    talk(folder, use, "--allow-run", "--max-tokens", "1000000")


def test_what_runs_have_spent_is_gone() -> None:
    left = ServerBudget(0.5, 1_000).less(0.2, 400)
    assert left.options() == ["--convoprobe-max-cost=0.3", "--convoprobe-max-tokens=600"]
    assert not left.used_up
    assert left.less(0.1, 600).used_up
    assert left.less(0.3, 0).used_up
    runs = ScenarioRuns(Path.cwd(), ServerBudget(tokens=0))
    with pytest.raises(ValueError, match="budget of this server is used up"):
        asyncio.run(runs.run_scenarios(["scenarios"]))


async def run_to_end(open_client: Client) -> dict[str, Any]:
    found = await open_client.call("run_scenarios", paths=["scenarios"], wait=45)
    while found.get("state") == "running":
        found = await open_client.call("run_status", wait=45)
    data: dict[str, Any] = found["data"]
    return data


@pytest.mark.parametrize(
    ("words", "complaint"),
    [(["--allow-run"], "needs a budget"), (["--max-cost", "1"], "are for --allow-run")],
)
def test_a_run_needs_a_budget(convoprobe: Convoprobe, words: list[str], complaint: str) -> None:
    result = convoprobe("mcp", *words)
    assert result.exit_code == 2
    assert complaint in result.output


def test_long_answers_come_in_pages() -> None:
    text = json.dumps(["x" * 100] * 1_000)
    first, last = json.loads(answer(text)), json.loads(answer(text, 3))
    assert (first["page"], first["pages"], len(first["data"])) == (1, 3, PAGE)
    assert last["data"].endswith("]")
    with pytest.raises(ValueError, match="pages are 1 to 3"):
        answer(text, 4)


def test_no_path_is_an_option_and_no_option_lifts_the_budget(folder: Path) -> None:
    given = ["a.yaml::--x", "--convoprobe-max-cost=9", "@file"]
    inside = Reading(folder).inside(given)
    assert inside == ["a.yaml::--x", "./--convoprobe-max-cost=9", "./@file"]


def test_of_two_runs_at_once_one_is_refused(folder: Path) -> None:
    async def main() -> tuple[object, object]:
        runs = ScenarioRuns(folder, ServerBudget(tokens=7))
        calls = (runs.run_scenarios(["nothing"], keyword="-p x", wait=50) for _ in range(2))
        first, second = await asyncio.gather(*calls, return_exceptions=True)
        return first, second

    first, second = asyncio.run(main())
    assert "a run is going on" in str(second)
    ended = json.loads(str(first))["data"]
    # A wrong command line has spent nothing.
    assert (ended["exit_status"], ended["run"], ended["left"]["tokens"]) == (4, None, 7)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks /proc for processes")
def test_with_a_command_ends_all_that_it_started(tmp_path: Path) -> None:
    code = (
        "import pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'],"
        " start_new_session=True)\n"
        "pathlib.Path('pid').write_text(str(child.pid))\n"
        "time.sleep(99)\n"
    )

    async def main() -> None:
        command = await RunningCommand.start(("-c", code), tmp_path)
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert await command.finished(0.05) is None
        await command.stop()
        assert await command.finished(0) is not None

    asyncio.run(main())
    state = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    # In a container, nobody may take note of the end of a process that has lost its parent.
    assert not state.exists() or ") Z " in state.read_text()
