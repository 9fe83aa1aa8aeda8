"""What stored runs change in the files of baselines. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from ..errors import ResultsError
from ..gate.policies import Paired, fit_to_gate, long_enough
from ..gate.prior import prior_of
from ..gate.types import Past, Word
from .baseline_file import (
    FAILED,
    PASSED,
    Accepted,
    BaselineFile,
    KeptPast,
    file_for,
    new_file_for,
    read_baseline,
)
from .fingerprints import changed_inputs
from .past_talks import MOST, PastTalk, left_out_words, newest_alike, talks_of
from .reading import StoredRun
from .trial_filter import has_file


@dataclass(frozen=True)
class PastChange:
    """What becomes of one scenario in its file, and why; `after` is None if it is taken out."""

    scenario_id: str
    path: Path
    before: KeptPast | None
    after: KeptPast | None
    why: str = ""


@dataclass(frozen=True)
class BaselineUpdate:
    """The new contents of files, what changes in them, and lines on what was left out."""

    files: Mapping[Path, Mapping[str, KeptPast]]
    changes: tuple[PastChange, ...]
    notes: tuple[str, ...] = ()


@dataclass
class _Files:
    """The files of the baselines of a project, as they are and as they become."""

    root: Path
    read: dict[Path, BaselineFile] = field(default_factory=dict)
    entries: dict[Path, dict[str, KeptPast]] = field(default_factory=dict)

    def of(self, scenario_id: str) -> BaselineFile:
        """The file that has the scenario, or will have it. Raises `ResultsError`."""
        found = file_for(self.root, scenario_id)
        path = found or new_file_for(self.root, scenario_id)
        if path not in self.read:
            self.read[path] = read_baseline(path) if found else BaselineFile(path)
            self.entries[path] = dict(self.read[path].entries)
        return self.read[path]

    def change(self, scenario_id: str, after: KeptPast, why: str = "") -> PastChange:
        """Put a scenario's new past in its place."""
        file = self.of(scenario_id)
        key = file.key_of(self.root, scenario_id)
        self.entries[file.path][key] = after
        return PastChange(scenario_id, file.path, file.entries.get(key), after, why)

    def without_gone(self) -> Iterator[PastChange]:
        """Take out the scenarios whose files are gone: nobody asks for their past."""
        for path, file in self.read.items():
            gone = [key for key in file.entries if not (path.parent / key.partition("::")[0]).exists()]
            for key in gone:
                before = self.entries[path].pop(key)
                yield PastChange(key, path, before, None, "its file is gone")

    def changed(self) -> dict[Path, Mapping[str, KeptPast]]:
        """The files that are to be written."""
        return {path: new for path, new in self.entries.items() if new != self.read[path].entries}


def with_runs(root: Path, runs: Iterable[StoredRun]) -> BaselineUpdate:
    """The files with the conversations of these runs that they don't have yet.

    They are added where they rest on the same as those that are there, and take their place where something
    changed. `root` is where the ids of scenarios begin. Raises `ResultsError` for a file that can't be used.
    """
    found, files = talks_of(runs), _Files(root)
    left_out, worse, changes = Counter(found.left_out), list[str](), list[PastChange]()
    for scenario_id, talks in sorted(found.by_scenario.items()):
        if not has_file(scenario_id):
            left_out[_IN_A_TEST] += len(talks)
            continue
        kept = _kept(files, scenario_id)
        new = [talk for talk in talks if kept is None or talk.run > kept.newest]
        left_out[_KNOWN] += len(talks) - len(new)
        fitting = list(_without_worse(kept, new, worse, len(found.by_scenario)))
        if fitting:
            left_out[_OTHERWISE] += len(fitting) - len(
                newest_alike(fitting, fitting[-1].prints, len(fitting))
            )
            changes.append(files.change(scenario_id, *_added(kept, fitting)))
    changes += files.without_gone()
    return BaselineUpdate(files.changed(), tuple(changes), (*worse, *left_out_words(+left_out)))


_IN_A_TEST = "their scenario is part of a test and has no file of its own"
_KNOWN = "the file has them already, or newer ones"
_OTHERWISE = "they rest on another scenario, prompts, judge or synthetic user than the newest ones"


