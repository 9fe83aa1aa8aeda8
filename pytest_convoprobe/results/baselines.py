"""Which stored run is the baseline of another: the fullest one of those that somebody may mean."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from ..errors import ResultsError
from .lookup import is_dirty, runs_meant
from .reading import StoredRun, open_run
from .trial_filter import final, has_verdict

_SHOWN = 5


@dataclass(frozen=True)
class Baseline:
    """The run that others are compared with; `notes` say what was passed over for it."""

    run: StoredRun
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Baselines:
    """The runs that may be meant, the newest first; `of_commit`: all of them ran one and the same commit."""

    candidates: tuple[Candidate, ...]
    of_commit: bool

    def choose(self, scenarios: Collection[str] = ()) -> Baseline:
        """The best one for a run of these scenarios, where they are known.

        Best is a run that finished, and that selected all scenarios or at least these. Of one commit it is
        the one with the most verdicts, and of equal ones the newest. Raises `ResultsError` if nothing of it
        can be read.
        """
        most = max(len(one.scenarios) for one in self.candidates)
        best = max(self.candidates, key=lambda one: self._rank(one, scenarios, most))
        _require_readable(best.run)
        passed_over = [one.run.id for one in self.candidates[: self.candidates.index(best)]]
        return Baseline(best.run, tuple(_notes(best.run.id, passed_over)))

    def _rank(self, one: Candidate, scenarios: Collection[str], most: int) -> tuple[float, ...]:
        info, wanted = one.run.info, set(scenarios)
        # Whoever says `latest` means the present state of their files, committed or not.
        clean = not self.of_commit or not is_dirty(info)
        verdicts = len(one.verdicts & wanted if wanted else one.verdicts) if self.of_commit else 0
        sound = (bool(one.verdicts), not one.run.missing, info.came_to_its_end, clean)
        return (*map(float, sound), one.share(wanted, most), float(verdicts))


@dataclass(frozen=True)
class Candidate:
    """A run that may be the baseline: the ids of its scenarios, and of those on which it has a verdict."""

    run: StoredRun
    scenarios: frozenset[str]
    verdicts: frozenset[str]

    @classmethod
    def of(cls, path: Path) -> Candidate:
        """The run in a folder."""
        run = open_run(path)
        rows = final(run.rows())
        judged = (row.scenario_id for row in rows if has_verdict(row))
        return cls(run, frozenset(row.scenario_id for row in rows), frozenset(judged))

    def share(self, wanted: set[str], most: int) -> float:
        """How much of the scenarios it selected: of all, or if that isn't all, of those that are wanted.

        An earlier release did not store what a run selected. Then its trials say it, beside `most`, the
        largest number of scenarios of a candidate.
        """
        chosen = self.run.info.selection
        if chosen is not None and not chosen.partial:
            return 1.0
        if wanted:
            return len(self.scenarios & wanted) / len(wanted)
        if chosen is not None:
            return chosen.scenarios / chosen.existing
        return len(self.scenarios) / most if most else 0.0


def find_baselines(results: Path | str, text: str, *, than: Path | None = None) -> Baselines:
    """The runs that a text means as a baseline. Raises `ResultsError` if there is none.

    `than` is the run that is to be compared: it is not a baseline of itself, where there is a choice.
    """
    paths, of_commit = runs_meant(results, text, without=than)
    return Baselines(tuple(map(Candidate.of, paths)), of_commit)


def baseline_for(results: Path | str, text: str, run: StoredRun | None = None) -> Baseline:
    """The baseline that a text means for a stored run. Raises `ResultsError`."""
    if run is None:
        return find_baselines(results, text).choose()
    ids = {row.scenario_id for row in run.rows()}
    return find_baselines(results, text, than=run.path).choose(ids)


def _notes(chosen: str, passed_over: list[str]) -> list[str]:
    if not passed_over:
        return []
    more = f" and {len(passed_over) - _SHOWN} more" if len(passed_over) > _SHOWN else ""
    return [
        f"{chosen} is the baseline, because newer runs are partial, unfinished, without verdicts or of "
        f"changes that no commit has: {', '.join(passed_over[:_SHOWN])}{more}"
    ]


def _require_readable(run: StoredRun) -> None:
    """A baseline of which nothing can be read is not one, and to find that out costs nothing yet."""
    if run.missing and not any(True for _ in run.rows()):
        why = "; ".join(run.notes) or "its files of trials are gone"
        raise ResultsError(
            f"{run.id} can't be a baseline: none of its {run.missing} trials can be read ({why}); "
            "name another run, or run it again"
        )
