"""Which stored runs there are, and which one somebody means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ResultsError
from .provenance import commit_of, is_shallow
from .reading import RunRef, StoredRun, is_run, open_run, read_info
from .run_info import RunInfo
from .trial_filter import final, has_verdict
from .writer import RUNS

_LATEST = re.compile(r"latest(?:~(\d+))?")
_SHOWN = 5
_LOOKED_AT = 20
"""How many of the newest runs `latest` chooses from, as a baseline."""


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


@dataclass(frozen=True)
class Baseline:
    """The run that others are compared with; `notes` say what was passed over for it."""

    run: StoredRun
    notes: tuple[str, ...] = ()


def resolve_baseline(results: Path | str, text: str, *, than: Path | None = None) -> Baseline:
    """The run that a text means as a baseline. Raises `ResultsError`, also where nothing of it can be read.

    A path, an id and `latest~2` mean that run. `latest` and what git knows leave a choice. Then it is the
    run that selected the largest part of the scenarios; of one commit the one with the most verdicts; and of
    equal ones the newest. `than` is the run that is to be compared with it, which is no baseline of itself.
    """
    folder, runs = Path(results), _folders(Path(results))
    candidates = [path for path in runs if than is None or path.resolve() != than.resolve()]
    if _by_path(text) is None and text == "latest" and candidates:
        found = _fullest([(path, read_info(path)) for path in candidates[:_LOOKED_AT]], by_verdicts=False)
    elif _by_path(text) or _by_age(runs, text) or _by_id(runs, text):
        found = Baseline(open_run(resolve_run(folder, text).path))
    else:
        fitting = [one for one in _of_commit(folder, candidates, text) if one[0] in candidates]
        found = (
            _fullest(fitting, by_verdicts=True)
            if fitting
            else Baseline(open_run(resolve_run(folder, text).path))
        )
    _require_readable(found.run)
    return found


def _fullest(found: list[tuple[Path, RunInfo]], *, by_verdicts: bool) -> Baseline:
    """The best of these runs, which come the newest first."""
    known = [_Candidate.of(path, info) for path, info in found]
    most = max((one.scenarios for one in known), default=0)
    best = max(known, key=lambda one: one.rank(most, by_verdicts=by_verdicts))
    passed_over = [one.run.id for one in known[: known.index(best)]]
    if not passed_over:
        return Baseline(best.run)
    return Baseline(
        best.run,
        (
            f"{best.run.id} is the baseline, because newer runs are partial, unfinished, without verdicts "
            f"or of changes that no commit has: {', '.join(passed_over[:_SHOWN])}{_more(passed_over)}",
        ),
    )


@dataclass(frozen=True)
class _Candidate:
    """A run that may be the baseline, with how many scenarios it has, and on how many it has a verdict."""

    run: StoredRun
    scenarios: int
    verdicts: int

    @classmethod
    def of(cls, path: Path, info: RunInfo) -> _Candidate:
        run = StoredRun(path, info)
        rows = final(run.rows())
        judged = {row.scenario_id for row in rows if has_verdict(row)}
        return cls(run, len({row.scenario_id for row in rows}), len(judged))

    def rank(self, most: int, *, by_verdicts: bool) -> tuple[float, ...]:
        """The best is the largest. An earlier release did not store the selection: the rows say it then."""
        info, chosen = self.run.info, self.run.info.selection
        if chosen is not None:
            share = min(1.0, chosen.scenarios / chosen.existing) if chosen.existing else 1.0
        else:
            share = self.scenarios / most if most else 0.0
        # Whoever says `latest` means the present state of their files, committed or not.
        clean = not by_verdicts or not is_dirty(info)
        sound = (self.verdicts > 0, not self.run.missing, info.came_to_its_end, clean)
        return (*map(float, sound), share, float(self.verdicts if by_verdicts else 0))


def _require_readable(run: StoredRun) -> None:
    """A baseline of which nothing can be read is not one, and to find that out costs nothing yet."""
    if run.missing and not any(True for _ in run.rows()):
        why = "; ".join(run.notes) or "its files of trials are gone"
        raise ResultsError(
            f"{run.id} can't be a baseline: none of its {run.missing} trials can be read ({why}); "
            "name another run, or run it again"
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
    raise ResultsError(f"{text}: there are only {len(runs)} stored runs")


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
