"""A real MCP client that talks with `convoprobe mcp`, for either major version of the package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any


class Client:
    """An open session with the server."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def names(self) -> set[str]:
        """The names of the server's tools."""
        return {tool.name for tool in (await self._session.list_tools()).tools}

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers, as data. Raises `ValueError` with its words if it is an error."""
        result = await self._session.call_tool(tool, arguments)
        text = "".join(part.text for part in result.content)
        if getattr(result, "is_error", False) or getattr(result, "isError", False):
            raise ValueError(text)
        return json.loads(text)


@asynccontextmanager
async def client(folder: Path, *options: str) -> AsyncIterator[Client]:
    """A client of a server of its own, which works in `folder`."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pytest_convoprobe.cli", "mcp", *options],
        cwd=str(folder),
        env=dict(os.environ),
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield Client(session)
