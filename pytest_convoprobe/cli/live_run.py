"""A run that a command makes itself: many trials at once, stored like any other."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from ..redaction import Redactor
from ..result import Outcome, ScenarioResult
from ..results.describe_run import describe_run, with_listed_prices
from ..results.fingerprints import take_prints
from ..results.index import IndexRow, row_of
from ..results.records import TrialRecord
from ..results.store import RunState, RunWriter, count, new_run_id
from ..runs.pool import Handle, LoopThread, Pool
from ..runs.trial import Job, Runner, require_models
from ..scenario import coerce
from ..scenario.loading import LoadedScenario
from ..settings.loading import LoadedSettings
from ..settings.merge import scenario_settings, target_settings
from ..settings.models import ModelTarget
from ..settings.requirements import require_model
from ..targets.factory import build_target
from ..targets.port import Target, description_of
from .event_loop import wait_for
from .exits import UsageProblem
from .project import Project

_NO_TARGET = (
    "no target is named. A fixture convoprobe_target in conftest.py is for pytest alone: name the target in "
    "convoprobe.yaml, or use pytest with --convoprobe-trials"
)


def find_scenario(project: Project, text: str) -> tuple[LoadedScenario, str]:
    """The scenario of a file (`file.yaml`, `file.yaml::name`), and its id as pytest would have it."""

    def find(path: str) -> Path:
        found = next((place for place in (Path(path), project.root / path) if place.is_file()), None)
        if found is None:
            raise UsageProblem(
                f"no scenario file {path}: write file.yaml, or file.yaml::name where it has several"
            )
        return found.absolute()

    try:
        loaded = coerce.loaded(text, find)
    except ValueError as error:
        raise UsageProblem(str(error)) from None
    if loaded.skip is not None or loaded.scenario is None:
        raise UsageProblem(f"{loaded.name} is skipped: {loaded.skip}")
    return loaded, f"{_relative(Path(loaded.file), project.root)}::{loaded.id}"


def _relative(file: Path, root: Path) -> str:
    try:
        return Path(os.path.relpath(file, root)).as_posix()
    except ValueError:  # another drive, on Windows
        return file.as_posix()


class LiveRun:
    """One scenario, several times at once. Raises `SettingsError` before anything is called."""

    def __init__(self, project: Project, loaded: LoadedSettings, scenario: LoadedScenario, scenario_id: str):
        self.id = new_run_id()
        self.rows: list[IndexRow] = []
        self.results: list[ScenarioResult] = []
        self._scenario, self._scenario_id = scenario, scenario_id
        self._loaded, self._target = loaded, _target_of(loaded, project.root)
        assert scenario.scenario is not None  # noqa: S101 - `find_scenario` refuses those
        self._settings = scenario_settings(loaded, scenario.scenario.config)
        require_models(self._settings, scenario.scenario)
        self._redactor = Redactor(loaded.secrets)
        self._file = _relative(Path(scenario.file), project.root)
        self._writer = RunWriter(project.results, self.id, redactor=self._redactor)
        self._info = describe_run(self.id, loaded, command=_command(), folder=project.root)

    @property
    def problem(self) -> str | None:
        """What kept the run from being stored, in words."""
        return self._writer.problem

    def hold(self, trials: int) -> None:
        """Hold so many conversations; each is stored as it ends, whatever becomes of the others."""
        self._writer.write_info(self._info)
        loop, runner = LoopThread(), Runner(self._loaded)
        pool = Pool(loop, self._loaded.settings.run.concurrency)
        runner.preload()
        state = RunState.INTERRUPTED
        try:
            handles = [pool.submit(n, self._trial(runner, n)) for n in range(1, trials + 1)]
            wait_for(handles, lambda: _words(pool, runner, trials))
            _raise_defects(handles)
            state = RunState.FINISHED
        finally:
            pool.cancel_all()
            self._end(state)
            loop.run(self._target.aclose())
            loop.run(runner.aclose())
            loop.close()

    def _trial(self, runner: Runner, number: int) -> Callable[[], Any]:
        async def one() -> None:
            job = Job(self._scenario, self._scenario_id, self._target, self._settings, trial=number)
            self._keep(replace(await runner.run(job), file=self._file))

        return one

    def _keep(self, result: ScenarioResult) -> None:
        prints = take_prints(
            self._scenario.scenario, self._settings, description_of(self._target), self._redactor
        )
        self._writer.add(result, prints)
        self.results.append(result)
        self.rows.append(row_of(TrialRecord(result, prints), run=self.id, offset=0, length=0))

    def _end(self, state: RunState) -> None:
        status = 0 if all(row.outcome is Outcome.PASSED for row in self.rows) else 1
        info, counts = with_listed_prices(self._info, self._loaded), count(self.rows)
        self._writer.write_info(
            replace(info, state=state, ended=time.time(), exit_status=status, counts=counts)
        )
        self._writer.close()


def _target_of(loaded: LoadedSettings, root: Path) -> Target:
    settings = target_settings(loaded)
    if settings is None:
        raise SettingsError.of(_NO_TARGET, path="target")
    if isinstance(settings, ModelTarget):
        require_model(settings, "target")
    return build_target(settings, rootdir=root)


def _command() -> tuple[str, ...]:
    """The words of the command line, for the description of the run."""
    return ("convoprobe", *sys.argv[1:])


def _words(pool: Pool, runner: Runner, trials: int) -> str:
    stats, (cost, tokens) = pool.stats, runner.spent
    spent = f"${cost:.2f}" if cost else f"{tokens} tokens"
    return f"{stats.done} of {trials} done, {stats.running} running, {spent}"


def _raise_defects(handles: list[Handle[None]]) -> None:
    for handle in handles:
        try:
            handle.result(0)
        except CancelledError:
            continue


def show_command(run: str, scenario_id: str) -> str:
    """The command that shows a trial of a run."""
    return shlex.join(["convoprobe", "show", run, scenario_id])
