"""`convoprobe tools`: what tools the target offers, and what a model can't know from their descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...formatting import counted
from ..console import Console, write_json
from ..exits import FINDINGS, OK, TROUBLE
from ..ignored_rules import require_rules
from ..one_target import target_option, with_chosen_target
from ..project import Project, json_option, project_options
from ..tables import Column, print_table

if TYPE_CHECKING:
    from ...judging.types import Suggestion
    from ...llm.port import ToolSpec
    from ...tool_review.opinion import Opinion

_COLUMNS = (Column("TOOL"), Column("PARAMETERS", flexible=True), Column("DESCRIPTION", flexible=True, rank=1))
_COLORS = {"high": "red", "medium": "yellow"}


@click.command(short_help="List and review the target's tools.")
@click.option("--ignore", "ignored", metavar="RULE", multiple=True, help="Leave out a rule; may be repeated.")
@click.option("--llm", "asks", is_flag=True, help="Ask the judge's model for suggestions too.")
@target_option
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    ignored: tuple[str, ...],
    asks: bool,
    target: str | None,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """List the tools that the target of the settings offers, and review them: missing descriptions,
    parameters without type or description, tools that a model can't tell apart, and schemas that providers
    refuse. The target is started if that is needed, but it gets no message, and no model is called without
    --llm. With it, a model reads the tools, usually in one call. Its suggestions are opinions.

    A parameter in brackets is optional. The exit status is 0 if nothing was found, 1 with findings, 3 if the
    target can't be started or doesn't say which tools it has, or if the model gave no answer.

    \b
    Example:
        convoprobe tools --ignore undocumented-parameter
    """  # noqa: D301 - click looks for the character itself
    from ...tool_review.rules import IDS, review

    require_rules(ignored, IDS)
    project = Project.here(config_file, results_dir)
    tools = _tools(project, target)
    found = review(tools, ignored)
    opinion = _opinion(project, tools) if asks else None
    status = _status(found, opinion)
    if as_json:
        write_json(_as_json(tools, found, opinion, status))
    else:
        _print(tools, found, opinion)
    ctx.exit(status)


def _opinion(project: Project, tools: Sequence[ToolSpec]) -> Opinion:
    from ...llm.known_models import check_model
    from ...llm.port import Role
    from ...settings.requirements import require_model
    from ...tool_review.opinion import opinion_on
    from ..asking import asked_of_models

    loaded = project.settings()
    model = loaded.settings.judge
    require_model(model, Role.JUDGE)
    check_model(model, Role.JUDGE)
    return asked_of_models(loaded, lambda llm: opinion_on(llm, model, tools), "asking about the tools …")


def _status(found: Sequence[Suggestion], opinion: Opinion | None) -> int:
    # Who asks for an opinion and gets none must not take the rest for all that there is.
    if opinion and opinion.problems:
        return TROUBLE
    return FINDINGS if found or (opinion and opinion.suggestions) else OK


def _tools(project: Project, target: str | None) -> Sequence[ToolSpec]:
    from ..event_loop import run_async
    from ..tool_names import described_by_target

    # A tool's code runs only when it is called, so no model is needed, nor its key.
    loaded = with_chosen_target(project.settings({"run.replay": "only"}), target)
    return run_async(described_by_target(loaded, project.root), "starting the target …")


def _as_json(
    tools: Sequence[ToolSpec], found: Sequence[Suggestion], opinion: Opinion | None, status: int
) -> dict[str, Any]:
    listed = [
        {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        for tool in tools
    ]
    by_source = {"rules": found, "model": opinion.suggestions if opinion else ()}
    return {
        "exit_status": status,
        "tools": listed,
        "suggestions": [
            {**one.to_json(), "source": source} for source, some in by_source.items() for one in some
        ],
        "notes": list(opinion.notes) if opinion else [],
        "problems": list(opinion.problems) if opinion else [],
    }


def _print(tools: Sequence[ToolSpec], found: Sequence[Suggestion], opinion: Opinion | None) -> None:
    console = Console.of()
    print_table(console, _COLUMNS, [(tool.name, _parameters(tool), _first_line(tool)) for tool in tools])
    _print_suggestions(console, found)
    if opinion:
        _print_suggestions(console, opinion.suggestions, "the model suggests: ")
        for note in opinion.notes:
            console.note(note)
        for problem in opinion.problems:
            console.note(f"no opinion: {problem}")
    console.say()
    number = len(found) + (len(opinion.suggestions) if opinion else 0)
    result = counted(number, "finding") if number else "nothing found"
    console.say(f"{counted(len(tools), 'tool')} reviewed: {result}")


def _print_suggestions(console: Console, found: Sequence[Suggestion], by: str = "") -> None:
    for one in found:
        console.say()
        # A server's names and a model's words may be anything.
        console.say(console.safe(f"{one.tool}: {one.issue}"), _COLORS.get(one.severity.value, ""))
        console.say(f"    {console.safe(f'{one.severity.value} {one.category}: {by}{one.suggestion}')}")


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
