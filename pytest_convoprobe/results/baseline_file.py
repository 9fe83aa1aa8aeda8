"""`_baseline.json`: how scenarios did before, in a file of the repository beside them.

Its text is made for review and for version control: scenarios in order, a few lines each, and each
conversation one character, so that a nightly update adds to the end of a line. It has names, digests and
counts, and nothing that anybody said.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ..errors import Problem, ResultsError
from ..files import cannot, locked, read_text, relative_name, shown_path, write_atomically
from ..outside_json import doubled_key, read_json
from ..yaml_source import Document, parse
from ..yaml_source.explain import explain, refusal
from .fingerprints import Prints
from .past_talks import MOST

NAME = "_baseline.json"
"""The underscore keeps it from being taken for a scenario, whatever patterns a project has."""

VERSION = 1
PASSED, FAILED = ".", "x"
_ABOUT = (
    "How each scenario did before, the newest conversation last: . passed, x failed. "
    "`convoprobe baseline` writes this file; the gate compares with it."
)
_MERGE = re.compile(r"^(<{7}|={7}|>{7})", re.MULTILINE)
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Accepted:
    """A change that was meant: the past of the scenario began again on that `date` (ISO), for a `reason`."""

    date: str
    reason: str


@dataclass(frozen=True)
class KeptPast:
    """One scenario's past.

    `talks` has a character for each conversation, the newest last: `.` passed, `x` failed; at most 50.
    `newest` is the id of the newest run in it. `prints` says what all of them rest on.
    """

    talks: str
    newest: str
    prints: Prints
    accepted: Accepted | None = None

    @property
    def failed(self) -> int:
        return self.talks.count(FAILED)

    @property
    def date(self) -> str:
        """The day of the newest run, `2026-11-28`; empty if its id doesn't say."""
        day = re.match(r"(\d{4})(\d{2})(\d{2})T", self.newest)
        return "-".join(day.groups()) if day else ""


@dataclass(frozen=True)
class BaselineFile:
    """A file's contents: the entries by scenario, whose ids begin at the file's own folder."""

    path: Path
    entries: Mapping[str, KeptPast] = field(default_factory=dict)

    def key_of(self, root: Path, scenario_id: str) -> str:
        """A scenario's name in this file; `root` is where its id begins."""
        file, _, name = scenario_id.partition("::")
        key = f"{relative_name(root / file, self.path.parent)}::{name}"
        # Names of files may have bytes that are no text.
        return key.encode("utf-8", "backslashreplace").decode("utf-8")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class _Prints(_Part):
    scenario: Digest
    prompts: Digest
    judge: Digest
    user: Digest


class _Accepted(_Part):
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    reason: Annotated[str, StringConstraints(min_length=1)]


class _Entry(_Part):
    failed: int = Field(ge=0, strict=True)
    of: int = Field(ge=0, le=MOST, strict=True)
    talks: Annotated[str, StringConstraints(pattern=r"^[.x]*$")]
    newest: Annotated[str, StringConstraints(pattern=r"^\d{8}T\d{6}Z")]
    judge: str | None
    user: str | None
    prints: _Prints
    accepted: _Accepted | None = None

    @model_validator(mode="after")
    def _counts_agree(self) -> _Entry:
        """Whoever edits one of the two by hand has to see that the other says something else."""
        found = f"{self.talks.count(FAILED)} of {len(self.talks)}"
        if found != f"{self.failed} of {self.of}":
            raise refusal(
                f"`failed` and `of` say {self.failed} of {self.of}, and `talks` has {found}; "
                "`convoprobe baseline` writes both"
            )
        return self


class _File(_Part):
    version: int
    about: str = ""
    scenarios: dict[str, _Entry]


def read_baseline(path: Path) -> BaselineFile:
    """The file at a path. Raises `ResultsError` with file, line and column for whatever isn't one."""
    try:
        text = read_text(path, "utf-8-sig")  # some editors put a mark at the beginning
    except UnicodeDecodeError:
        raise _problem(path, Problem("it is not text in UTF-8")) from None
    except OSError as error:
        raise ResultsError(f"{cannot(path, 'read', error)}. {_WHAT_TO_DO}") from None
    return BaselineFile(path, loads(text, path))


def loads(text: str, path: Path) -> dict[str, KeptPast]:
    """The entries of a file's text. Raises `ResultsError`."""
    data = _json(text, path)
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > VERSION:
        message = f"it has version {version} of the format, and this release reads up to {VERSION}"
        raise _problem(path, Problem(f"{message}; update pytest-convoprobe"))
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        raise _problem(path, explain(error, _document(text, data), _File)[0]) from None
    return {name: _entry(one) for name, one in file.scenarios.items()}


def _document(text: str, data: Any) -> Document:
    """The text with the place of each value. JSON is YAML, nearly: where it isn't, there are no places."""
    documents = parse(text).documents
    return documents[0] if len(documents) == 1 else Document(data)


