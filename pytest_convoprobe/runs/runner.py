"""What carries out the trials of a session: the models, the budget and the gateway that they share."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from ..llm.budget import Budget
from ..llm.ledger import Ledger
from ..llm.member import Member
from ..llm.port import LLM
from ..llm.stack import build_llm
from ..project_code.calls import undisturbed
from ..redaction import Redactor
from ..result import ScenarioResult
from ..settings.loading import LoadedSettings
from ..settings.model_upstreams import ModelUpstreams
from ..settings.secret_places import secrets_of
from .conversation_host import ConversationHost
from .job import Job
from .preconditions import called_models
from .recorded_models import RecordedModels
from .trial import TrialInProgress


class RunsJobs(Protocol):
    """The runner, as far as a session is concerned."""

    @property
    def spent(self) -> tuple[float | None, int]: ...

    @property
    def budget(self) -> Budget: ...

    async def run(self, job: Job) -> ScenarioResult: ...

    def preload(self) -> None: ...

    def agent_variables(
        self, models: Iterable[ModelUpstreams], *, keyless: bool
    ) -> AbstractContextManager[None]: ...

    async def start_gateway(self) -> None: ...

    async def aclose(self) -> None: ...


class Runner:
    """Runs the scenarios of a session: they share the models, the limits and the budget.

    `shared` is this process's half of limits that it shares with other processes. `llm` replaces the live
    models.
    """

    def __init__(
        self, settings: LoadedSettings, shared: Member | None = None, *, llm: LLM | None = None
    ) -> None:
        run = settings.settings.run
        self._certain_to_call = run.calls_live and settings.settings.judge.model is not None
        self._settings = settings
        self.redactor = Redactor(settings.secrets)
        """Knows the secrets of every conversation that this runner has begun."""
        self._shared = shared
        self.budget = Budget(run.max_cost, run.max_tokens) if shared is None else shared.budget
        slots_of = None if shared is None else shared.slots_of
        live = build_llm(run, self.redactor, self.budget, slots_of) if llm is None else llm
        self._models = RecordedModels(live, self.redactor, self.budget, run.max_text)
        self._host = ConversationHost(settings.root)

    @property
    def spent(self) -> tuple[float | None, int]:
        """US dollars (None once a call's price was unknown) and tokens that the run has spent so far."""
        return self.budget.spent.cost, self.budget.spent.tokens

    def preload(self) -> None:
        """Start the slow imports that the models need in the background, if live calls are certain."""
        if self._certain_to_call:
            self._models.preload(*called_models(self._settings))

    def agent_variables(
        self, models: Iterable[ModelUpstreams], *, keyless: bool
    ) -> AbstractContextManager[None]:
        """A time in which agents in this process find the gateway in their environment, for all of these."""
        names = [name for one in models for name in one.addresses]
        return self._host.gateway.variables(names, keyless=keyless)

    async def start_gateway(self) -> None:
        """Have the gateway answer from now on."""
        await self._host.gateway.start()

    async def run(self, job: Job) -> ScenarioResult:
        """Carry out one trial. Whatever goes wrong is in the result; only cancellation is raised."""
        # A hook or a test may have given this one a key that the settings do not hold.
        self.redactor.learn((*secrets_of(job.settings), *job.secrets))
        await self._models.loaded()
        ledger = Ledger(job.on_spent)
        # A trial whose event loop another agent has blocked for good is begun again, from its start.
        result = await undisturbed(
            lambda: TrialInProgress(job, self._models, self.redactor, self._host, ledger).run()
        )
        # With the result the host goes on and changes warning filters: no good time for an import.
        await self._models.loaded()
        return result

    async def aclose(self) -> None:
        """Let go of the models, of the agents' event loops, and of what is shared."""
        await self._models.aclose()
        await self._host.aclose()
        if self._shared is not None:
            await self._shared.aclose()
