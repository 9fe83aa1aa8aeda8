"""Which stored runs there are, and which one somebody means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from ..errors import ResultsError
from .provenance import commit_of, history_of, is_shallow
from .reading import RunRef, is_run, read_info
from .run_info import RunInfo
from .writer import RUNS

_LATEST = re.compile(r"latest(?:~(\d+))?")
_SHOWN = 5
_PAST_RUNS = 200
"""How many of the newest runs of a history are looked at: a past has fifty conversations at most."""
_LOOKED_AT = 20
"""How many of the newest runs `latest` may mean, where it leaves a choice."""


def list_runs(results: Path | str) -> list[RunRef]:
    """The runs of a results folder (`.convoprobe`), the newest first; none if there is no such folder."""
    return [RunRef(path.name, path, read_info(path)) for path in _folders(Path(results))]


def resolve_run(results: Path | str, text: str) -> RunRef:
    """The run that a text means. Raises `ResultsError` if there is none, or more than one.

    The text is the path of a run's folder, `latest`, `latest~2` (the second before it), a run's id, the
    beginning of one that no other has, or a git branch, tag or commit: then the newest run of that commit,
    if possible one that came to its end and had no changes that no commit has.
    """
    folder, runs = Path(results), _folders(Path(results))
    found = _by_path(text) or _by_age(runs, text) or _by_id(runs, text) or _by_commit(folder, runs, text)
    if found is None:
        raise ResultsError(_nothing(folder, runs, text))
    return RunRef(found.name, found, read_info(found))


def runs_meant(results: Path | str, text: str, *, without: Path | None = None) -> tuple[list[Path], bool]:
    """All runs that a text may mean, the newest first, and whether they are those of one commit.

    It is one run for a path, an id and `latest~2`. `latest` means any of the newest ones. `without` is a run
    that isn't meant, if there is another. Raises `ResultsError` if there is none.
    """
    folder, runs = Path(results), _folders(Path(results))
    others = [path for path in runs if without is None or path.resolve() != without.resolve()]
    if _by_path(text) is None and text == "latest" and others:
        return others[:_LOOKED_AT], False
    if one := _by_path(text) or _by_age(runs, text) or _by_id(runs, text):
        return [one], False
    found = [path for path, _ in _of_commit(folder, runs, text) if path in others]
    return (found, True) if found else ([resolve_run(folder, text).path], False)


def runs_before(results: Path | str, text: str, *, before: str = "") -> list[RunRef]:
    """The runs whose conversations are the past that a text means, the newest first.

    It is one run for a path, an id and `latest~2`; `latest` means the newest ones; a branch, tag or commit
    those of its whole history that had no changes that no commit has. Only runs that began before the run
    `before` (by its id) are meant. Raises `ResultsError` if there is none.
    """
    folder = Path(results)
    runs = [path for path in _folders(folder) if not before or path.name < before]
    if text == "latest" and runs and _by_path(text) is None:
        return [RunRef(path.name, path, read_info(path)) for path in runs[:_LOOKED_AT]]
    if one := _by_path(text) or _by_age(runs, text) or _by_id(runs, text):
        return [RunRef(one.name, one, read_info(one))]
    commits = history_of(text, _existing(folder))
    found, dirty = _of_history_of(commits, runs)
    if found:
        return found[:_PAST_RUNS]
    if commits:
        none = f"no run of {text} or of a commit before it is stored in {folder}"
        raise ResultsError(f"{none}{_but_dirty(dirty)}")
    raise ResultsError(_nothing(folder, runs, text))


def dirty_runs(results: Path | str, text: str) -> list[RunRef]:
    """The runs that `runs_before` leaves out of a git name's history: their code is in no commit."""
    folder = Path(results)
    return _of_history_of(history_of(text, _existing(folder)), _folders(folder))[1]


