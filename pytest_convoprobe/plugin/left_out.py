"""Scenario files that would not run: found by a walk of our own, and never passed over in silence.

pytest passes by folders of certain names (`build`, `dist`), and links that lead nowhere. A gate is worth
nothing if it is green because a folder was renamed, or a key misspelt. What somebody left out on purpose is
no fault, and in a project that doesn't use us nothing is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ..files import shown_path
from ..formatting import counted
from ..scenario.discovery import looks_like_scenario, misspelt_key
from ..scenario.search import NO_RECURSE, Found, passed_by, search
from .file_names import asked_folders, files_seen, may_be_benchmark, patterns_of, root_of, uses_us
from .keys import LEFT_OUT
from .lookahead import TARGET_FIXTURE, is_of_project

_WORKER_OUTPUT = "convoprobe_left_out"
_SHOWN = 20


@dataclass(frozen=True)
class LeftOut:
    """A file that will not run. `error`: it is a scenario, or may be one that cannot be read."""

    path: Path
    reason: str
    error: bool

    def __str__(self) -> str:
        return f"{shown_path(self.path)}: {self.reason}"


def check(session: pytest.Session) -> None:
    """Stop before anything is spent if a scenario is left out; what else is left out is noted.

    In a worker of xdist, and where an exception would hide other errors, the run's end reports it.
    """
    config = session.config
    if session.shouldstop or session.shouldfail or sys.exc_info()[1] is not None:
        return  # pytest broke off its own walk, or Ctrl-C did: this is called on the way out, too
    found = [*_left_out(session), *_left_alone(session)]
    config.stash[LEFT_OUT] = [str(one) for one in found if not one.error]
    worker: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if worker is not None:
        errors = [str(one) for one in found if one.error]
        worker[_WORKER_OUTPUT] = {"errors": errors, "notes": notes(config)}
        return
    if not (errors := [str(one) for one in found if one.error]):
        return
    if config.option.collectonly or session.testsfailed:
        config.pluginmanager.register(AtTheEnd(errors), "convoprobe-left-out")
    else:
        raise pytest.UsageError(_in_words(errors))


def notes(config: pytest.Config) -> list[str]:
    """Lines on what was left out and isn't an error."""
    found = config.stash.get(LEFT_OUT, [])
    return [f"note: left out: {line}" for line in _shortened(found)]


class AtTheEnd:
    """The hooks of a session that could not be stopped: its end is red, and says why.

    `notes` have not been shown yet, as the process at hand collected nothing.
    """

    def __init__(self, errors: list[str], notes: list[str] | None = None) -> None:
        self._errors = errors
        self._notes = notes or []

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._errors and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for note in self._notes:
            terminalreporter.line(note)
        if self._errors:
            terminalreporter.section("convoprobe: scenarios that were left out", red=True)
            terminalreporter.line(_in_words(self._errors))


def take_from_worker(config: pytest.Config, output: dict[str, Any]) -> None:
    """Take what a worker of xdist found: all of them collect, and find the same."""
    found = output.get(_WORKER_OUTPUT)
    if found and any(found.values()) and not config.pluginmanager.hasplugin("convoprobe-left-out"):
        config.pluginmanager.register(AtTheEnd(**found), "convoprobe-left-out")


def _in_words(errors: list[str]) -> str:
    listed = "\n".join(f"  {line}" for line in _shortened(errors))
    return (
        f"{counted(len(errors), 'scenario file')} would not run, and nothing else would say so:\n{listed}\n"
        "Move or remove them, or leave them out on purpose: with `--ignore=PATH` (or in `addopts`), or with "
        "a name that begins with `_`"
    )


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return lines if more <= 0 else [*lines[:_SHOWN], f"and {more} more"]


def _left_out(session: pytest.Session) -> Iterator[LeftOut]:
    """What the walk finds and pytest did not come by, below the folders that it was asked to search."""
    config = session.config
    ours = uses_us(config)
    for folder in asked_folders(config):
        found = search(folder, root_of(config, folder / "any"), patterns_of(config))
        yield from (one for one in _of_folder(config, folder, found) if ours or looks_like_scenario(one.path))
    if ours and config.args_source is config.ArgsSource.TESTPATHS:
        yield from _outside_of_testpaths(config)


