"""Servers made with the package itself, over both transports."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.errors import TargetStartError, TargetUnavailable

from .conftest import agent

SHOP = Path(__file__).parents[2] / "support" / "mcp_shop.py"


def stdio(**settings: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SHOP)], **settings}


@pytest.fixture
def service() -> Iterator[str]:
    """A server on loopback, ready to be called."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SHOP), str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not _is_open(port):
            assert process.poll() is None
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


def _is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


async def test_results_are_plain_data_and_questions_are_declined(calling: Any) -> None:
    async with calling(agent({"shop": stdio()})) as call:
        assert (await call("find_order", '{"number": 7}')).result == {"number": 7, "status": "shipped"}
        assert (await call("count_orders")).result == 12
        assert (await call("list_orders")).result == [7, 8]
        picture = await call("picture", '{"number": 7}')
        assert picture.result == "Order 7\n[image/png, 70 bytes]"
        assert "Error executing tool fail" in ((await call("fail")).error or "")
        assert "number" in ((await call("find_order", "{}")).error or "")
        assert (await call("choose")).result == "decline None"
        (question,) = call.reply.pending
    assert (question.text, question.tool, question.answer) == ("Which size?", "choose", "reject")


async def test_over_http_conversations_share_a_connection_until_it_is_closed(
    calling: Any, service: str, context: Any
) -> None:
    target = agent({"shop": {"url": service, "headers": {"X-Shop": "sesame"}, "timeout": 2}})
    async with calling(target) as call, calling(target) as other:
        assert (await call("header", '{"name": "x-shop"}')).result == "sesame"
        assert (await call("wait", '{"seconds": 2.5}')).error == "no answer within 2 s"
        assert (await other("count_orders")).result == 12  # it is still there
        for one, tool in ((call, "die"), (other, "count_orders")):
            with pytest.raises(TargetUnavailable, match="the MCP server `shop` closed its connection"):
                await one(tool)
    with pytest.raises(TargetStartError, match="closed its connection before it had listed its tools"):
        await target.start(context())
    await target.aclose()
