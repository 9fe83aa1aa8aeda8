"""A server made with the package `mcp`, of whichever version is installed.

`python mcp_shop.py` speaks over stdin and stdout, `python mcp_shop.py PORT` streamable HTTP.
"""

from __future__ import annotations

import base64
import os
import sys
import time
from typing import Any

from pydantic import BaseModel

try:
    from mcp.server.mcpserver import Context, Image, MCPServer
except ImportError:  # version 1
    from mcp.server.fastmcp import Context, FastMCP, Image

    MCPServer = FastMCP

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 0
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

server = MCPServer("shop", **({"port": PORT} if PORT and "FastMCP" in globals() else {}))


class Order(BaseModel):
    number: int
    status: str


class Size(BaseModel):
    size: str


@server.tool()
def find_order(number: int) -> Order:
    """Find an order."""
    return Order(number=number, status="shipped")


@server.tool()
def count_orders() -> int:
    """Count the orders."""
    return 12


@server.tool()
def list_orders() -> list[int]:
    """List the orders."""
    return [7, 8]


@server.tool(structured_output=False)
def picture(number: int) -> list[Any]:
    """A picture of an order."""
    return [f"Order {number}", Image(data=PIXEL, format="png")]


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no such order")


@server.tool()
def wait(seconds: float) -> str:
    """Waits."""
    time.sleep(seconds)
    return "done"


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


@server.tool()
def header(name: str, ctx: Context) -> str:
    """A header of the request."""
    return str(ctx.request_context.request.headers.get(name))


if "FastMCP" in globals():

    @server.tool()
    async def choose(ctx: Context) -> str:
        """Asks the user for a size."""
        answer = await ctx.elicit("Which size?", Size)
        return f"{answer.action} {getattr(answer, 'data', None)}"

else:
    from typing import Annotated

    from mcp.server.mcpserver import Elicit, ElicitationResult, Resolve

    async def ask() -> Elicit[Size]:
        return Elicit("Which size?", Size)

    @server.tool()
    async def choose(answer: Annotated[ElicitationResult[Size], Resolve(ask)]) -> str:
        """Asks the user for a size."""
        return f"{answer.action} {getattr(answer, 'data', None)}"


if __name__ == "__main__":
    if not PORT:
        server.run()
    elif "FastMCP" in globals():
        server.run("streamable-http")
    else:
        server.run("streamable-http", port=PORT)