def _left_alone(session: pytest.Session) -> Iterator[LeftOut]:
    """What has the name of a scenario file and nothing else of one, in a project that uses us."""
    # Only now is it known whether the project does: the first scenario may have come after such a file.
    found = files_seen(session.config).left_alone
    if not found or not (uses_us(session.config) or _code_uses_us(session)):
        return
    for path in found:
        if not os.access(path, os.R_OK):
            yield LeftOut(path, "the file cannot be read", error=True)
        elif may_be_benchmark(path):
            yield LeftOut(path, "nothing in it or beside it says that it is a benchmark of ours", error=False)
        elif slip := misspelt_key(path):
            yield LeftOut(
                path, f"`{slip[0]}` is not a key of a scenario; did you mean `{slip[1]}`?", error=True
            )
        else:
            keys = "it has neither `synthetic_user` nor `evaluation`"
            yield LeftOut(path, f"{keys}, so it is not taken for a scenario", error=False)


def _code_uses_us(session: pytest.Session) -> bool:
    """Whether the project's code has our fixture or hooks, or a test asks for a fixture of ours."""
    names = ("convoprobe", TARGET_FIXTURE)
    if any(name in names for item in session.items for name in getattr(item, "fixturenames", ())):
        return True
    plugins = session.config.pluginmanager.get_plugins()
    return any(
        name == TARGET_FIXTURE or name.startswith("pytest_convoprobe_")
        for module in plugins
        if isinstance(module, ModuleType)
        and is_of_project(Path(getattr(module, "__file__", None) or ""), session.config.rootpath)
        for name in vars(module)
    )


def _outside_of_testpaths(config: pytest.Config) -> Iterator[LeftOut]:
    """Scenarios in folders that the list doesn't name: it was often written before there were any."""
    folders = asked_folders(config)
    by_folder: dict[Path, list[Path]] = {}
    for path in search(config.rootpath, config.rootpath, patterns_of(config)).scenarios:
        asked = path in files_seen(config) or any(folder in path.parents for folder in folders)
        if not asked and looks_like_scenario(path):
            by_folder.setdefault(path.parent, []).append(path)
    for folder, paths in by_folder.items():
        if len(paths) == 1:
            yield LeftOut(paths[0], "`testpaths` does not name its folder", error=False)
        else:
            files = counted(len(paths), "scenario file")
            yield LeftOut(folder, f"`testpaths` does not name this folder, which has {files}", error=False)


def _of_folder(config: pytest.Config, folder: Path, found: Found) -> Iterator[LeftOut]:
    seen = files_seen(config)
    for one in found.unreadable:
        _, meant = _reason(config, one.path, folder)
        yield LeftOut(one.path, one.reason, error=not meant)
    for path in [*found.scenarios, *found.benchmarks]:
        if path not in seen:
            reason, meant = _reason(config, path, folder)
            scenario = path in found.benchmarks or looks_like_scenario(path)
            yield LeftOut(path, reason, error=scenario and not meant)


def _reason(config: pytest.Config, path: Path, folder: Path) -> tuple[str, bool]:
    """Why pytest did not come by a file, and whether that was somebody's will."""
    patterns: list[str] = config.getini("norecursedirs")
    if found := passed_by(path, folder, patterns):
        # A list that somebody wrote is their will; pytest's own list knows nothing of scenarios.
        meant = tuple(patterns) != NO_RECURSE or _told_to_ignore(config, found[0])
        return f"pytest passes by folders named `{found[1]}` (norecursedirs)", meant
    if any(one in files_seen(config).ignored for one in (path, *path.parents)):
        return "pytest was told to ignore it", True
    return "pytest did not come by it", False


def _told_to_ignore(config: pytest.Config, folder: Path) -> bool:
    """Whether an option or a conftest.py names a folder that pytest passes by anyhow."""
    start = config.invocation_params.dir
    named = [start / one for one in config.getoption("ignore") or []]
    globs = [str(start / one) for one in config.getoption("ignore_glob") or []]
    # The only way to what a conftest.py says; without it the folder counts as one that nobody named.
    of_conftest = getattr(config, "_getconftest_pathlist", lambda *_, **__: None)
    named += of_conftest("collect_ignore", path=folder.parent) or []
    globs += map(str, of_conftest("collect_ignore_glob", path=folder.parent) or [])
    here = (folder, *folder.parents)
    return any(one in here for one in named) or any(fnmatch(str(one), glob) for one in here for glob in globs)
