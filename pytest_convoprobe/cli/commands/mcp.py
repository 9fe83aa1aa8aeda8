"""`convoprobe mcp`: an MCP server with the stored runs and the scenarios of a project, for assistants."""

from __future__ import annotations

import asyncio
import os

import click

from ...stop_signals import exit_status
from ..exits import UsageProblem
from ..project import Project


@click.command(short_help="Serve stored runs to assistants (MCP).")
@click.option("--allow-run", is_flag=True, help="Let assistants run scenarios, within the budget below.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0, min_open=True), help="US dollars that all runs may spend."
)
@click.option("--max-tokens", type=click.IntRange(min=1), help="Tokens that all runs may use.")
def command(allow_run: bool, max_cost: float | None, max_tokens: int | None) -> None:
    """Serve the stored runs and the scenarios of the project around the working folder to an assistant, as an
    MCP server over standard input and output: runs, verdicts, conversations, comparisons, trends, and what is
    wrong with scenario files. Stored text is marked as untrusted data. Nothing is written.

    With --allow-run, the assistant can run scenarios too, which costs money. Then name a budget: it holds for
    all runs together, for as long as the server lives.

    \b
    Example:
        convoprobe mcp --allow-run --max-cost 0.50
    """  # noqa: D301 - click looks for the character itself
    from ..assistant.running import ServerBudget
    from ..assistant.server import serve

    budget = max_cost is not None or max_tokens is not None
    if allow_run and not budget:
        raise UsageProblem("--allow-run needs a budget: --max-cost, --max-tokens, or both")
    if budget and not allow_run:
        raise UsageProblem("--max-cost and --max-tokens are for --allow-run")
    served = serve(Project.here().root.resolve(), ServerBudget(max_cost, max_tokens) if allow_run else None)
    try:
        asyncio.run(served)
    except KeyboardInterrupt as interrupt:
        # A thread of the package still reads standard input, and Python would wait for it at its end.
        os._exit(exit_status(interrupt))
