"""Guards against a run that looks at too little: a least number of scenarios, patterns that fit nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ..files import shown_path
from ..formatting import counted
from ..result import Outcome
from ..scenario.discovery import is_scenario_file
from ..scenario.search import search
from . import options
from .file_names import is_for_other_runs
from .keys import GATHERED, start
from .terminal_summary import digests


class LeastScenarios:
    """The hooks of a run that must have looked at a number of scenarios; in no worker of xdist."""

    def __init__(self, config: pytest.Config, least: int) -> None:
        self._config = config
        self._least = least

    # No properties here: pytest 8.2 reads those of a plug-in at the start, when nothing has run.
    def _looked_at(self) -> int:
        """Scenarios that ran, each once whatever its trials. One that was skipped was not looked at."""
        if GATHERED not in self._config.stash:
            return 0
        ran = [one for one in digests(self._config) if one.outcome is not Outcome.SKIPPED]
        return len({(one.file, one.line, one.name) for one in ran})

    def _too_few(self) -> bool:
        if self._config.option.collectonly or self._looked_at() >= self._least:
            return False
        return bool(self._looked_at()) or not is_for_other_runs(self._config, "min_scenarios")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        fine = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if fine and self._too_few():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._too_few():
            terminalreporter.line(
                f"{counted(self._looked_at(), 'scenario')} ran: the run fails with fewer than "
                f"{self._least} (convoprobe_min_scenarios)",
                red=True,
            )


class FittingPatterns:
    """The hook of a suite that sets `convoprobe_files`; in no worker of xdist."""

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Stop if a pattern fits no file: a folder was renamed, or the pattern is misspelt."""
        config = session.config
        patterns: list[str] = config.getini("convoprobe_files")
        found = search(config.rootpath, config.rootpath, patterns).scenarios
        if idle := [one for one in patterns if not _fits(one, found, config.rootpath)]:
            raise pytest.UsageError(
                f"convoprobe_files: no file in {shown_path(config.rootpath)} fits "
                f"{', '.join(f'`{one}`' for one in idle)}. Patterns are relative to the rootdir, `**` is any "
                "number of folders, and only YAML files count whose names do not begin with `_` or `.`"
            )


def _fits(pattern: str, files: Iterable[Path], root: Path) -> bool:
    return any(is_scenario_file(file, root, [pattern]) for file in files)


def configure(config: pytest.Config) -> None:
    """Register the guards that are asked for. Raises `pytest.UsageError` for an invalid value."""
    if hasattr(config, "workerinput"):
        return
    if least := options.value_of(config, "min_scenarios"):
        start(config)
        config.pluginmanager.register(LeastScenarios(config, least), "convoprobe-least-scenarios")
    if config.getini("convoprobe_files"):
        config.pluginmanager.register(FittingPatterns(), "convoprobe-fitting-patterns")
