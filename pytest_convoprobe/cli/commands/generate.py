"""`convoprobe generate`: scenarios from the tools of a target, or from conversations that happened."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ... import __version__
from ...files import shown_path
from ...formatting import counted
from ...suggest import did_you_mean
from ..asking import asked_of_models
from ..console import Console, write_json
from ..exits import FINDINGS, OK, TROUBLE, CommandFailed, UsageProblem
from ..one_target import with_chosen_target
from ..project import Project, json_option
from ..scenario_files import note_if_passed_by

if TYPE_CHECKING:
    from ...generate.making import Dropped, Made, Writer
    from ...llm.port import LLM, ToolSpec
    from ...settings.loading import LoadedSettings

_MOST = 200


@click.command(short_help="Write scenarios from tools or conversations.")
@click.option(
    "--target",
    metavar="SPEC",
    help="The agent: `module:object`, `file.py:object`, or a name in `targets` of the settings.",
)
@click.option("--mcp", metavar="COMMAND", help="An MCP server: the command that starts it, or its URL.")
@click.option(
    "--transcript",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Reproduce conversations: OpenAI messages, LangSmith, Langfuse, or a stored trial.",
)
@click.option("--kind", "kinds", metavar="KIND[,KIND…]", help="The kinds of scenarios; all by default.")
@click.option("--complexity", "complexities", metavar="LEVEL[,LEVEL…]", help="simple, medium, complex.")
@click.option("--count", type=click.IntRange(1, _MOST), help="How many scenarios; 5 by default.")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="The folder to write to.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    target: str | None,
    mcp: str | None,
    transcript: Path | None,
    kinds: str | None,
    complexities: str | None,
    count: int | None,
    folder: Path,
    as_json: bool,
) -> None:
    """Have scenarios written by the model of the settings (`llm`), from the tools of the target that the
    settings name, of --target, or of an --mcp server. Each is loaded and linted before it is written; what is
    wrong is put right by the model, or dropped and listed. No file is overwritten, and none repeats another
    one in the folder.

    With --transcript, each conversation of the file becomes a scenario that reproduces it. Names, addresses,
    numbers and keys are replaced by invented ones. The model gets the conversation as it is, without
    secrets.

    Kinds are happy-path, clarification, edge-case, adversarial and efficiency. The exit status is 0 if all
    were written, 1 if some were dropped, 3 if none could be written.

    \b
    Example:
        convoprobe generate --kind clarification,edge-case --count 4 -o scenarios/
        convoprobe generate --transcript bug.json -o scenarios/
    """  # noqa: D301 - click looks for the character itself
    if sum(one is not None for one in (target, mcp, transcript)) > 1:
        raise UsageProblem("give one of --target, --mcp and --transcript")
    if "" in (target, mcp):
        # A variable that isn't set, as in `--mcp "$SERVER"`: the settings' target was not meant.
        raise UsageProblem("--target and --mcp need a value; it is empty")
    if transcript and (kinds or complexities or count):
        raise UsageProblem(
            "--kind, --complexity and --count are for scenarios from tools, not for --transcript"
        )
    project = Project.here()
    loaded = project.settings()
    _require_model(loaded)
    _require_writable(folder)
    work = _Work(project, loaded, folder, Console.of(), quiet=as_json)
    made, dropped = (
        work.from_transcript(transcript)
        if transcript
        else work.from_tools(target, mcp, _wanted(kinds, complexities, count or 5))
    )
    status = (FINDINGS if made else TROUBLE) if dropped else OK
    if as_json:
        files = {"written": work.written, "dropped": [asdict(one) for one in dropped]}
        write_json({"exit_status": status, **files})
    else:
        work.print_end(made, dropped)
    ctx.exit(status)


def _require_model(loaded: LoadedSettings) -> None:
    from ...llm.known_models import check_model
    from ...llm.port import Role
    from ...settings.requirements import require_model

    require_model(loaded.settings.llm, Role.GENERATOR)
    check_model(loaded.settings.llm, Role.GENERATOR)


def _require_writable(folder: Path) -> None:
    """Fail if nothing can be written there, before a model is paid for what would be lost."""
    existed = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if not existed:
            folder.rmdir()
    except OSError as error:
        raise CommandFailed(f"-o {folder}: nothing can be written there: {error.strerror or error}") from None


def _wanted(kinds: str | None, complexities: str | None, count: int) -> list[Any]:
    from ...generate.wishes import COMPLEXITIES, KINDS, wishes

    chosen = _chosen("--kind", kinds, tuple(KINDS))
    levels = _chosen("--complexity", complexities, tuple(COMPLEXITIES))
    return list(wishes(chosen, levels, count))


def _chosen(option: str, text: str | None, known: Sequence[str]) -> list[str]:
    """The words of an option, or all of them."""
    words = [word.strip() for word in text.split(",") if word.strip()] if text else list(known)
    for word in words:
        if word not in known:
            near = did_you_mean(word, known) or "."
            raise UsageProblem(f"{option}: there is no {word!r}{near} There are {', '.join(known)}.")
    return words


class _Work:
    """One call of the command: it writes each scenario as soon as it is made."""

    def __init__(
        self, project: Project, loaded: LoadedSettings, folder: Path, console: Console, *, quiet: bool
    ) -> None:
        self._project = project
        self._loaded = loaded
        self._folder = folder
        self._console = console
        self._quiet = quiet
        self.written: list[dict[str, Any]] = []

    def from_tools(
        self, target: str | None, mcp: str | None, wanted: list[Any]
    ) -> tuple[list[Made], list[Dropped]]:
        from ...generate.making import from_tools

        tools = self._tools(target, mcp)
        name = mcp or target or "the target of the settings"
        names = ", ".join(tool.name for tool in tools)
        source = f"{counted(len(tools), 'tool')} of {name}: {names}"
        self._note(f"asking for {counted(len(wanted), 'scenario')}, from one to three calls each")
        return self._asked(lambda llm: from_tools(self._writer(llm, source), tools, wanted))

    def from_transcript(self, file: Path) -> tuple[list[Made], list[Dropped]]:
        from ...generate.exported import read_transcripts
        from ...generate.reproducing import from_transcripts
        from ...redaction import Redactor

        try:
            found = read_transcripts(file)
        except ValueError as error:
            raise CommandFailed(str(error)) from None
        redactor = Redactor(self._loaded.secrets)
        self._note(f"{counted(len(found), 'conversation')}, from two to four calls each")
        return self._asked(lambda llm: from_transcripts(self._writer(llm, shown_path(file)), found, redactor))

    def _asked(self, work: Any) -> tuple[list[Made], list[Dropped]]:
        found: tuple[list[Made], list[Dropped]] = asked_of_models(self._loaded, work, "writing scenarios …")
        return found

    def _writer(self, llm: LLM, source: str) -> Writer:
        from ...generate.known import KnownScenarios
        from ...generate.making import Writer

        known = KnownScenarios.in_folder(self._folder)
        return Writer(llm, self._loaded.settings.llm, known, source, __version__, self._keep)

    def _keep(self, made: Made) -> None:
        from ...scenario.new_files import file_name, write_new

        path = write_new(self._folder, file_name(made.name), made.text)
        self.written.append({"file": str(path), "what": made.what, "warnings": list(made.warnings)})
        if not self._quiet:
            safe = self._console.safe
            self._console.say(safe(f"{shown_path(path)}: {made.what}"), "green")
            for warning in made.warnings:  # with words of the model
                self._console.say(f"    lint: {safe(warning)}", "yellow")

    def _tools(self, target: str | None, mcp: str | None) -> Sequence[ToolSpec]:
        from ...settings.models import given_target
        from ..event_loop import run_async
        from ..tool_names import described_by_target

        loaded = self._loaded
        if target is not None and ":" not in target:
            loaded, target = with_chosen_target(loaded, target), None
        elif target is None and mcp is None:
            loaded = with_chosen_target(loaded, None)
        given = given_target(target, mcp)
        return run_async(described_by_target(loaded, self._project.root, given), "starting the target …")

    def print_end(self, made: Sequence[Made], dropped: Sequence[Dropped]) -> None:
        for one in dropped:
            self._console.say(self._console.safe(f"dropped: {one.what}"), "red")
            for reason in one.reasons:
                self._console.say(f"    {self._console.safe(reason)}")
        lost = f", {len(dropped):,} dropped" if dropped else ""
        self._console.say(f"{counted(len(made), 'scenario')} written to {shown_path(self._folder)}{lost}")
        if note := note_if_passed_by(self._folder, [Path(one["file"]) for one in self.written]):
            self._note(note)

    def _note(self, text: str) -> None:
        self._console.note(text)
