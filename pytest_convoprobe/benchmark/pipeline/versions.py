"""Which version of each target is running: asked before a run talks with it, and kept for what only looks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path

from ...errors import ConvoprobeError, TargetUnavailable
from ...files import read_file, write_atomically
from ...targets.factory import build_target
from ...targets.port import Versioned
from ...text import one_line, shorten
from ..format.folder import BenchmarkFolder
from ..format.models import TargetEntry
from ..format.project import LoadedBenchmark

_SHOWN = 200


async def ask_versions(loaded: LoadedBenchmark) -> Mapping[str, str]:
    """The version of each target that reports one, by id.

    Raises `TargetUnavailable` for one that doesn't answer: nobody would know which agent its rows are of.
    """
    entries = [entry for entry in loaded.config.targets if entry.settings.reports_version()]
    found = {entry.id: await _ask(entry, loaded.root) for entry in entries}
    if found:
        _keep(loaded.folder.rows, {**last_versions(loaded), **found})
    return found


async def _ask(entry: TargetEntry, root: Path) -> str:
    target = build_target(entry.settings, rootdir=root)
    try:
        return await target.version() if isinstance(target, Versioned) else ""
    except ConvoprobeError as error:
        reason = shorten(one_line(str(error)), _SHOWN)
        raise TargetUnavailable(f"the target {entry.id} doesn't report its version: {reason}") from None
    finally:
        await target.aclose()


def last_versions(loaded: LoadedBenchmark) -> Mapping[str, str]:
    """What targets reported to the last run: for commands that call nothing."""
    try:
        found = json.loads(read_file(_file(loaded.folder.rows)))
    except (OSError, ValueError):
        return {}
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else {}


def carry_versions(old: LoadedBenchmark, new: BenchmarkFolder) -> None:
    """Keep the versions beside conversations that are copied: their keys are made of them."""
    if versions := last_versions(old):
        new.rows.mkdir(parents=True, exist_ok=True)
        _keep(new.rows, versions)


def _keep(rows: Path, versions: Mapping[str, str]) -> None:
    # It only spares looking commands a question. Where rows can't be written, the run itself says so.
    with contextlib.suppress(OSError):
        write_atomically(_file(rows), json.dumps(versions).encode("ascii"))


def _file(rows: Path) -> Path:
    return rows / "versions.json"
