"""`convoprobe watch`: run what changed, and show the conversation as it goes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ...files import shown_path
from ...formatting import counted
from ..changed_scenarios import Stamps, Written, after_run, may_be_scenario, stamps, written
from ..console import Console
from ..exits import OK, UsageProblem
from ..guarded_command import run_guarded
from ..project import Project

_LOOK_EVERY = 0.3


@click.command(short_help="Run scenarios as you write them, and show their conversations.")
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--now", is_flag=True, help="Run all of them at once, then wait for changes.")
@click.option(
    "--option",
    "options",
    metavar="OPTION",
    multiple=True,
    help="An option for pytest, such as --option=--convoprobe-replay=auto; may be repeated.",
)
@click.pass_context
def command(ctx: click.Context, paths: tuple[Path, ...], now: bool, options: tuple[str, ...]) -> None:
    """Wait until scenarios change, and run those that did with pytest. Their conversations are shown while
    they run. Ctrl-C ends it.

    A PATH is a scenario file or a folder; without one, all scenarios of the project are watched. A scenario
    runs when it says something else than before. When the code of the project or its settings change, all
    of them run.

    \b
    Example:
        convoprobe watch scenarios/refund.yaml --option=--convoprobe-replay=auto
    """  # noqa: D301 - click looks for the character itself
    root = Project.here().root
    watched = paths or (root,)
    found = written(watched)
    if not found.scenarios and not found.problems:
        raise UsageProblem(f"{', '.join(map(shown_path, watched))}: no scenario files here")
    console = Console.of()
    _say(console, found)
    try:
        for now_there, node_ids in _changes(watched, root, found, now=now):
            _report(console, now_there.problems)
            _run(console, node_ids, [*options, *now_there.words_for_pytest(node_ids, root)])
    except KeyboardInterrupt:
        console.say()
        ctx.exit(OK)


def _say(console: Console, found: Written) -> None:
    _report(console, found.problems)
    console.say(f"watching {counted(found.count, 'scenario')}; Ctrl-C ends it", "bold")


def _changes(
    paths: Sequence[Path], root: Path, found: Written, *, now: bool
) -> Iterator[tuple[Written, list[str]]]:
    """The scenarios after each change, and the ids of those that are to run."""
    places = (root, *paths, *found.files)
    before = stamps(places)
    if now:
        yield found, found.node_ids()
        before = after_run(before, stamps(places))
    while True:
        before, names = _next_change(places, before)
        earlier, found = found, written(paths, found)
        concerns_all = any(not may_be_scenario(name) for name in names)
        yield found, found.node_ids() if concerns_all else found.changed_since(earlier)
        new = found.files.difference(places)
        places, before = (*places, *new), {**stamps(new), **before}
        before = after_run(before, stamps(places))


def _next_change(places: Sequence[Path], before: Stamps) -> tuple[Stamps, list[str]]:
    """Wait for a change, and until nothing is written any more. Returns the state then, and what changed."""
    latest, took = before, 0.0
    while True:
        # Where there are very many files, looking at them mustn't keep a core busy.
        time.sleep(max(_LOOK_EVERY, 5 * took))
        began = time.perf_counter()
        current = stamps(places)
        took = time.perf_counter() - began
        if current == latest and current != before:
            return current, sorted({path.name for path, _ in current.items() ^ before.items()})
        latest = current


def _report(console: Console, problems: Sequence[str]) -> None:
    for problem in problems:
        console.say(console.safe(problem), "red")


def _run(console: Console, node_ids: Sequence[str], words: Sequence[str]) -> None:
    """Run pytest in a process of its own: the code of the agent may have changed since the last time.

    `words` are its options and what it is to run.
    """
    if not node_ids:
        console.say("nothing to run: no scenario says anything else than before", "faint")
        return
    run_guarded([sys.executable, "-m", "pytest", "--convoprobe-stream", *words], os.environ)
    console.say(f"waiting for changes; the last run had {counted(len(node_ids), 'scenario')}", "bold")
