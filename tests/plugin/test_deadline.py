"""Agents that never come back, in pytest: the run ends, and the other scenarios get their verdicts."""

from __future__ import annotations

import pytest

from tests.support import hanging_project

from .suite import Suite


def test_an_agent_that_keeps_the_interpreter_ends_the_process(suite: Suite) -> None:
    (suite.path / "conftest.py").unlink()
    hanging_project.write(suite.path, fine=["fine"], hanging=["keeps"])
    result = suite.run_process("-p", "no:randomly", "--convoprobe-concurrency=1")
    assert result.ret == 1
    result.stderr.fnmatch_lines_random(
        [
            "*File *hanging_agents.py* in keep_the_interpreter",
            "*kept_the_interpreter_past_its_time_limit_the_process_ends_here",
        ]
    )


@pytest.fixture
def project(suite: Suite) -> Suite:
    (suite.path / "conftest.py").unlink()
    hanging_project.write(suite.path)
    return suite


@pytest.mark.parametrize("more", [(), ("-n1", "--dist=loadfile")], ids=["one process", "xdist"])
def test_a_run_with_agents_that_never_come_back_ends(project: Suite, more: tuple[str, ...]) -> None:
    result = project.run_process("-v", "-rE", *more, plugins=["xdist"] if more else [])
    result.assert_outcomes(passed=2, errors=3)
    assert result.ret == 1
    result.stdout.fnmatch_lines_random(
        ["*hanging_agents.py:*in swallow_cancellation*", "*hanging_agents.py:*: in send*", "*infrastructure*"]
    )
    if not more:
        result.stderr.fnmatch_lines(["convoprobe: the thread endless of an agent never ended*"])


def test_the_fixture_gives_the_result_of_a_run_whose_agent_never_came_back(project: Suite) -> None:
    project.write(
        "test_it.py",
        """
        import pytest

        from tests.support.hanging_agents import HangingAgent, HangingInEveryWay, HangingInThread

        def check(result):
            assert result.outcome.value == "error"
            assert result.blame.value == "infrastructure"
            assert "hanging_agents.py:" in result.reason

        def answers(result, message="fine"):  # its judge was not recorded for this test
            assert result.transcript.turns[0].reply.text == f"echo {message}"

        @pytest.mark.parametrize("how", ["swallows", "sleeps", "waits"])
        def test_hangs(convoprobe, how):
            check(convoprobe.run(f"scenarios/{how}.yaml", target=HangingInEveryWay))
            answers(convoprobe.run("scenarios/fine.yaml"))

        @pytest.mark.parametrize("how", ["swallows", "sleeps", "waits"])
        @pytest.mark.asyncio
        async def test_hangs_on_the_loop_of_the_test(convoprobe, how):
            async def agent(message):
                return await HangingAgent().send(message)

            target = HangingInThread if how == "waits" else agent
            check(await convoprobe.run_async(f"scenarios/{how}.yaml", target=target))
            answers(await convoprobe.run_async("scenarios/fine.yaml", target=target))

        @pytest.mark.asyncio
        async def test_leaves_a_thread(convoprobe):
            answers(await convoprobe.run_async("scenarios/starts.yaml", target=HangingInThread), "starts")

        def test_leaves_another_thread(convoprobe):
            answers(convoprobe.run("scenarios/starts.yaml", target=HangingInThread), "starts")
        """,
    )
    result = project.run_process("-p", "no:randomly", "test_it.py", plugins=["asyncio"])
    result.assert_outcomes(passed=8)
    result.stderr.fnmatch_lines(["convoprobe: the thread endless of an agent never ended*"])


def test_a_client_of_another_tests_loop_is_not_the_agents_fault(project: Suite) -> None:
    project.write(
        "test_loops.py",
        """
        import asyncio
        import contextlib

        import pytest

        EVENTS = []

        async def agent(message):
            if not EVENTS:
                EVENTS.append(asyncio.Event())
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(EVENTS[0].wait(), 0.01)
            return "echo " + message

        async def closes_its_own_loop(message):
            raise RuntimeError("Event loop is closed")

        async def run(convoprobe, agent):
            return await convoprobe.run_async("scenarios/fine.yaml", target=agent)

        @pytest.mark.asyncio
        async def test_first(convoprobe):
            result = await run(convoprobe, closes_its_own_loop)
            assert (result.outcome.value, result.blame.value) == ("failed", "agent")
            assert (await run(convoprobe, agent)).transcript.turns[0].reply.text == "echo fine"

        @pytest.mark.asyncio
        async def test_second(convoprobe):
            result = await run(convoprobe, agent)
            assert (result.outcome.value, result.blame.value) == ("error", "infrastructure")
            assert "an object of another event loop" in result.reason
            assert "the test or the fixture" in result.reason
        """,
    )
    project.run_process("-p", "no:randomly", "test_loops.py", plugins=["asyncio"]).assert_outcomes(passed=2)
