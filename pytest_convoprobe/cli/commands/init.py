"""`convoprobe init`: create a project to start from."""

from __future__ import annotations

import shlex
from importlib import resources
from pathlib import Path

import click

from ...scenario.root import find_root, mentions
from ..console import Console, write_json
from ..exits import CommandFailed
from ..project import json_option

#: What is written where, from the package's own folder `starter`.
_FILES = {
    "convoprobe.yaml": "convoprobe.yaml",
    "agent.py": "agent.py",
    "scenarios/opening_hours.yaml": "scenario.yaml",
    ".github/workflows/scenarios.yml": "workflow.yml",
}
_OTHER_SETTINGS = ("convoprobe.yml", ".convoprobe.yaml", ".convoprobe.yml", "mcprobe.yaml", "mcprobe.yml")
_PYTEST_INI = "[pytest]\n# Here is the root: convoprobe.yaml is looked for from this folder upwards.\n"


@click.command(short_help="Create a project: settings, an agent, a scenario, a workflow.")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@json_option
def command(folder: Path, as_json: bool) -> None:
    """Create a project in DIR (by default the working folder): settings, a working agent, one scenario, and
    a workflow for GitHub. Existing files are never changed.

    \b
    Example:
        convoprobe init my-agent
    """  # noqa: D301 - click looks for the character itself
    try:
        elsewhere = settings_in(folder)
        written, left = _write_all(folder)
    except OSError as error:
        raise CommandFailed(f"cannot write {error.filename or folder}: {error.strerror or error}") from None
    if as_json:
        write_json({"folder": str(folder), "written": written, "left_alone": left})
        return
    reasons = dict.fromkeys(left, "it is there already")
    if elsewhere is not None:
        reasons[elsewhere] = "it has settings already; compare them with the documentation"
    _tell(Console.of(), folder, written, reasons)


def _write_all(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the files that were written, and of those that were there."""
    written: list[str] = []
    left: list[str] = []
    for name, text in _wanted(folder).items():
        (written if _write(folder / name, text) else left).append(name)
    return written, left


def _wanted(folder: Path) -> dict[str, str]:
    """What is to be written where. A second file of settings in one folder would be an error."""
    starter = resources.files("pytest_convoprobe.cli") / "starter"
    has_settings = settings_in(folder) is not None
    wanted = {
        name: (starter / source).read_text(encoding="utf-8")
        for name, source in _FILES.items()
        if not (has_settings and name == "convoprobe.yaml")
    }
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


def _tell(console: Console, folder: Path, written: list[str], left: dict[str, str]) -> None:
    for name in written:
        console.say(f"  wrote       {console.safe(str(folder / name))}", "green")
    for name, reason in left.items():
        console.say(f"  left alone  {console.safe(str(folder / name))}: {reason}", "yellow")
    console.say()
    if "agent.py" in left and "convoprobe.yaml" in written:
        console.say("Name your agent in convoprobe.yaml: it says `object: agent.py:answer` now.")
        console.say()
    console.say("Next", "bold")
    for command_line, why in _steps(folder):
        console.say(f"  {console.safe(command_line):<46} {why}")


def _steps(folder: Path) -> list[tuple[str, str]]:
    steps = [("cd " + shlex.quote(str(folder)), "")] if folder.resolve() != Path.cwd() else []
    return [
        *steps,
        ("export OPENAI_API_KEY=...", "or put another model into convoprobe.yaml"),
        ("convoprobe doctor", "see whether the key, the model and the agent work"),
        ("pytest scenarios/ --convoprobe-replay=auto", "run the conversation, and record the models"),
        ("git add scenarios", "the recordings too: pull requests replay them"),
    ]
