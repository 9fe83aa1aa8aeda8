"""What `convoprobe doctor --judge` finds: each judge's answers for the built-in conversations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..calibration.agreement import LabelAnswer
from ..calibration.canaries import canaries
from ..calibration.judging import judge_labels
from ..calibration.measured import CANARIES, Measured, canaries_of, keep
from ..calibration.requirement import JudgeOfRun
from ..calibration.words import canaries_line, difference
from ..errors import ConvoprobeError, ScenarioFileError, SettingsError
from ..formatting import counted
from ..llm.known_models import check_model
from ..llm.port import Role
from ..redaction import Redactor
from ..runs.session import Session
from ..scenario.loading import load_scenarios
from ..scenario.models import ScenarioConfig
from ..scenario.search import find_scenario_files
from ..settings.effective import LoadedSettings
from ..settings.merge import scenario_settings
from ..settings.models import ScenarioSettings
from .event_loop import end_when_stuck
from .finding import Finding
from .progress import progress_line
from .project import Project

_ADVICE = (
    "A person sees all of them right. Try another model, other instructions or another judge.method before "
    "you let this judge block a merge."
)


@dataclass(frozen=True)
class _Asked:
    """A judge, with the file of scenarios (empty: none) whose settings name it."""

    judge: JudgeOfRun
    file: str
    loaded: LoadedSettings
    settings: ScenarioSettings


def judge_findings(project: Project, *, live: bool, again: bool) -> list[Finding]:
    """A finding for each judge that the settings and the scenarios name.

    What is stored of a judge is shown and not asked `again`. Without `live`, nothing is called at all.
    """
    try:
        judges = {one.judge.print: one for one in _judges(project)}
    except SettingsError as error:
        return [Finding("settings", False, str(error))]
    end_when_stuck()
    with Session(project.source(), project.root) as session:
        return [_finding(project, session, one, live=live, again=again) for one in judges.values()]


def _judges(project: Project) -> Iterator[_Asked]:
    source, files = project.source(), find_scenario_files(project.root)
    for file in map(str, files) if files else ("",):
        loaded = source.of(file)
        for config in _configs(file):
            settings = scenario_settings(loaded, config)
            yield _Asked(JudgeOfRun.of(settings.judge, loaded), file, loaded, settings)


def _configs(file: str) -> list[ScenarioConfig | None]:
    """What the scenarios of a file change; None for the settings as they are."""
    try:
        scenarios = load_scenarios(file) if file else ()
    except ScenarioFileError:  # `convoprobe validate` says what is wrong with it
        scenarios = ()
    return [one.scenario.config for one in scenarios if one.scenario is not None] or [None]


def _finding(project: Project, session: Session, one: _Asked, *, live: bool, again: bool) -> Finding:
    known = None if again else canaries_of(project.results, one.judge.print, canaries().digest)
    if known is None and not live:
        return Finding("judge", None, _line(one.judge.model, None))
    try:
        return _in_words(known or _measure(project, session, one))
    except ConvoprobeError as error:
        return Finding("judge", False, Redactor(one.loaded.secrets).text(str(error)))


def _measure(project: Project, session: Session, one: _Asked) -> Measured:
    """Ask the judge, live whatever the settings say of recordings, and keep what it says."""
    check_model(one.settings.judge, Role.JUDGE)
    run = one.settings.run.model_copy(update={"replay": "off"})
    settings = one.settings.model_copy(update={"run": run})
    # The settings of the scenarios' file: its secrets are masked, and its providers are asked.
    labels = replace(canaries(), file=one.file)
    with progress_line() as progress:
        judged = judge_labels(
            session,
            labels,
            CANARIES,
            project.results,
            lambda done: progress.tick(f"{done} of {len(labels.conversations)} conversations judged …"),
            settings,
        )
    if judged.measured is None:
        broken = judged.broken[0]
        conversations = counted(len(judged.broken), "built-in conversation")
        raise ConvoprobeError(f"{conversations} could not be judged: {broken.reason}")
    keep(project.results, judged.measured)
    return judged.measured


def _in_words(measured: Measured) -> Finding:
    missed = [one for one in measured.answers if not one.agrees]
    lines = [_line(measured.judge, measured), *map(_missed, missed)]
    return Finding("judge", not missed or None, "\n".join(lines), _ADVICE if missed else "")


def _line(model: str, measured: Measured | None) -> str:
    """The line of a run's summary, without the word that each finding begins with here."""
    return canaries_line(model, measured).removeprefix("judge ")


def _missed(one: LabelAnswer) -> str:
    return f"missed {difference(one)}"
