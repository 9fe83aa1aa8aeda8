"""Conversations that really happened, judged like those of scenarios and stored as a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import ConvoprobeError, ResultsError, TargetUnavailable
from ..files import cannot, relative_name, shown_path
from ..formatting import counted
from ..generate.exported import ExportedConversation, read_export, with_all_calls
from ..result import ScenarioResult
from ..results.run_info import Selection
from ..results.trial_filter import REAL
from ..runs.current_scenarios import live_settings
from ..runs.job import Job
from ..runs.preconditions import require_models
from ..runs.rejudge import NamedTarget, require_whole
from ..runs.session import Session
from ..scenario.loading import LoadedScenario, load_criteria, with_parameters
from ..settings.effective import LoadedSettings
from ..transcript import Termination, Transcript
from .event_loop import end_when_stuck
from .exits import UsageProblem
from .live_run import recorder_of_command, run_and_store
from .project import Project


@dataclass(frozen=True)
class RealConversation:
    """One conversation of an export. `number` counts within all files, from 1."""

    number: int
    file: Path
    recorded: ExportedConversation

    @property
    def name(self) -> str:
        """The file, and the id that the conversation has there."""
        known = f" {self.recorded.id}" if self.recorded.id else ""
        return f"{shown_path(self.file)}: conversation {self.number}{known}"


def conversations_of(files: Sequence[Path]) -> tuple[list[RealConversation], list[str]]:
    """Those of all files, in their order, and what could not be read.

    Raises `UsageProblem` for a file without any.
    """
    found: list[tuple[Path, ExportedConversation]] = []
    notes: list[str] = []
    for file in files:
        try:
            export = read_export(file)
        except OSError as error:
            raise UsageProblem(cannot(file, "read", error)) from None
        except ValueError as error:
            raise UsageProblem(str(error)) from None
        found += [(file, one) for one in export.conversations]
        if export.unread:
            notes.append(
                f"{shown_path(file)}: {counted(export.unread, 'record')} without a message of a user"
            )
    return [RealConversation(number, *one) for number, one in enumerate(found, start=1)], notes


def criteria_of_file(project: Project, text: str) -> list[LoadedScenario]:
    """The documents of `FILE` or the one of `FILE::NAME`, without those that are skipped."""
    path, _, name = text.partition("::")
    file = next((one for one in (Path(path), project.root / path) if one.is_file()), None)
    if file is None:
        raise UsageProblem(
            f"{path}: there is no such file; --by takes a scenario file, or one with `evaluation`"
        )
    documents = load_criteria(file, file=relative_name(file, project.root))
    found = [one for one in documents if not name or name in (one.id, one.name)]
    if not found:
        raise UsageProblem(f"{path} has no {name!r}; it has {', '.join(one.id for one in documents)}")
    usable = [one for one in found if one.skip is None and one.scenario is not None]
    if not usable:
        raise UsageProblem(f"{path}: all that it says is skipped")
    return [with_parameters(one, REAL, of_target=True) for one in usable]


class JudgedRun:
    """A run in which nobody talks. Each conversation is a trial of each document with criteria."""

    def __init__(self, project: Project, loaded: LoadedSettings, *, all_calls: bool) -> None:
        self._project, self._loaded, self._all_calls = project, loaded, all_calls
        self._recorder = recorder_of_command(project, loaded)
        self._without_calls = 0

    @property
    def id(self) -> str | None:
        """The stored run; None if nothing of it is stored."""
        return self._recorder.run_id if self._recorder.folder else None

    @property
    def notes(self) -> list[str]:
        """What kept the run from being stored, and what its conversations don't say."""
        which = counted(self._without_calls, "conversation")
        unsaid = (
            f"no call of a tool is named in {which}, so nothing is known about calls there. If the export "
            "has every call, --all-calls says so"
        )
        return [*self._recorder.problems, *([unsaid] if self._without_calls else [])]

    def run(
        self, criteria: Sequence[LoadedScenario], conversations: Sequence[RealConversation]
    ) -> list[ScenarioResult]:
        """Judge all of them. Raises `SettingsError` before anything is asked."""
        end_when_stuck()
        trials = len(criteria) * len(conversations)
        # Another number than that of the project's scenarios: never a baseline that nobody named.
        self._recorder.selection = lambda: Selection(len(criteria), len(criteria) + 1, trials, 0)
        with Session.of(self._loaded, self._project.root) as session:
            held = [self._held(one.recorded) for one in conversations]
            self._without_calls = sum(not one.reports_tools for one in held)
            jobs = list(self._jobs(session, criteria, list(zip(conversations, held, strict=True))))
            return run_and_store(session, self._recorder, jobs)

    def _jobs(
        self,
        session: Session,
        criteria: Sequence[LoadedScenario],
        conversations: Sequence[tuple[RealConversation, Transcript]],
    ) -> Iterator[Job]:
        for loaded in criteria:
            settings = live_settings(session.settings_of(loaded.file), loaded)
            for one, held in conversations:
                job = session.job(
                    loaded,
                    f"{loaded.file}::{loaded.id}",
                    NamedTarget(session.anonymous(one.name)),
                    settings,
                    trial=one.number,
                    held=held,
                    problem=_problem(one.recorded),
                    reviews=False,
                )
                require_models(job.settings, job.scenario, only_judge=True)
                yield job

    def _held(self, recorded: ExportedConversation) -> Transcript:
        """The conversation as it is judged: where an export doesn't say what was called, nobody knows."""
        transcript = recorded.transcript
        if self._all_calls or transcript.reports_tools:
            transcript = with_all_calls(transcript)
        # One without an end has no verdict, and `rejudge` must not give it one later.
        ended = Termination.INFRASTRUCTURE_ERROR if _problem(recorded) else Termination.USER_DONE
        return replace(transcript, termination=transcript.termination or ended)


def _problem(recorded: ExportedConversation) -> ConvoprobeError | None:
    if recorded.problem:
        return TargetUnavailable(recorded.problem)
    if recorded.transcript.pending is None:
        return _broken_off(recorded.transcript)
    return TargetUnavailable(
        "the conversation ends with a message of the user that has no reply, so it is not known how it went "
        f"on ({counted(len(recorded.transcript.turns), 'turn')} before it). Export it again when it is over"
    )


def _broken_off(transcript: Transcript) -> ConvoprobeError | None:
    """A stored trial says itself how it ended."""
    if transcript.termination is None:
        return None
    try:
        require_whole(transcript)
    except ResultsError as error:
        return TargetUnavailable(str(error))
    return None
