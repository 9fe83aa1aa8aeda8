from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pytest_convoprobe.errors import TargetCrashed
from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import ToolRequest
from pytest_convoprobe.project_code.isolate import contained
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.targets.python import PythonAgent
from pytest_convoprobe.targets.tools import Toolbox


async def _leaves(message: str) -> str:
    await asyncio.sleep(0)
    raise GeneratorExit


async def _streams_and_leaves(message: str) -> AsyncIterator[str]:
    yield "so far"
    raise GeneratorExit


@pytest.mark.parametrize("agent", [_leaves, _streams_and_leaves])
async def test_an_agent_that_raises_generator_exit_has_crashed(agent: object) -> None:
    context = ConversationContext("c1", FakeLLM([]))
    conversation = await PythonAgent(agent, rootdir=Path(), name="agent").start(context)
    with pytest.raises(TargetCrashed, match="the function raised GeneratorExit"):
        await conversation.send("hello")
    await conversation.aclose()


async def test_what_is_awaited_comes_through() -> None:
    assert await contained(asyncio.sleep(0, "done")) == "done"


async def test_a_cancellation_reaches_what_is_awaited() -> None:
    seen: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def outer() -> None:
        await contained(waits())

    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


async def test_a_caller_that_is_closed_closes_what_it_awaits() -> None:
    seen: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(0)
        except GeneratorExit:
            seen.append("closed")
            raise

    async def outer() -> None:
        await contained(waits())

    coroutine = outer()
    coroutine.send(None)
    coroutine.close()
    assert seen == ["closed"]


async def test_a_tool_that_raises_generator_exit_has_failed() -> None:
    async def find(text: str) -> str:
        """Find it."""
        raise GeneratorExit

    call = await Toolbox([find]).call(ToolRequest("1", "find", '{"text": "x"}'))
    assert call.error == "RuntimeError: the function raised GeneratorExit"
