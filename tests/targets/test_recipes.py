"""The recipes of docs/examples/recipes talk with a real websocket and a real process."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import WSMsgType, web

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable
from pytest_convoprobe.targets.factory import as_target
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import Reply, ToolCall

RECIPES = Path(__file__).parents[2] / "docs" / "examples" / "recipes"
PROGRAM = """
import json, os, sys

said = []
for line in sys.stdin:
    said.append(json.loads(line)["message"])
    if said[-1] == "die":
        sys.exit(3)
    answer = {"text": " ".join(said), "tool_calls": [{"name": "pid", "arguments": {}, "result": os.getpid()}]}
    print(json.dumps(answer), flush=True)
"""


@asynccontextmanager
async def websocket() -> AsyncIterator[str]:
    async def chat(request: web.Request) -> web.WebSocketResponse:
        socket, said = web.WebSocketResponse(), []
        await socket.prepare(request)
        async for message in socket:
            if message.type is not WSMsgType.TEXT or message.json()["message"] == "die":
                await socket.close(code=1011, message=b"out of order")
                break
            said.append(message.json()["message"])
            await socket.send_json({"text": " ".join(said), "tool_calls": []})
        return socket

    application = web.Application()
    application.router.add_get("/chat", chat)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"ws://{host}:{port}/chat"
    finally:
        await runner.cleanup()


async def test_a_websocket(
    context: Callable[..., ConversationContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with websocket() as url:
        monkeypatch.setenv("AGENT_URL", url)
        target = as_target(f"{RECIPES / 'websocket_agent.py'}:Agent")
        first, second = await target.start(context()), await target.start(context())
        assert await first.send("a") == Reply("a", ())
        assert await second.send("b") == Reply("b", ())
        assert (await first.send("c")).text == "a c"
        with pytest.raises(TargetUnavailable, match="the websocket was closed: 1011 out of order"):
            await first.send("die")
        for conversation in (first, second):
            await conversation.aclose()
        await target.aclose()
    with pytest.raises(TargetStartError, match="Cannot connect"):
        await (await target.start(context())).send("a")


async def test_a_process_that_reads_and_writes_lines(
    context: Callable[..., ConversationContext], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "agent.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    target = as_target(f"{RECIPES / 'process_agent.py'}:Agent")
    first, second = await target.start(context()), await target.start(context())
    one, two = await first.send("a"), await second.send("ü" * 100_000)
    assert (one.text, len(two.text)) == ("a", 100_000)
    assert (await first.send("c")).text == "a c"
    with pytest.raises(TargetUnavailable, match="the process has ended, with status 3"):
        await first.send("die")
    for conversation in (first, second):
        await conversation.aclose()
    await target.aclose()
    for reply in (one, two):
        (call,) = reply.tool_calls or ()
        assert isinstance(call, ToolCall)
        with pytest.raises(ProcessLookupError):
            os.kill(call.result, 0)