def accepting(
    root: Path, scenario_ids: Sequence[str], runs: Iterable[StoredRun], accepted: Accepted, now: str
) -> BaselineUpdate:
    """The files in which the pasts of these scenarios begin again, with what these runs have of them.

    Without a conversation, the past is empty until the next update; `now` is then the id of the run, or the
    beginning of one, after which conversations count. Raises `ResultsError`.
    """
    found, files = talks_of(runs, with_red=True), _Files(root)
    changes = []
    for scenario_id in scenario_ids:
        if not has_file(scenario_id):
            raise ResultsError(f"{scenario_id} is part of a test: only scenarios in files have a baseline")
        talks, kept = found.by_scenario.get(scenario_id, ()), _kept(files, scenario_id)
        if talks:
            changes.append(files.change(scenario_id, replace(_made(talks), accepted=accepted)))
        elif kept is not None:
            empty = replace(kept, talks="", newest=now, accepted=accepted)
            changes.append(files.change(scenario_id, empty, "no conversation of it counts yet"))
    notes = (*_accepted_failures(changes), *left_out_words(found.left_out))
    return BaselineUpdate(files.changed(), tuple(changes), notes)


def _accepted_failures(changes: Iterable[PastChange]) -> Iterator[str]:
    """The scenarios that fail as they are now: accepted like this, they would block nothing for ever."""
    for one in changes:
        if one.after is not None and not fit_to_gate(Past(one.after.failed, len(one.after.talks))):
            yield (
                f"{one.scenario_id}: {_share(one.after)}, and what fails more often than not blocks nothing; "
                "if its criteria describe the agent of before, change them: its past then begins again"
            )


def _kept(files: _Files, scenario_id: str) -> KeptPast | None:
    file = files.of(scenario_id)
    return file.entries.get(file.key_of(files.root, scenario_id))


def _without_worse(
    kept: KeptPast | None, talks: Sequence[PastTalk], notes: list[str], scenarios: int
) -> Iterator[PastTalk]:
    """Leave out runs in which the scenario got worse: added, they would make a regression look as before."""
    for run, group in groupby(talks, key=lambda talk: talk.run):
        of_run = list(group)
        if kept is not None and _got_worse(kept, of_run, scenarios):
            failed = sum(talk.failed for talk in of_run)
            notes.append(
                f"{of_run[0].scenario_id}: run {run} left out, because {failed} of {len(of_run)} failed and "
                f"{kept.failed} of {len(kept.talks)} before; if that is meant, `convoprobe baseline accept` "
                "takes it in"
            )
        else:
            yield from of_run


def _got_worse(kept: KeptPast, talks: Sequence[PastTalk], scenarios: int) -> bool:
    """Whether the gate would be red on them, whatever policy their run had."""
    past = Past(kept.failed, len(kept.talks))
    alike = [talk.failed for talk in newest_alike(talks, kept.prints)]
    if not alike or not long_enough(past) or not fit_to_gate(past):
        return False
    policy = Paired(past, prior_of([past]), scenarios, most=max(len(alike), 1))
    ruling = policy.rule(alike)
    return ruling is not None and ruling.word is Word.RED


def _added(kept: KeptPast | None, talks: Sequence[PastTalk]) -> tuple[KeptPast, str]:
    """The past with these conversations, and what has to be said of it."""
    new = _made(talks)
    if kept is None:
        return new, ""
    what = changed_inputs(kept.prints, new.prints)
    if what and kept.talks:
        return new, f"begins again, because of a change: {', '.join(what)}"
    return replace(new, talks=(kept.talks + new.talks)[-MOST:], accepted=kept.accepted), ""


def _made(talks: Sequence[PastTalk]) -> KeptPast:
    """A past of those that rest on the same as the newest one."""
    newest = talks[-1]
    alike = newest_alike(talks, newest.prints)
    marks = "".join(FAILED if talk.failed else PASSED for talk in alike)
    return KeptPast(marks, newest.run, replace(newest.prints, **_OF_THE_TARGET))


_OF_THE_TARGET = {"prompts": None, "target_prompt": None, "target_tools": None}
"""What a file doesn't have: the target is what is tested, and `prompts` is the sum of other digests."""


def words_of(change: PastChange) -> str:
    """`1 of 20 → 1 of 23 failed`, with the reason where there is one."""
    said = (
        f"{_share(change.before)} → {_share(change.after)}"
        if change.before
        else f"new, {_share(change.after)}"
    )
    return f"{said} ({change.why})" if change.why else said


def _share(past: KeptPast | None) -> str:
    return f"{past.failed} of {len(past.talks)} failed" if past else "taken out"
