"""GitHub annotations: what failed, shown at its line of the scenario file in a pull request's diff."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
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


def _error(digest: Digest, file: str) -> str:
    # Line 0 would put the annotation on no line at all.
    place = f"file={_property(file)},line={max(1, digest.line)}," if file else ""
    title = _property(shorten(one_line(digest.label), 120))
    message = _message(shorten(digest.headline or digest.outcome.value, _LONGEST))
    return f"::error {place}title={title}::{message}"


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
