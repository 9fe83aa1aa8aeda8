"""What one trial needs, for whoever asks for it and for whoever runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ConvoprobeError
from ..judging.types import CheckResult
from ..llm.ledger import OnEntry
from ..project_code.callers_thread import CallersThread
from ..pseudonyms import Masking
from ..scenario.loading import LoadedScenario
from ..scenario.models import Scenario
from ..settings.models import ScenarioSettings
from ..targets.hosted import RunsElsewhere
from ..targets.port import Target
from ..transcript import Transcript, Turn

AdjustSettings = Callable[[ScenarioSettings], ScenarioSettings | None]
OnSaid = Callable[["Job", Transcript], None]
ExtraChecks = Callable[[Scenario, Transcript], Iterable[CheckResult]]


@dataclass(frozen=True)
class Job:
    """One trial to run: a scenario, the target to run it against, and the settings it has.

    `scenario_id` is unique within the run; `extra_checks` adds checks of a project's own. `earlier` are
    turns whose user messages are said again before the user goes on. `held` is a conversation that is
    over already: it is only judged, and the target is only named. `reviews` says whether the user's side is
    reviewed where something speaks against the agent, and `own_checks` whether the functions are called that
    the scenario names as checks. `adjust` is the project's hook for the
    settings, which `runs.adjusting` calls; a `problem` that it had is the job's result. `secrets` are those
    of the settings of the scenario's file, which may not be the run's. `waiting` is the thread that waits for
    the trial. `on_spent` gets what each call has cost as it ends. `masking` says which data is personal.
    `root` is where files start from that the scenario names. `state` is what its own checks get by that name.
    `stored_checks` are the results that a conversation which is over had when it ended.
    `on_said` gets the conversation whenever something was said: without secrets and personal data, and only
    with its last turn.
    """

    loaded: LoadedScenario
    scenario_id: str
    target: Target
    settings: ScenarioSettings
    trial: int = 1
    extra_checks: ExtraChecks | None = None
    earlier: tuple[Turn, ...] = ()
    held: Transcript | None = None
    reviews: bool = True
    own_checks: bool = True
    adjust: AdjustSettings | None = None
    problem: ConvoprobeError | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    waiting: CallersThread | None = None
    on_spent: OnEntry | None = None
    masking: Masking = field(default_factory=Masking)
    root: Path = Path()
    state: object = field(default=None, repr=False, compare=False)
    stored_checks: tuple[CheckResult, ...] = ()
    on_said: OnSaid | None = None

    @property
    def scenario(self) -> Scenario:
        if self.loaded.scenario is None:
            raise ValueError(f"{self.scenario_id} is skipped and unfinished: it cannot run")
        return self.loaded.scenario


def with_own_wiring(settings: ScenarioSettings, target: Target) -> ScenarioSettings:
    """The settings with those of a target that a test gave as settings: its faults first, and its models."""
    own = target.given_settings if isinstance(target, RunsElsewhere) else None
    if own is None:
        return settings
    faults = (*own.faults, *settings.faults)
    changes = {
        "faults": faults,
        "models": own.models,
        "model_volatile": own.model_volatile,
        "greeting_cue": own.greeting_cue,
    }
    return settings.model_copy(update=changes)
