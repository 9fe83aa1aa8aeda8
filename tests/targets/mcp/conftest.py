from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.llm.fake import FakeLLM
from pytest_convoprobe.llm.port import LLMReply, ToolRequest
from pytest_convoprobe.settings.models import ModelTarget
from pytest_convoprobe.targets.model import ModelAgent
from pytest_convoprobe.targets.port import ConversationContext
from pytest_convoprobe.transcript import ToolCall, Usage

if importlib.util.find_spec("mcp") is None and "CI" not in os.environ:
    collect_ignore_glob = ["test_*"]  # in CI a missing package is a failure

PLAIN = Path(__file__).parents[2] / "support" / "plain_mcp_server.py"

Calling = Callable[..., Awaitable[ToolCall]]


def plain(*words: str, **settings: Any) -> dict[str, Any]:
    """The settings of a server in plain JSON-RPC."""
    return {"command": sys.executable, "args": ["-S", str(PLAIN), *words], **settings}


def asking(*tools: tuple[str, str]) -> LLMReply:
    requests = tuple(ToolRequest(f"id{index}", *tool) for index, tool in enumerate(tools))
    return LLMReply("", requests, Usage(10, 5), finish_reason="tool_calls")


def agent(servers: dict[str, Any], tools: Any = (), root: Path | None = None) -> ModelAgent:
    return ModelAgent(ModelTarget(model="fake/m", mcp_servers=servers), tools=tools, rootdir=root)


@pytest.fixture
def calling(context: Callable[..., ConversationContext]) -> Callable[..., Any]:
    """Opens a conversation in which the model calls what it is asked to."""

    @asynccontextmanager
    async def opened(target: ModelAgent) -> AsyncIterator[Calling]:
        llm = FakeLLM(lambda request: _next(request))
        conversation = await target.start(context(llm))

        async def call(tool: str, arguments: str = "{}") -> ToolCall:
            reply = await conversation.send(f"{tool} {arguments}")
            call.reply = reply  # type: ignore[attr-defined]
            (made,) = reply.tool_calls or ()
            return made

        try:
            yield call
        finally:
            await conversation.aclose()

    return opened


def _next(request: Any) -> LLMReply:
    last = request.messages[-1]
    if last.role == "user" and request.tools:
        return asking(tuple(last.content.split(" ", 1)))  # type: ignore[arg-type]
    return LLMReply("done", usage=Usage(1, 1))
