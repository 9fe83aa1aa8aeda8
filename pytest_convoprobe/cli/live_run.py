"""A run that a command makes itself: many trials at once, stored like any other."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import NoTarget
from ..files import relative_name
from ..result import Outcome, ScenarioResult
from ..results.index import IndexRow, row_of
from ..results.records import TrialRecord
from ..results.run_info import RunState, Selection
from ..runs.configured import with_meant_target
from ..runs.job import Job
from ..runs.preconditions import require_models
from ..runs.recorder import RunRecorder
from ..runs.session import Session
from ..scenario import coerce
from ..scenario.discovery import looks_like_scenario
from ..scenario.loading import LoadedScenario, load_scenarios
from ..scenario.search import find_scenario_files
from ..settings.loading import LoadedSettings
from ..settings.several_targets import names_of
from .event_loop import end_when_stuck
from .exits import UsageProblem
from .no_target import FIXTURE_IS_FOR_PYTEST
from .progress import progress_line
from .project import Project

_PYTEST_CAN = f"or use pytest with --convoprobe-trials. {FIXTURE_IS_FOR_PYTEST}"


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
    return loaded, f"{relative_name(loaded.file, project.root)}::{loaded.id}"


def with_name_of_target(
    scenario: LoadedScenario, scenario_id: str, settings: LoadedSettings, name: str | None
) -> tuple[LoadedScenario, str]:
    """The scenario and its id, with the target of `targets` that is meant. Raises `SettingsError`."""
    found = with_meant_target(scenario, settings, chosen=() if name is None else (name,))
    return found, f"{scenario_id}[{found.configured}]" if found.configured else scenario_id


class LiveRun:
    """One scenario, several times at once."""

    def __init__(self, project: Project, loaded: LoadedSettings, scenario: LoadedScenario, scenario_id: str):
        self.rows: list[IndexRow] = []
        self.results: list[ScenarioResult] = []
        self._project, self._loaded = project, loaded
        self._scenario, self._scenario_id = scenario, scenario_id
        self._recorder = recorder_of_command(project, loaded)
        self._recorder.selection = self._selection
        self._trials = 0

    @property
    def id(self) -> str:
        return self._recorder.run_id

    @property
    def problem(self) -> str | None:
        """What kept the run from being stored, in words."""
        if not self._recorder.wanted:
            return "this run is not stored: results.save is false"
        return next(iter(self._recorder.problems), None)

    def run(self, trials: int) -> None:
        """Run so many trials; each is stored as it ends, whatever becomes of the others.

        Raises `SettingsError` before anything is called.
        """
        end_when_stuck()
        self._trials = trials
        with Session.of(self._loaded, self._project.root) as session:
            try:
                file, name = self._scenario.file, self._scenario.configured
                with session.target(file=file, name=name) as target:
                    job = session.job(self._scenario, self._scenario_id, target)
                    require_models(job.settings, job.scenario, target=session.target_model(file, name))
                    self._run(session, [replace(job, trial=number) for number in range(1, trials + 1)])
            except NoTarget:
                raise NoTarget(_PYTEST_CAN) from None

    def _run(self, session: Session, jobs: Sequence[Job]) -> None:
        self.results = run_and_store(session, self._recorder, jobs)
        self.rows = [self._row(result, job) for result, job in zip(self.results, jobs, strict=True)]

    def _selection(self) -> Selection:
        """One scenario of the project's: a run like this is never a silent baseline."""
        file = Path(self._scenario.file)
        others = [
            path for path in find_scenario_files(self._project.root) if path.absolute() != file.absolute()
        ]
        each = max(1, len(names_of(self._loaded)))
        existing = each * (len(load_scenarios(file)) + sum(map(looks_like_scenario, others)))
        return Selection(1, existing, self._trials, 1)

    def _row(self, result: ScenarioResult, job: Job) -> IndexRow:
        return row_of(TrialRecord(result, self._recorder.prints(job)), run=self.id, offset=0, length=0)


def recorder_of_command(project: Project, loaded: LoadedSettings) -> RunRecorder:
    """What stores the run that a command makes."""
    return RunRecorder(
        project.root,
        lambda: loaded,
        command=("convoprobe", *sys.argv[1:]),
        results=project.results,
        wanted=loaded.settings.results.save,
    )


def run_and_store(session: Session, recorder: RunRecorder, jobs: Sequence[Job]) -> list[ScenarioResult]:
    """The results of jobs, in their order. Each is stored as it ends, whatever becomes of the others."""
    state, results = RunState.INTERRUPTED, list[ScenarioResult]()
    recorder.describe()
    try:
        with progress_line(lambda: session.words(len(jobs))) as progress:
            results = session.run_all(jobs, recorder, progress.tick)
        state = RunState.FINISHED
        return results
    finally:
        session.cancel()
        # `and results`: of no trials, all passed.
        passed = all(result.outcome is Outcome.PASSED for result in results) and results
        recorder.finish(state, 0 if passed else 1)
        recorder.close()


def show_command(run: str, scenario_id: str) -> str:
    """The command that shows a trial of a run."""
    return shlex.join(["convoprobe", "show", run, scenario_id])
