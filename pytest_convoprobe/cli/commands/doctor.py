"""`convoprobe doctor`: check that everything works, and say what to do if not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..console import Console, write_json
from ..event_loop import run_async
from ..exits import FINDINGS, OK
from ..project import Project, json_option, project_options

if TYPE_CHECKING:
    from ..finding import Finding

_MARKS: dict[bool | None, tuple[str, str]] = {
    True: ("✓", "green"),
    False: ("✗", "red"),
    None: ("-", "yellow"),
}


@click.command(short_help="Check that settings, keys, models and target work.")
@click.option("--offline", is_flag=True, help="Call nothing: only check the settings.")
@click.option("--message", default="Hello", show_default=True, help="The message for the target.")
@click.option(
    "--judge", "only_judge", is_flag=True, help="Try the judge on built-in conversations, and nothing else."
)
@click.option("--again", is_flag=True, help="With --judge: ask again what is known of this judge already.")
@json_option
@project_options
@click.pass_context
def command(
    ctx: click.Context,
    offline: bool,
    message: str,
    only_judge: bool,
    again: bool,
    as_json: bool,
    config_file: Path | None,
    results_dir: Path | None,
) -> None:
    """Check that the settings, the keys, the models and the target work, and say what to do if they don't.

    Each model gets one small call, and the target one message. Keys are never printed. The exit status is 1
    if something doesn't work.

    With --judge, the judge answers for some two dozen built-in conversations with known answers (canaries).
    What comes out is kept until the judge's model, settings or prompts change, and each live run shows it.

    \b
    Example:
        convoprobe doctor
        convoprobe doctor --judge
    """  # noqa: D301 - click looks for the character itself
    from ..doctor_checks import Checkup, worst

    project = Project.here(config_file, results_dir)
    if only_judge:
        from ..judge_checks import judge_findings

        findings = judge_findings(project, live=not offline, again=again)
    else:
        checkup = Checkup(project, live=not offline, message=message)
        findings = run_async(checkup.run(), "asking the models and the target …")
    if as_json:
        write_json(findings)
    else:
        console = Console.of()
        for finding in findings:
            _print(console, finding)
    ctx.exit(FINDINGS if worst(findings) else OK)


def _print(console: Console, finding: Finding) -> None:
    from ...text import harmless

    mark, color = _MARKS[finding.works]
    first, *more = harmless(finding.found).splitlines() or [""]
    console.say(f"{console.paint(console.ours(mark), color)} {finding.what}: {first}")
    for line in [*more, *finding.advice.splitlines()]:
        console.say(f"    {line}")
