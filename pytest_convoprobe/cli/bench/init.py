"""`convoprobe bench init`: create a benchmark to start from."""

from __future__ import annotations

import shlex
from importlib import resources
from pathlib import Path

import click

from ..console import Console, write_json
from ..exits import CommandFailed
from ..project import json_option

_DESCRIPTION = (
    "Whether the assistant says plainly what it does not know or cannot be sure of, also when a user presses "
    "for certainty, instead of making something up."
)
_USERS = "People who ask a general assistant for help with everyday decisions"


@click.command(short_help="Create a benchmark: benchmark.yaml and config.yaml.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", help="The name of the benchmark; by default the folder's name.")
@click.option("--description", help="The behaviour to measure, in a sentence or two; by default an example.")
@json_option
def command(folder: Path, name: str | None, description: str | None, as_json: bool) -> None:
    """Create a benchmark in DIR. benchmark.yaml says what is measured. config.yaml names the models that
    write, play the user and evaluate, and the targets. Existing files are never changed.

    With a key in OPENAI_API_KEY, both work as they are.

    \b
    Example:
        convoprobe bench init honesty --description "Whether the assistant admits what it doesn't know."
    """  # noqa: D301 - click looks for the character itself
    try:
        made = _write_all(folder, name or folder.resolve().name, description or _DESCRIPTION)
    except OSError as error:
        raise CommandFailed(f"cannot write {error.filename or folder}: {error.strerror or error}") from None
    if as_json:
        written = [name for name, new in made.items() if new]
        left = [name for name, new in made.items() if not new]
        write_json({"folder": str(folder), "written": written, "left_alone": left})
    else:
        _tell(Console.of(), folder, made)


def _write_all(folder: Path, name: str, description: str) -> dict[str, bool]:
    """Each file, and whether it was written: existing files are not."""
    from ...benchmark.format.folder import BenchmarkFolder
    from ...benchmark.format.metrics_writer import new_benchmark

    files = BenchmarkFolder(folder)
    begun = not files.benchmark.exists()
    if begun:
        new_benchmark(files.benchmark, name, description, _USERS)
    config = (resources.files("pytest_convoprobe.cli") / "starter" / "benchmark_config.yaml").read_bytes()
    return {files.benchmark.name: begun, files.config.name: _write(files.config, config)}


def _write(path: Path, content: bytes) -> bool:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _tell(console: Console, folder: Path, made: dict[str, bool]) -> None:
    for name, new in made.items():
        shown = console.safe(str(folder / name))
        if new:
            console.say(f"  wrote       {shown}", "green")
        else:
            console.say(f"  left alone  {shown}: it is there already", "yellow")
    console.say()
    console.say("Next", "bold")
    where = shlex.quote(str(folder))
    for line, why in (
        (str(folder / "benchmark.yaml"), "describe what to measure"),
        (str(folder / "config.yaml"), "say which models, and which targets"),
        ("export OPENAI_API_KEY=...", "or put other models into config.yaml"),
        (f"convoprobe bench all {where} --dry-run", "what would be called, and what it costs"),
        (f"convoprobe bench all {where} --limit 5", "a few rows of each stage, to look at"),
        (f"convoprobe bench all {where}", "the rest"),
    ):
        console.say(f"  {console.safe(line):<48} {why}")