def _of_history_of(commits: Collection[str], runs: Iterable[Path]) -> tuple[list[RunRef], list[RunRef]]:
    """The runs of these commits: those of exactly their code, and those of code with other changes."""
    refs = [RunRef(path.name, path, info) for path in runs if (info := read_info(path)).commit in commits]
    return [ref for ref in refs if not is_dirty(ref.info)], [ref for ref in refs if is_dirty(ref.info)]


def _but_dirty(runs: Sequence[RunRef]) -> str:
    if not runs:
        return ""
    names = ", ".join(ref.id for ref in runs[:_SHOWN])
    return (
        f" without changes that no commit has. Commit the changes and run again, or name what to use: {names}"
    )


def _folders(results: Path) -> list[Path]:
    """Ids begin with the time, so the order of names is that of time."""
    runs = results / RUNS
    found = [path for path in runs.iterdir() if is_run(path)] if runs.is_dir() else []
    return sorted(found, key=lambda path: path.name, reverse=True)


def _by_path(text: str) -> Path | None:
    path = Path(text)
    return path.resolve() if text and is_run(path) else None


def _by_age(runs: list[Path], text: str) -> Path | None:
    match = _LATEST.fullmatch(text)
    if match is None or not runs:
        return None
    back = int(match[1] or 0)
    if back < len(runs):
        return runs[back]
    stored = "is only 1 stored run" if len(runs) == 1 else f"are only {len(runs)} stored runs"
    raise ResultsError(f"{text}: there {stored}")


def _by_id(runs: list[Path], text: str) -> Path | None:
    fitting = [path for path in runs if text and path.name.startswith(text)]
    exact = [path for path in fitting if path.name == text]
    if len(fitting) > 1 and not exact:
        names = ", ".join(path.name for path in fitting[:_SHOWN])
        raise ResultsError(f"{text} is the beginning of {len(fitting)} runs: {names}{_more(fitting)}")
    return next(iter(exact or fitting), None)


def _by_commit(results: Path, runs: list[Path], text: str) -> Path | None:
    fitting = _of_commit(results, runs, text)
    sound = (path for path, info in fitting if info.came_to_its_end and not is_dirty(info))
    return next(sound, next((path for path, _ in fitting), None))


def _of_commit(results: Path, runs: list[Path], text: str) -> list[tuple[Path, RunInfo]]:
    """The runs of a branch, tag or commit, the newest first; none if git doesn't know it.

    Raises `ResultsError` if git knows it, and no run of it is stored.
    """
    commit = commit_of(text, _existing(results))
    if commit is None:
        return []
    found = [(path, info) for path in runs if (info := read_info(path)).commit == commit]
    if not found:
        raise ResultsError(f"{text} is commit {commit[:12]}, of which no run is stored in {results}")
    return found


def is_dirty(info: RunInfo) -> bool:
    """Whether it ran code that no commit has."""
    return info.git is not None and info.git.dirty


def _existing(folder: Path) -> Path:
    """The folder, or the nearest above it that exists: git is asked from there."""
    return next((path for path in (folder, *folder.resolve().parents) if path.is_dir()), Path.cwd())


def _nothing(results: Path, runs: list[Path], text: str) -> str:
    if not runs:
        return f"there are no stored runs in {results}: run pytest on some scenarios first"
    names = ", ".join(path.name for path in runs[:_SHOWN])
    return (
        f"{text} is not a stored run in {results}, not a run's folder, and not a git branch or commit"
        f"{_of_history(results)}; there are: {names}{_more(runs)}; `latest` is the newest"
    )


def _of_history(results: Path) -> str:
    """CI fetches one commit by default: then git can't know the branch that was meant."""
    if not is_shallow(_existing(results)):
        return ""
    return (
        " that this shallow clone knows (fetch the whole history: `git fetch --unshallow`, or "
        "`fetch-depth: 0` for actions/checkout)"
    )


def _more(found: Sequence[object]) -> str:
    return f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
