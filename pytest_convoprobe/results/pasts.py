"""How often each scenario failed before: what its gate compares a run with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..files import relative_name
from ..formatting import counted, moment
from ..gate.policies import LEAST_PAST, fit_to_gate, long_enough
from ..gate.types import Past
from .audit_file import Audit, read_audit
from .baseline_file import Accepted, BaselineFile, KeptPast, file_for, read_baseline
from .fingerprints import Prints, changed_inputs
from .lookup import runs_before
from .past_talks import PastTalk, left_out_words, newest_alike, talks_of

_BY_CONFIRM = "decided by confirm"


@dataclass(frozen=True)
class FoundPast:
    """What is known of a scenario's past; `past` is None where the gate can't compare with it.

    `note` says why not, or what a reader should know besides. `may_block` is False where the scenario failed
    more often than not, or somebody accepted a change of it just now: then it is only reported.
    """

    past: Past | None = None
    note: str = ""
    may_block: bool = True


@dataclass
class Pasts:
    """The pasts of a run's scenarios. Files of baselines are read when a scenario first asks, and kept.

    `root` is where the ids of scenarios begin. `source` names what all pasts are from; empty where each
    scenario has the file beside it, or none. `audit` is the last one of the suite: a scenario whose verdicts
    flipped in it blocks nothing.
    """

    root: Path
    source: str = ""
    talks: Mapping[str, Sequence[PastTalk]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    audit: Audit | None = None
    _named: BaselineFile | None = None
    _files: dict[Path, BaselineFile] = field(default_factory=dict)

    def of(self, scenario_id: str, prints: Prints) -> Past | None:
        """How often the scenario failed before, on the same fingerprints; None if that isn't known.

        Fingerprints of the target don't count: `take_prints` with an empty description has all that do.
        Raises `ResultsError` if a file of a baseline can't be used.
        """
        return self.find(scenario_id, prints).past

    def find(self, scenario_id: str, prints: Prints) -> FoundPast:
        """The same, with what there is to say. Raises `ResultsError`."""
        return _steady(self._find(scenario_id, prints), self.audit, scenario_id, prints)

    def _find(self, scenario_id: str, prints: Prints) -> FoundPast:
        if self.source and self._named is None:
            return _of_talks(self.talks.get(scenario_id, ()), prints, self.source)
        file = self._file(scenario_id)
        if file is None:
            return FoundPast()
        entry = file.entries.get(file.key_of(self.root, scenario_id))
        return _of_entry(entry, prints, relative_name(file.path, self.root))

    def has_file(self, scenario_id: str) -> bool:
        """Whether there is a baseline that may know the scenario."""
        return bool(self.source) or file_for(self.root, scenario_id) is not None

    def _file(self, scenario_id: str) -> BaselineFile | None:
        if self._named is not None:
            return self._named
        path = file_for(self.root, scenario_id)
        if path is None:
            return None
        if path not in self._files:
            self._files[path] = read_baseline(path)
        return self._files[path]


def pasts_of(root: Path, results: Path | None = None, named: str | None = None, *, before: str = "") -> Pasts:
    """The pasts that a run's scenarios have.

    `named` is what somebody gave as the baseline: a stored run, a branch, tag or commit (then the runs of all
    its history count), or a file of a baseline. Without it each scenario has the `_baseline.json` beside it,
    or at the nearest folder above. `results` is the folder of stored runs; `before` the id of the run that is
    beginning, which is no part of its own past. Raises `ResultsError`.
    """
    audit = _recent_audit(results)
    if named is None:
        return Pasts(root, audit=audit)
    path = root / named
    if names_file(root, named):
        return Pasts(root, source=relative_name(path, root), audit=audit, _named=read_baseline(path))
    runs = runs_before(results or root, named, before=before)
    found = talks_of(ref.open() for ref in runs)
    source = f"run {runs[0].id}" if len(runs) == 1 else f"{len(runs)} runs of {named}"
    return Pasts(root, source, found.by_scenario, tuple(left_out_words(found.left_out)), audit)


def names_file(root: Path, named: str) -> bool:
    """Whether what somebody gave as the baseline is a file of one, and not a run or a git name."""
    return (root / named).suffix == ".json" and (root / named).is_file()


def _recent_audit(results: Path | None) -> Audit | None:
    """The last audit, unless it is so old that it says nothing about the judge of today."""
    audit = read_audit(results) if results is not None else None
    return None if audit is None or audit.is_old(time.time()) else audit


def _of_talks(talks: Sequence[PastTalk], prints: Prints, source: str) -> FoundPast:
    alike = newest_alike(talks, prints)
    if talks and not alike:
        return _changed(talks[-1].prints, prints, source)
    return _judged(Past(sum(talk.failed for talk in alike), len(alike), source))


def _of_entry(entry: KeptPast | None, prints: Prints, source: str) -> FoundPast:
    if entry is None:
        return _judged(Past(0, 0, source))
    if changed_inputs(entry.prints, prints):
        return _changed(entry.prints, prints, source)
    past = Past(entry.failed, len(entry.talks), f"{source} of {entry.date}" if entry.date else source)
    return _judged(past) if entry.accepted is None else _accepted(past, entry.accepted)


def _steady(found: FoundPast, audit: Audit | None, scenario_id: str, prints: Prints) -> FoundPast:
    """What was found, unless the judge's verdicts on the scenario flip: then it is only reported."""
    one = audit.of(scenario_id) if audit is not None else None
    if audit is None or one is None or not one.is_unsteady or not one.is_about(prints):
        return found
    flips = (
        f"{one.flips.flipped} of {one.flips.asked} verdicts flipped in the audit of {moment(audit.at)[:10]}"
    )
    note = "; ".join(filter(None, (found.note, f"{flips}, so it is only reported")))
    return replace(found, note=note, may_block=False)


def _accepted(past: Past, accepted: Accepted) -> FoundPast:
    """The past since a change that was meant. While it is short, it can't block: the change would."""
    meant = f"a change was accepted on {accepted.date}: {accepted.reason}"
    if not long_enough(past):
        talks = counted(past.talks, "conversation")
        few = f"{talks} since then, so it is only reported until there are {LEAST_PAST}"
        return FoundPast(note=f"{meant}; {few}", may_block=False)
    found = _judged(past)
    return FoundPast(found.past, "; ".join(filter(None, (found.note, meant))), found.may_block)


def _changed(before: Prints, now: Prints, source: str) -> FoundPast:
    what = ", ".join(changed_inputs(before, now))
    return FoundPast(note=f"changed since {source}: {what}; {_BY_CONFIRM}")


def _judged(past: Past) -> FoundPast:
    """A past that is long enough to compare with, and in which the scenario passed more often than not."""
    if not past.talks:
        return FoundPast(note=f"{past.source} has no conversation of it; {_BY_CONFIRM}")
    if not long_enough(past):
        talks = counted(past.talks, "conversation")
        few = f"{past.source} has only {talks} of it, and at least {LEAST_PAST} are needed"
        return FoundPast(note=f"{few}; {_BY_CONFIRM}")
    if not fit_to_gate(past):
        often = f"it failed {past.failed} of {past.talks} before"
        return FoundPast(past, f"{often}: too often to block anything, so it is only reported", False)
    return FoundPast(past)
