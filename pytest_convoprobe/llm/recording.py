"""A recording: the models' replies in one scenario, in a file beside the scenario's file."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Literal

from ..errors import RecordingUnusable
from ..files import locked, read_file, shown_path, write_atomically
from ..scenario.discovery import project_root
from .fingerprint import Fingerprint
from .port import Role
from .recording_format import Contents, FormatError, LaterVersion, RecordedCall, dumps, loads

Mode = Literal["off", "auto", "only", "record"]
"""What is replayed, and what is recorded."""

_MAX_SLUG = 60
# Names that Windows reserves for devices, with any ending.
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_UNPORTABLE = re.compile(r'[\x00-\x1f\ud800-\udfff<>:"|?*\\]|[ .]$')
# Most file systems allow 255 bytes; this leaves room for endings and temporary names.
_MAX_BYTES = 200


class _Broken(RecordingUnusable):
    """A file that is incomplete, or invalid after an edit."""


def recording_path(scenario_file: Path, scenario_id: str, folder: str) -> Path:
    """Where the recording of a scenario is kept, all trials in one file.

    `scenario_id` is the scenario's id within its file (a node id would tie the name to the
    folder that pytest was started in); `folder` is the setting `run.recordings`.
    """
    name = scenario_file.stem if scenario_file.suffix.lower() == ".yaml" else scenario_file.name
    return scenario_file.parent / folder / _portable(name) / f"{_slug(scenario_id)}.json"


def file_name(name: str) -> str:
    """Turn any name into a file name that is valid on every system, without an ending."""
    return _slug(name) if "/" in name else _portable(name)


def _portable(name: str) -> str:
    unfit = _UNPORTABLE.search(name) or _RESERVED.fullmatch(name) or len(name.encode()) > _MAX_BYTES
    return _slug(name) if unfit else name


def _slug(name: str) -> str:
    """A file name that is valid on every system, with a hash if the words alone might not be unique."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_MAX_SLUG].strip("-")
    if words == name and not _RESERVED.fullmatch(words):
        return words
    # Of the whole name: two names may have the same words, or the same first sixty characters.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{words or 'scenario'}-{digest}"


