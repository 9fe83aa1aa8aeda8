"""`convoprobe init`: create a project to start from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import click

from ...scenario.root import find_root, mentions
from ..console import Console, write_json
from ..exits import CommandFailed
from ..init_notes import notes
from ..project import json_option
from ..starters import API_BASE, KINDS, MODEL, Kind, files_of, kind_of, requirements_of

_OTHER_SETTINGS = ("convoprobe.yml", ".convoprobe.yaml", ".convoprobe.yml", "mcprobe.yaml", "mcprobe.yml")
_PYTEST_INI = "[pytest]\n# Here is the root: convoprobe.yaml is looked for from this folder upwards.\n"
_RUN = "pytest scenarios/"
_SERVICE = "convoprobe gateway -- uvicorn agent:app --port 8000"


def _fitting(pattern: str, expected: str) -> Callable[[str], str]:
    """The type of an option. Values go into YAML and Python as they are, so they must be plain."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise click.BadParameter(f"{value!r} is not {expected}")
        return value

    return check


@click.command(short_help="Create a project: settings, an agent, a scenario, a workflow.")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--kind",
    "wanted",
    type=click.Choice(sorted(KINDS)),
    help="What your agent is. By default, what the requirements in DIR say, and else python.",
)
@click.option(
    "--model",
    metavar="NAME",
    default=MODEL,
    show_default=True,
    type=_fitting(r"[\w./:@+-]+", "the name of a model"),
    help="The model that plays the user, judges, and answers in the example.",
)
@click.option(
    "--api-base",
    metavar="URL",
    default=API_BASE,
    show_default=True,
    type=_fitting(r"https?://[\w./:@%~\[\]-]+", "an address such as http://localhost:11434/v1"),
    help="A server with OpenAI's API that has the model, such as Ollama's.",
)
@json_option
def command(folder: Path, wanted: str | None, model: str, api_base: str, as_json: bool) -> None:
    """Create a project in DIR (by default the working folder): settings, an agent that calls a model, one
    scenario, and a workflow for GitHub. Existing files are never changed.

    The agent has a mistake, which the scenario finds: the tutorial begins with it.

    \b
    Examples:
        convoprobe init my-agent
        convoprobe init my-agent --kind langgraph
        convoprobe init my-agent --model qwen2.5:7b --api-base http://localhost:11434/v1
    """  # noqa: D301 - click looks for the character itself
    kind, reason = (KINDS[wanted], "") if wanted else kind_of(folder)
    try:
        elsewhere = settings_in(folder)
        written, left = _write_all(folder, kind, model, api_base)
    except OSError as error:
        raise CommandFailed(f"cannot write {error.filename or folder}: {error.strerror or error}") from None
    if as_json:
        found = {"folder": str(folder), "kind": kind.name, "written": written, "left_alone": left}
        write_json({**found, "missing": kind.missing})
        return
    reasons = dict.fromkeys(left, "it is there already")
    if elsewhere is not None:
        reasons[elsewhere] = "it has settings already; compare them with the documentation"
    console = Console.of()
    if reason:
        console.say(f"kind {kind.name}, because of {reason} (--kind names another)")
    _tell(console, folder, kind, written, reasons)


def _write_all(folder: Path, kind: Kind, model: str, api_base: str) -> tuple[list[str], list[str]]:
    """The names of the files that were written, and of those that were there."""
    written: list[str] = []
    left: list[str] = []
    for name, text in _wanted(folder, kind, model, api_base).items():
        (written if _write(folder / name, text) else left).append(name)
    return written, left


def _wanted(folder: Path, kind: Kind, model: str, api_base: str) -> dict[str, str]:
    """What is to be written where. A second file of settings in one folder would be an error."""
    wanted = files_of(kind, folder, model, api_base)
    if settings_in(folder) is not None:
        del wanted["convoprobe.yaml"]
    if find_root(folder.resolve()) != folder.resolve():
        wanted["pytest.ini"] = _PYTEST_INI
    return wanted


def settings_in(folder: Path) -> str | None:
    """The name of the file with the settings of a folder, other than convoprobe.yaml."""
    found = next((name for name in _OTHER_SETTINGS if (folder / name).exists()), None)
    return found or ("pyproject.toml" if mentions(folder / "pyproject.toml", "[tool.convoprobe") else None)


def _write(path: Path, text: str) -> bool:
    """Write a new file; False if there is something of that name, a dangling link included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _tell(console: Console, folder: Path, kind: Kind, written: list[str], left: dict[str, str]) -> None:
    for name in written:
        console.say(f"  wrote       {console.safe(str(folder / name))}", "green")
    for name, reason in left.items():
        console.say(f"  left alone  {console.safe(str(folder / name))}: {reason}", "yellow")
    console.say()
    for note in notes(folder, kind, written, left):
        for line in note:
            console.say(console.safe(line))
        console.say()
    console.say("Next", "bold")
    steps = _steps(folder, kind, "requirements.txt" in written, own=kind.agent in left)
    width = max(46, *(len(command_line) for command_line, _ in steps))
    for command_line, why in steps:
        console.say(f"  {console.safe(command_line):<{width}} {why}".rstrip())


def _steps(folder: Path, kind: Kind, has_list: bool, *, own: bool) -> list[tuple[str, str]]:
    """The commands that come next, and what each is for. `own`: the agent is the user's own."""
    steps = [("cd " + shlex.quote(str(folder)), "")] if folder.resolve() != Path.cwd() else []
    if kind.missing:
        names = "-r requirements.txt" if has_list else " ".join(requirements_of(kind))
        steps.append((f"pip install {names}", "not installed yet: " + ", ".join(kind.missing)))
    steps.append(("export OPENAI_API_KEY=...", "any text, where the model needs no key"))
    if kind.name == "fastapi":
        steps.append((_SERVICE, "in another terminal, with the same key: the agent"))
    steps.append(("convoprobe doctor", "see whether the key, the model and the agent work"))
    if own:
        return [
            *steps,
            ("convoprobe new", "a scenario for your agent, from five questions"),
            (_RUN, "run it"),
        ]
    return [*steps, (_RUN, "red: the agent has a mistake, and the report says which")]
