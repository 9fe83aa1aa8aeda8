"""GitHub annotations: what failed, shown at its line of the scenario file in a pull request's diff."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..formatting import counted
from ..result import Outcome
from ..text import one_line, shorten, visible
from .summary import Digest

MOST = 10
"""GitHub shows no more errors of one step."""

_LONGEST = 400


def commands(digests: Sequence[Digest], *, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """The workflow commands for what failed or erred, and one that counts those beyond GitHub's limit.

    `folder` is where relative files are seen from; GitHub wants them relative to the repository's root.
    """
    root = _repository(folder, environ)
    wrong = [digest for digest in digests if digest.outcome in (Outcome.FAILED, Outcome.ERROR)]
    lines = [_error(digest, _within(digest.file, folder, root)) for digest in wrong[:MOST]]
    if len(wrong) > MOST:
        more = counted(len(wrong) - MOST, "more scenario")
        lines.append(f"::notice title=convoprobe::{more} did not pass: see the summary of this job")
    return lines


@dataclass(frozen=True)
class Annotation:
    """Something to show at a line of a file. `level` is `error` or `warning`; `line` counts from 1."""

    level: str
    file: str
    line: int
    title: str
    message: str


def commands_of(annotations: Sequence[Annotation], *, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """The workflow commands for annotations: the errors first, and no more than GitHub shows."""
    root = _repository(folder, environ)
    ordered = sorted(annotations, key=lambda one: one.level != "error")[:MOST]
    return [_command(replace(one, file=_within(one.file, folder, root))) for one in ordered]


def _error(digest: Digest, file: str) -> str:
    message = digest.headline or digest.outcome.value
    return _command(Annotation("error", file, digest.line, digest.label, message))


def _command(one: Annotation) -> str:
    # Line 0 would put the annotation on no line at all.
    place = f"file={_property(one.file)},line={max(1, one.line)}," if one.file else ""
    title = _property(shorten(one_line(one.title), 120))
    return f"::{one.level} {place}title={title}::{_message(shorten(one.message, _LONGEST))}"


def _message(text: str) -> str:
    """The text as the data of a command: nothing in it ends the line or is a command."""
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """The text as the value of a property."""
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def _repository(folder: Path, environ: Mapping[str, str]) -> Path | None:
    """The checkout: GitHub's workspace if the folder is in it, else the nearest folder with a `.git`."""
    workspace = environ.get("GITHUB_WORKSPACE")
    here = folder.resolve()
    if workspace and here.is_relative_to(Path(workspace).resolve()):
        return Path(workspace).resolve()
    return next((path for path in (here, *here.parents) if (path / ".git").exists()), None)


def _within(file: str, folder: Path, root: Path | None) -> str:
    """The file as seen from the checkout; as it is where it lies outside."""
    if not file or root is None:
        return file
    path = Path(os.path.abspath(folder / file))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