class Recording:
    """The file of one scenario. It is read at first use, so a run without replay never opens it."""

    def __init__(self, path: Path, *, folder: str = "", today: Callable[[], date] = date.today) -> None:
        self.path = path
        self._folder = folder
        self._today = today
        self._contents: Contents | None = None
        self._added: list[RecordedCall] = []
        self._begun: dict[int, datetime] = {}

    @classmethod
    def open(cls, path: Path, folder: str = "") -> Recording:
        """The recording at `path`, which need not exist.

        `folder` is the setting `run.recordings`. If it is the name of a folder and doesn't lead elsewhere by
        itself, neither may a symbolic link: the recording is used only if it lies inside the project.
        """
        return cls(path, folder=folder)

    @cached_property
    def _inside(self) -> Path | None:
        """The project in which the file has to lie; None if it may lie anywhere."""
        folder = self._folder
        leads_elsewhere = not folder or Path(folder).is_absolute() or ".." in Path(folder).parts
        return None if leads_elsewhere else _project_of(self.path, folder)

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """What was recorded before this run, sorted. Raises `RecordingUnusable`."""
        return self._whole.calls

    @property
    def _whole(self) -> Contents:
        if self._contents is None:
            contents = self._read()
            ordered = tuple(sorted(contents.calls, key=lambda call: call.place))
            self._contents = replace(contents, calls=ordered)
        return self._contents

    def start_of(self, trial: int) -> datetime | None:
        """When the recorded conversation of the trial began; None if that is not recorded.

        Raises `RecordingUnusable`.
        """
        return self._whole.now.get(trial)

    def has(self, trial: int) -> bool:
        """Whether any call of the trial is recorded. Raises `RecordingUnusable`."""
        return any(call.trial == trial for call in self.calls)

    def begin(self, trial: int, now: datetime) -> None:
        """Take in when the trial's conversation begins; `save` writes it beside the calls."""
        self._begun[trial] = now

    def lookup(
        self, trial: int, role: Role, turn: int, request: Fingerprint, repeat: int = 1
    ) -> RecordedCall | None:
        """The recorded call that is the same; `repeat` counts equal calls in one turn, from 1."""
        same = [call for call in self.at(trial, role, turn) if call.request.digest == request.digest]
        return same[repeat - 1] if repeat <= len(same) else None

    def at(self, trial: int, role: Role, turn: int) -> tuple[RecordedCall, ...]:
        """What was recorded for a role in a turn, in order."""
        place = (trial, role, turn)
        return tuple(call for call in self.calls if (call.trial, call.role, call.turn) == place)

    def of_role(self, trial: int, role: Role) -> tuple[RecordedCall, ...]:
        """What was recorded for a role in all turns of a trial, in order."""
        return tuple(call for call in self.calls if (call.trial, call.role) == (trial, role))

    def add(self, call: RecordedCall) -> None:
        """Take a new call in; `save` writes it."""
        self._added.append(call)

    def save(self, *, instead_of: int | None = None, keep: Sequence[RecordedCall] = ()) -> None:
        """Write the added calls to the file, beside what it contains at that time.

        With `instead_of`, the number of a trial, that trial's old calls are dropped except those in `keep`.
        Calls of other trials stay, including those that another process has written in the meantime.
        Raises `RecordingUnusable`.
        """
        self._require_inside()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Workers of xdist record trials of one scenario into one file.
            with locked(self.path.parent):
                present = self._present(instead_of)
                old = [call for call in present.calls if call.trial != instead_of]
                # The later wins: a call that was made again replaces the recorded one at its place.
                calls = {call.place: call for call in [*old, *keep, *self._added]}
                trials = {call.trial for call in calls.values()}
                now = {trial: at for trial, at in {**present.now, **self._begun}.items() if trial in trials}
                text = dumps(calls.values(), recorded=self._today().isoformat(), now=now)
                write_atomically(self.path, text.encode("utf-8"))
        except OSError as error:
            reason = error.strerror or str(error)
            raise RecordingUnusable(f"{self._cannot_be()}written: {reason}") from error
        self._contents, self._added = None, []

    def _cannot_be(self, place: str = "") -> str:
        """How every message about the file begins; `place` is as in `FormatError`."""
        return f"{shown_path(self.path)}{place}: the recording cannot be "

    def _present(self, instead_of: int | None) -> Contents:
        """What the file contains now. A broken file may be replaced if its trial is recorded again."""
        try:
            return self._read()
        except _Broken:
            if instead_of is None:
                raise
            return Contents()

    def check(self) -> None:
        """Raise `RecordingUnusable` if the file must not be overwritten: a later release wrote it."""
        try:
            self._read()
        except _Broken:
            return

    def _require_inside(self) -> None:
        """A link in a checkout may not have files elsewhere read, or replaced."""
        place = Path(os.path.realpath(self.path))
        if self._inside is not None and self._inside not in place.parents:
            raise RecordingUnusable(
                f"{self._cannot_be()}used: a link leads out of the project, to {shown_path(place.parent)}. "
                "If that is meant, give the whole path of the folder in the settings (`run.recordings`)"
            )

    def _read(self) -> Contents:
        self._require_inside()
        try:
            return loads(read_file(self.path))
        except FileNotFoundError:
            return Contents()
        except OSError as error:
            reason = error.strerror or str(error)
            raise RecordingUnusable(f"{self._cannot_be()}read: {reason}") from error
        except FormatError as error:
            raise _unusable(self._cannot_be(error.place), error) from None


def _project_of(path: Path, folder: str) -> Path:
    """The project that the folder with the folder of recordings belongs to, without symbolic links."""
    name = Path(folder).parts[0]
    beside = next((above.parent for above in path.parents if above.name == name), path.parent)
    return project_root(Path(os.path.realpath(beside)))


def _unusable(cannot_be: str, error: FormatError) -> RecordingUnusable:
    if isinstance(error, LaterVersion):
        return RecordingUnusable(f"{cannot_be}read: {error}. Update pytest-convoprobe.")
    return _Broken(
        f"{cannot_be}read: {error}. Restore the file from version control, or delete it: "
        "a run that records creates it again."
    )
