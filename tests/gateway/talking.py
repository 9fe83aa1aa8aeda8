"""An agent's clients, and conversations at a gateway, for the tests of this folder."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from pytest_convoprobe.gateway.attribution import TurnInFlight
from pytest_convoprobe.gateway.conversation import GatewayConversation
from pytest_convoprobe.gateway.port import Wire
from pytest_convoprobe.gateway.server import Gateway
from tests.support.model_server import ModelServer


def to(provider: ModelServer, **more: Any) -> Wire:
    """Everything goes to this provider."""
    return Wire({"openai": f"{provider.url}/v1", "anthropic": provider.url}, **more)


@asynccontextmanager
async def talking(
    gateway: Gateway, wire: Wire, message: str = "hello", number: int = 1, own: bool = True
) -> AsyncIterator[GatewayConversation]:
    """A conversation in the middle of a turn; with `own`, its agent has its address."""
    async with gateway.conversation(wire) as opened:
        if own:
            opened.own_url()
        async with gateway.turn(opened, TurnInFlight(number, message)):
            yield opened


def chat(message: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-x", "messages": [{"role": "user", "content": message}], **more}


def _body(data: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps(data).encode())


async def post(url: str, data: Any = None, **more: Any) -> tuple[int, Mapping[str, str], Any]:
    """Status, headers and JSON (or text) of the answer to one request."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=_body(data), **more) as answer,
    ):
        text = await answer.text()
        is_json = answer.content_type == "application/json"
        return answer.status, answer.headers, await answer.json() if is_json else text


@asynccontextmanager
async def serving(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """A provider that answers by a function of aiohttp's; its address."""
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def to_url(url: str) -> Wire:
    """An upstream for OpenAI's protocol alone."""
    return Wire({"openai": url})
