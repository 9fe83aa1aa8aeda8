"""`convoprobe tools`: what tools the target offers, and what a model can't know from their descriptions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import counted
from ...suggest import did_you_mean
from ..console import Console, write_json
from ..exits import FINDINGS, OK, UsageProblem
from ..project import Project, json_option, project_options
from ..tables import Column, print_table

if TYPE_CHECKING:
    from ...llm.port import ToolSpec
    from ...tool_review.suggestion import Suggestion

_COLUMNS = (Column("TOOL"), Column("PARAMETERS", flexible=True), Column("DESCRIPTION", flexible=True, rank=1))
_COLORS = {"high": "red", "medium": "yellow"}


@click.command(short_help="List and review the target's tools.")
@click.option("--ignore", "ignored", metavar="RULE", multiple=True, help="Leave out a rule; may be repeated.")
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    ignored: tuple[str, ...],
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """List the tools that the target of the settings offers, and review them: missing descriptions,
    parameters without type or description, tools that a model can't tell apart, and schemas that providers
    refuse. The target is started if that is needed, but it gets no message, and no model is called.

    A parameter in brackets is optional. The exit status is 0 if nothing was found, 1 with findings, 3 if the
    target can't be started or doesn't say which tools it has.

    \b
    Example:
        convoprobe tools --ignore undocumented-parameter
    """  # noqa: D301 - click looks for the character itself
    from ...tool_review.rules import review

    _require_rules(ignored)
    tools = _tools(Project.here(config_file, results_dir))
    found = review(tools, ignored)
    status = FINDINGS if found else OK
    if as_json:
        listed = [_as_json(tool) for tool in tools]
        write_json({"exit_status": status, "tools": listed, "suggestions": [one.to_json() for one in found]})
    else:
        _print(tools, found)
    ctx.exit(status)


def _require_rules(ignored: Collection[str]) -> None:
    from ...tool_review.rules import IDS

    for name in ignored:
        if name not in IDS:
            raise UsageProblem(
                f"--ignore: there is no rule {name!r}{did_you_mean(name, IDS) or '.'} "
                f"The rules are {', '.join(IDS)}."
            )


def _tools(project: Project) -> Sequence[ToolSpec]:
    from ..event_loop import run_async
    from ..tool_names import described_by_target

    # A tool's code runs only when it is called, so no model is needed, nor its key.
    loaded = project.settings({"run.replay": "only"})
    return run_async(described_by_target(loaded, project.root), "starting the target …")


def _as_json(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def _print(tools: Sequence[ToolSpec], found: Sequence[Suggestion]) -> None:
    console = Console.of()
    print_table(console, _COLUMNS, [(tool.name, _parameters(tool), _first_line(tool)) for tool in tools])
    for one in found:
        console.say()
        console.say(f"{one.tool}: {one.issue}", _COLORS.get(one.severity.value, ""))
        console.say(f"    {one.severity.value} {one.category}: {one.suggestion}")
    console.say()
    result = counted(len(found), "finding") if found else "nothing found"
    console.say(f"{counted(len(tools), 'tool')} reviewed: {result}")


def _parameters(tool: ToolSpec) -> str:
    """`id: string, [limit: integer]`."""
    from ...tool_review.schemas import properties_of, types_of

    required = tool.parameters.get("required")
    shown = []
    for name, part in properties_of(tool.parameters).items():
        text = f"{name}: {'|'.join(types_of(part))}" if types_of(part) else name
        shown.append(text if isinstance(required, list) and name in required else f"[{text}]")
    return ", ".join(shown)


def _first_line(tool: ToolSpec) -> str:
    return tool.description.strip().partition("\n")[0]