def _json(text: str, path: Path) -> Any:
    if mark := _MERGE.search(text):
        line = text.count("\n", 0, mark.start()) + 1
        raise _problem(path, Problem("a merge left its marks here: keep one of the two sides", line=line))
    try:
        data = read_json(text)
        doubled = doubled_key(text)
    except json.JSONDecodeError as error:
        place = Problem(f"it is not whole JSON: {error.msg}", line=error.lineno, column=error.colno)
        raise _problem(path, place) from None
    except ValueError as error:
        raise _problem(path, Problem(f"it is not JSON: {error}")) from None
    if doubled is not None:
        line = text.count("\n", 0, text.rfind(_text(doubled))) + 1
        raise _problem(path, Problem(f"the key {_text(doubled)} is given twice", line=line))
    return data


_WHAT_TO_DO = (
    "A broken baseline is not the same as none. Restore the file from version control, or remove it and run "
    "`convoprobe baseline update`."
)


def _problem(path: Path, problem: Problem) -> ResultsError:
    placed = Problem(
        problem.message, shown_path(path), problem.line, problem.column, problem.path, problem.source_line
    )
    return ResultsError(f"{placed}\n{_WHAT_TO_DO}")


def _entry(one: _Entry) -> KeptPast:
    prints = Prints(
        scenario=one.prints.scenario,
        own_prompts=one.prints.prompts,
        judge=one.prints.judge,
        judge_model=one.judge,
        user=one.prints.user,
        user_model=one.user,
    )
    accepted = Accepted(one.accepted.date, one.accepted.reason) if one.accepted else None
    return KeptPast(one.talks, one.newest, prints, accepted)


def dumps(entries: Mapping[str, KeptPast]) -> str:
    """The text of a file: the same entries always give the same text."""
    scenarios = [f"    {_text(name)}: {{\n{_lines(entries[name])}\n    }}" for name in sorted(entries)]
    inside = "{\n" + ",\n".join(scenarios) + "\n  }" if scenarios else "{}"
    return f'{{\n  "version": {VERSION},\n  "about": {_text(_ABOUT)},\n  "scenarios": {inside}\n}}\n'


def _lines(entry: KeptPast) -> str:
    """Several values a line: what changes together is together, and a review stays short."""
    prints = entry.prints
    digests = {
        "scenario": prints.scenario,
        "prompts": prints.own_prompts,
        "judge": prints.judge,
        "user": prints.user,
    }
    lines = [
        {"failed": entry.failed, "of": len(entry.talks), "talks": entry.talks, "newest": entry.newest},
        {"judge": prints.judge_model, "user": prints.user_model},
        {"prints": digests},
    ]
    if entry.accepted:
        lines.append({"accepted": {"date": entry.accepted.date, "reason": entry.accepted.reason}})
    return ",\n".join(f"      {_text(line)[1:-1]}" for line in lines)


def _text(value: object) -> str:
    # Characters that a page of a review hides, or that turn its text around, are escaped.
    text = json.dumps(value, ensure_ascii=False)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@contextlib.contextmanager
def changing_baselines(root: Path) -> Iterator[None]:
    """Keep other processes from changing the files below `root` between reading and writing them.

    Of two updates at once, one would otherwise write what it read before the other wrote, and take that
    back. Raises `ResultsError` if somebody else takes too long.
    """
    with contextlib.ExitStack() as lock:
        try:
            lock.enter_context(locked(root))
        except (OSError, TimeoutError) as error:
            raise ResultsError(f"the files of baselines cannot be changed: {error}") from None
        yield


def write_baseline(path: Path, entries: Mapping[str, KeptPast], *, has_locked: Path | None = None) -> None:
    """Replace the file in one step. Raises `ResultsError` if the disk refuses.

    `has_locked` is a folder that the caller has locked: to lock it again would wait for oneself.
    """
    try:
        ours = has_locked is not None and path.parent.samefile(has_locked)
        with contextlib.nullcontext() if ours else locked(path.parent):
            write_atomically(path, dumps(entries).encode("utf-8"))
    except (OSError, TimeoutError) as error:
        words = cannot(path, "written", error) if isinstance(error, OSError) else str(error)
        raise ResultsError(words) from None


def file_for(root: Path, scenario_id: str) -> Path | None:
    """The file that has the past of a scenario: the nearest one at or above its folder, up to `root`."""
    folder = _folder(root, scenario_id)
    # A link that leads nowhere is a broken baseline too, and reading it says so.
    return next((one / NAME for one in _upwards(root, folder) if os.path.lexists(one / NAME)), None)


def new_file_for(root: Path, scenario_id: str) -> Path:
    """Where the past of a scenario is written if there is no file: in its folder named `scenarios`, or else
    beside it.
    """
    folder = _folder(root, scenario_id)
    of_scenarios = [one for one in _upwards(root, folder) if one.name == "scenarios"]
    return (of_scenarios[-1] if of_scenarios else folder) / NAME


def kept_past(root: Path, scenario_id: str) -> KeptPast | None:
    """What the file of a scenario has of it. Raises `ResultsError` if the file can't be used."""
    path = file_for(root, scenario_id)
    if path is None:
        return None
    file = read_baseline(path)
    return file.entries.get(file.key_of(root, scenario_id))


def _folder(root: Path, scenario_id: str) -> Path:
    return (root / scenario_id.partition("::")[0]).parent


def _upwards(root: Path, folder: Path) -> Iterable[Path]:
    above = (folder, *folder.parents)
    return above[: above.index(root) + 1] if root in above else [folder]
