"""Services over HTTP that stop answering as servers do; of their own, no process is started."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from pytest_convoprobe.errors import TargetUnavailable

from .conftest import agent

RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "plain", "version": "1"},
    },
    "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("good", "bad")]},
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
}


def serving(bad: Callable[[], web.Response]) -> web.Application:
    """A service whose tool `bad` gives another response than one of the protocol."""

    async def answer(request: web.Request) -> web.Response:
        asked = await request.json() if request.method == "POST" else {}
        if "id" not in asked:
            return web.Response(status=202 if asked else 405)
        if asked["method"] == "tools/call" and asked["params"]["name"] == "bad":
            return bad()
        result = RESULTS.get(asked["method"])
        refused = {"error": {"code": -32601, "message": "Method not found"}}
        said = {"result": result} if result else refused
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], **said})

    application = web.Application()
    application.router.add_route("*", "/mcp", answer)
    return application


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (lambda: web.Response(text="<p>Log in", content_type="text/html"), "with a page of HTML"),
        (lambda: web.Response(status=302, headers={"location": "/login"}), "with status 302"),
    ],
    ids=["page", "redirect"],
)
async def test_a_service_behind_a_login_is_lost_and_its_address_is_not_logged(
    bad: Any, said: str, calling: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.ERROR, logger="aiohttp.access")
    async with TestServer(serving(bad)) as service:
        target = agent({"shop": {"url": f"{service.make_url('/mcp')}?key=sesame"}})
        async with calling(target) as call:
            assert (await call("good")).result == "fine"
            with pytest.raises(TargetUnavailable, match=f"the MCP server `shop` .*it answered {said}"):
                await call("bad")
        await target.aclose()
    assert "sesame" not in caplog.text
