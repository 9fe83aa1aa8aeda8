"""An exception of somebody else's code in a few lines: where it happened and what it said."""

from __future__ import annotations

import os
import site
import sysconfig
import traceback
from pathlib import Path

from ..cutting import without_addresses
from ..files import shown_path
from ..redaction import Redactor
from ..text import shorten, visible

_PACKAGE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple(
    {sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    | set(site.getsitepackages())
    | {site.getusersitepackages()}
)
_MAX_FRAMES = 3
_MAX_TEXT = 500
# Cut before it is searched for secrets, which takes long in megabytes. What is cut in two here isn't shown.
_SEARCHED = 8 * _MAX_TEXT


def clean(text: str, redactor: Redactor | None = None, *, limit: int = _MAX_TEXT) -> str:
    """Text of unknown origin for a message: no secrets, nothing invisible, not too long."""
    return shorten(visible((redactor or Redactor()).text(text)), limit)


def describe(error: BaseException) -> str:
    """`KeyError: 'gizmo'`: type and text on one line."""
    try:
        text = without_addresses(str(error)[:_SEARCHED])
    except Exception:  # noqa: BLE001 - a broken __str__ must not lose the error
        text = "(its text can't be had)"
    name = type(error).__qualname__
    return clean(" ".join(f"{name}: {text}".split()) if text.strip() else name)


def short_trace(error: BaseException) -> str:
    """At most eight lines: the last frames of the user's own code, each with its line, then the error.

    Frames of this package, the standard library and installed packages are left out; if nothing
    else is there, the innermost one stays. A cause (`raise … from …`) has a line of its own.
    """
    frames = own_frames(traceback.extract_tb(error.__traceback__))
    lines = [line for frame in frames for line in frame_lines(frame)]
    lines.extend(_syntax_lines(error))
    lines.append(describe(error))
    if error.__cause__ is not None:
        lines.append(f"caused by {describe(error.__cause__)}")
    return "\n".join(lines)


def own_frames(stack: traceback.StackSummary) -> list[traceback.FrameSummary]:
    """The last frames of the user's own code; if there is none, the innermost that isn't ours."""
    frames = [frame for frame in stack if not _is_plumbing(frame)]
    own = [frame for frame in frames if not _is_library(frame.filename)]
    return (own or frames[-1:])[-_MAX_FRAMES:]


def _is_plumbing(frame: traceback.FrameSummary) -> bool:
    """Our own package and the import machinery: never worth showing."""
    return frame.filename.startswith((_PACKAGE + os.sep, "<frozen "))


def _is_library(filename: str) -> bool:
    return filename.startswith(_LIBRARIES)


def place_of(frame: traceback.FrameSummary) -> str:
    """`file:line: in function`."""
    return f"{shown_path(Path(frame.filename).resolve())}:{frame.lineno}: in {frame.name}"


def frame_lines(frame: traceback.FrameSummary) -> list[str]:
    """The place, and the line of code if it can be had."""
    head = place_of(frame)
    return [head, f"    {clean(frame.line[:_SEARCHED])}"] if frame.line else [head]


def _syntax_lines(error: BaseException) -> list[str]:
    """Where Python can't read the code. Nothing ran there, so the traceback has no frame for it."""
    if not isinstance(error, SyntaxError) or error.filename is None:
        return []
    head = f"{shown_path(Path(error.filename).resolve())}:{error.lineno}"
    return [head, f"    {clean(error.text.strip()[:_SEARCHED])}"] if error.text else [head]
