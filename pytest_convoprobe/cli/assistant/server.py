"""The MCP server, over standard input and output. The only file here that knows the package `mcp`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ..exits import CommandFailed
from .answers import NOTICE, UNTRUSTED
from .reading import Reading
from .running import ScenarioRuns, ServerBudget

_INSTRUCTIONS = (
    "Stored test runs of conversational agents, and the scenarios that test them. "
    f"{NOTICE} A run's verdicts are in its criteria and checks."
)
_HOMES = (("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP"))
"""Where the two major versions of the package have the same class."""


async def serve(root: Path, budget: ServerBudget | None) -> None:
    """Serve until standard input ends, with a budget also runs. Raises `CommandFailed` without `mcp`."""
    runs = None if budget is None else ScenarioRuns(root, budget)
    package = _package()
    server = package.server("convoprobe", instructions=_INSTRUCTIONS, log_level="CRITICAL")
    for tool in _tools(Reading(root), runs):
        server.add_tool(_saying_why(tool, package.error), structured_output=False)
    try:
        await server.run_stdio_async()
    finally:
        if runs is not None:
            await asyncio.shield(runs.stop())


def _tools(reading: Reading, runs: ScenarioRuns | None) -> list[Callable[..., Awaitable[str]]]:
    found: list[Callable[..., Awaitable[str]]] = [
        reading.list_runs,
        reading.show_run,
        reading.show_conversation,
        reading.compare_runs,
        reading.show_trends,
        reading.validate_scenarios,
        reading.lint_scenarios,
    ]
    return found if runs is None else [*found, runs.run_scenarios, runs.run_status]


def _saying_why(tool: Callable[..., Awaitable[str]], error: type[Exception]) -> Callable[..., Any]:
    """The same tool; what it complains about reaches the assistant, which other exceptions don't."""

    @functools.wraps(tool)
    async def call(*args: Any, **named: Any) -> str:
        try:
            return await tool(*args, **named)
        except ValueError as complaint:
            # It may name what is stored: scenarios, runs, what a run printed.
            raise error(f"{complaint}\n({UNTRUSTED})") from None

    return call


class _Package(NamedTuple):
    """What the package `mcp` gives: the class of a server, and the error whose words assistants get."""

    server: Any
    error: type[Exception]


def _package() -> _Package:
    for home, name in _HOMES:
        try:
            errors = import_module(f"{home}.exceptions")
            return _Package(getattr(import_module(home), name), errors.ToolError)
        except ModuleNotFoundError:
            continue
    raise CommandFailed('the package `mcp` is not installed: pip install "pytest-convoprobe[mcp]"')
