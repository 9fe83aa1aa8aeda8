"""`convoprobe import`: scenarios from the suites of other tools, and what they no longer check."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ... import __version__
from ...files import shown_path
from ..console import Console, write_json
from ..exits import FINDINGS, OK, UsageProblem
from ..project import json_option
from ..scenario_files import note_if_passed_by
from ..suggestions import OneOf

if TYPE_CHECKING:
    from ...importing.notes import ImportedSuite
    from ...importing.writing import WrittenFile

_FORMATS = ("promptfoo", "adk", "tau2", "deepeval")


@click.command(short_help="Make scenarios of another tool's tests.")
@click.argument("kind", metavar="FORMAT", type=OneOf(_FORMATS))
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder to write to.",
)
@click.option("--split", is_flag=True, help="A file for each test, in a folder named after FILE.")
@click.option(
    "--message",
    metavar="TEXT",
    default="",
    help="promptfoo: what the user writes, instead of the prompts: '{{question}}'.",
)
@click.option(
    "--criteria",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="adk: the criteria, instead of test_config.json beside FILE.",
)
@click.option(
    "--first-message",
    metavar="TEXT",
    help="The user's first message where the source has none, since its user makes one up.",
)
@click.option(
    "--agent-first",
    is_flag=True,
    help="The agent greets where the source has no first message, and the user answers the greeting.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Status 1 also if a check is made in another way, or anything is left out.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    kind: str,
    files: tuple[Path, ...],
    folder: Path,
    split: bool,
    message: str,
    criteria: Path | None,
    first_message: str | None,
    agent_first: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Make scenarios of the tests in each FILE, and say what they no longer check. FORMAT is promptfoo, adk,
    tau2 or deepeval. No model is asked, no code is run, and no file is overwritten.

    Every check of the source is taken over, or is named with the reason: it is checked in another way, or it
    is no longer checked. So is everything else that isn't taken over. The same is in a comment above each
    scenario, and its `metadata` says which test it comes from.

    The exit status is 0 if everything that was checked still is, and 1 if not.

    \b
    Example:
        convoprobe import promptfoo promptfooconfig.yaml -o scenarios/
        convoprobe import adk tests/*.evalset.json -o scenarios/ --criteria tests/test_config.json
    """  # noqa: D301 - click looks for the character itself
    _check_words(kind, message, criteria, first_message)
    if agent_first and first_message:
        raise UsageProblem("give --first-message or --agent-first: one of them speaks first")
    from ...importing.formats import read_suite
    from ...importing.notes import Account
    from ...importing.options import GREETING, ImportOptions
    from ...importing.writing import checked, write

    options = ImportOptions(first_message or GREETING, message, criteria, agent_first)
    suites: list[ImportedSuite] = []
    written: list[list[WrittenFile]] = []
    # All are read before the first is written: a broken one leaves nothing half done.
    ready = [checked(read_suite(kind, file, options), __version__) for file in files]
    for suite, texts in ready:
        suites.append(suite)
        written.append(write(suite, texts, folder, split=split))
    account = Account.of(suites)
    unlike = account.changed or account.left_out if strict else 0
    status = OK if account.whole and not unlike else FINDINGS
    _report(suites, written, folder, status, as_json)
    ctx.exit(status)


def _check_words(kind: str, message: str, criteria: Path | None, first_message: str | None) -> None:
    if message and kind != "promptfoo":
        raise UsageProblem("--message is for promptfoo, whose tests have prompts")
    if criteria and kind != "adk":
        raise UsageProblem("--criteria is for adk, whose criteria are in a file of their own")
    if first_message is not None and not first_message.strip():
        raise UsageProblem("--first-message needs a text; it is empty")


def _report(
    suites: list[ImportedSuite], written: list[list[WrittenFile]], folder: Path, status: int, as_json: bool
) -> None:
    from ...reports.import_account import as_data, lines

    if as_json:
        write_json({"exit_status": status, **as_data(suites, written)})
        return
    console = Console.of()
    for line in lines(suites, written):
        console.say(f"{' ' * line.indent}{console.safe(line.text)}", line.color)
    new: list[Any] = [file.path for files in written for file in files]
    if new and (note := note_if_passed_by(folder, new)):
        console.note(note)
    if not new:
        console.note(f"nothing was written to {shown_path(folder)}")
