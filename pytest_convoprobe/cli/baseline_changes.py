"""Shows and writes what becomes of files of baselines, in the same way for each command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import relative_name
from .console import Console, write_json

if TYPE_CHECKING:
    from ..results.baseline_update import BaselineUpdate, PastChange


def finish(make: Callable[[], BaselineUpdate], root: Path, *, dry_run: bool, as_json: bool) -> None:
    """Write the files, unless it is a dry run, and show what changed. Raises `ResultsError`.

    `make` reads the files and works out what becomes of them. Nobody else changes them meanwhile.
    """
    update = make() if dry_run else _written(make, root)
    names = [relative_name(path, root) for path in update.files]
    if as_json:
        changes = [_as_json(change, root) for change in update.changes]
        write_json({"written": not dry_run, "files": names, "changes": changes, "notes": update.notes})
    else:
        _print(update, names, dry_run)


def _written(make: Callable[[], BaselineUpdate], root: Path) -> BaselineUpdate:
    from ..results.baseline_file import changing_baselines, write_baseline

    with changing_baselines(root):
        update = make()
        for path, entries in update.files.items():
            write_baseline(path, entries, has_locked=root)
    return update


def _print(update: BaselineUpdate, names: list[str], dry_run: bool) -> None:
    from ..results.baseline_update import words_of

    console = Console.of()
    for change in update.changes:
        console.say(f"{console.safe(change.scenario_id)}: {console.safe(words_of(change))}")
    for note in update.notes:
        console.note(f"note: {note}")
    if not names:
        console.say("nothing changes: no new conversation counts")
    for name in names:
        console.say(f"{'would write' if dry_run else 'wrote'} {console.safe(name)}")


def _as_json(change: PastChange, root: Path) -> dict[str, Any]:
    sides = {
        name: past and {"failed": past.failed, "of": len(past.talks), "newest": past.newest}
        for name, past in (("before", change.before), ("after", change.after))
    }
    file = relative_name(change.path, root)
    return {"scenario_id": change.scenario_id, "file": file, **sides, "why": change.why}
