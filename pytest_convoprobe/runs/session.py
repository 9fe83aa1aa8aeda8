"""What the runs of one process share: settings, models, limits, budget, pool and targets.

Every door (the plug-in, the command line, `run_scenario`) runs its conversations in a `Session`.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from ..llm.member import Member
from ..llm.port import LLM
from ..loop_thread import LoopThread
from ..project_code.callers_thread import CallersThread
from ..pseudonyms import Masking, MaskText
from ..result import ScenarioResult
from ..scenario.loading import LoadedScenario
from ..settings.loading import LoadedSettings
from ..settings.mask_rules import patterns_of
from ..settings.merge import scenario_settings, target_settings
from ..settings.model_settings import ModelSettings
from ..settings.models import RunSettings, ScenarioSettings, TargetSection
from ..settings.nearest import OneForAll, SettingsSource
from ..settings.secret_places import secrets_of
from ..settings.several_targets import each_target, models_of
from ..targets.factory import as_target
from ..targets.given_objects import Use
from ..targets.port import Target
from ..targets.python import runs_on_waiting_thread
from .adjusting import adjusted
from .configured import ConfiguredTarget, of_scenario
from .job import Job, with_own_wiring
from .pool import Handle, Pool
from .progress import run_words
from .recorder import RunRecorder
from .runner import Runner, RunsJobs
from .settings_in_use import SettingsInUse

T = TypeVar("T")

POLL_SECONDS = 0.2
"""Short waits keep Ctrl-C and the signals of others prompt, and the line of progress moving."""

SHUTDOWN_SECONDS = 5.0
"""How long everything together may take that has to end: conversations, targets, models, the loop."""

INTERRUPTED_SECONDS = 2.4
"""The same after Ctrl-C or SIGTERM. Whoever sends them waits, and CI systems soon kill what is left."""

_FOR_CONVERSATIONS = 0.6
"""The share of that time that is for conversations; the rest is for targets and models."""


class Session:
    """Runs the conversations of one process, many at once, on a loop in a thread of its own.

    Nothing is made before it is used: a session that runs nothing has neither a thread nor a model.
    `source` gives the settings when they are first needed. `make_runner` replaces the real runner. `join`
    gives this process's half of the limits that it shares with other processes, or None if it is alone.
    """

    def __init__(
        self,
        source: SettingsSource,
        rootdir: Path,
        make_runner: Callable[[LoadedSettings, Member | None], RunsJobs] = Runner,
        join: Callable[[RunSettings], Member | None] = lambda _: None,
    ) -> None:
        self.live_models = True
        """Whether calls go to the models that the settings name: others need neither a provider nor a key."""
        self._settings = SettingsInUse(source)
        self.rootdir = rootdir
        self._make_runner = make_runner
        self._join = join
        self._submitted = 0
        self._given_secrets: list[str] = []
        # By identity, since values need not be hashable. With the value, or another object could get its id.
        self._shared: dict[int, tuple[object, Target]] = {}
        self._last_moment = math.inf
        self.loop = LoopThread()
        self.waiting = CallersThread()
        """The thread that waits for conversations: it makes calls for agents that are bound to it."""

    @classmethod
    def of(cls, settings: LoadedSettings, rootdir: Path, *, llm: LLM | None = None) -> Session:
        """A session with settings that are loaded already. `llm` replaces the live models."""
        session = cls(OneForAll(settings), rootdir, partial(Runner, llm=llm))
        session.live_models = llm is None
        return session

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._hurry_after(kind)
        self.close()

    @cached_property
    def settings(self) -> LoadedSettings:
        """The settings of the run as a whole: its budget, its concurrency. Raises `SettingsError`."""
        return self._settings.main

    def settings_of(self, file: str, target: str = "") -> LoadedSettings:
        """The settings of a scenario's file: its models, its target, or that of a name in `targets`.

        Raises `SettingsError`.
        """
        return self._settings.of(file, target)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the settings that were needed so far have to say."""
        return self._settings.notices

    @cached_property
    def shared_limits(self) -> Member | None:
        """The half of the process in limits that it shares with others; None: it is alone."""
        return self._join(self.settings.settings.run)

    @cached_property
    def pool(self) -> Pool:
        shared, run = self.shared_limits, self.settings.settings.run
        return Pool(self.loop, run.concurrency if shared is None else shared.conversations)

    @cached_property
    def runner(self) -> RunsJobs:
        runner = self._make_runner(self.settings, self.shared_limits)
        runner.preload()
        return runner

    def masked(self, text: str) -> str:
        """A text of others, without personal data and the secrets that conversations have had until now."""
        redactor = getattr(self.__dict__.get("runner"), "redactor", None)
        return text if redactor is None else self.anonymous(redactor.text(text))

    def anonymous(self, text: str) -> str:
        """A text that belongs to no conversation, without personal data."""
        return self._masking(self.settings).anonymous(text)

    @property
    def conversations_run(self) -> bool:
        """Whether one at least is going on at this moment."""
        return "pool" in self.__dict__ and self.pool.stats.running > 0

    @property
    def conversations_ended(self) -> int:
        """How many have ended until now, well or not."""
        return self.pool.stats.done if "pool" in self.__dict__ else 0

    def words(self, total: int | None = None) -> str:
        """How far the conversations are, for a line of progress."""
        return run_words(self.pool.stats, self.runner.spent, total)

    def agent_variables(self, file: str, target: str = "") -> AbstractContextManager[None]:
        """A time in which agents in this process find the gateway in their environment.

        Nothing happens if the target of a scenario's file has no `models`; without a name, that is for all of
        `targets`. Raises `SettingsError`, and `TargetStartError` if the gateway can't listen.
        """
        loaded = self.settings_of(file, target)
        found = [models for _, one in each_target(loaded) if (models := models_of(one)) is not None]
        if not found:
            return contextlib.nullcontext()
        keyless = not loaded.settings.run.calls_live
        variables = self.runner.agent_variables(found, keyless=keyless)
        # Now, and not with the first conversation: what calls a model at its import is to get an answer.
        self.loop.submit(self.runner.start_gateway())
        return variables

    # Targets

    def configured_target(self) -> ConfiguredTarget:
        """The target that the settings name: for each scenario, those of its file."""
        return ConfiguredTarget(self.settings_of, self.rootdir)

    def target_model(self, file: str = "", target: str = "") -> ModelSettings | None:
        """The settings of the model that is the target of a file's scenarios, if it is one."""
        settings = target_settings(self.settings_of(file, target))
        return settings.as_model if settings is not None else None

    def as_target(self, value: object, use: Use = Use.MANY) -> Target:
        """A target made of whatever somebody gives. Raises `TargetStartError`."""
        like = target_settings(self.settings)
        if isinstance(value, TargetSection):
            self._given_secrets += secrets_of(value)
        return as_target(value, rootdir=self.rootdir, use=use, like=like)

    @staticmethod
    def has_to_be_waited_for(target: Target, scenario: LoadedScenario) -> bool:
        """Whether conversations of a scenario need a thread that waits for each of them."""
        return runs_on_waiting_thread(of_scenario(target, scenario))

    def target(self, given: object = None, file: str = "", name: str = "") -> AbstractContextManager[Target]:
        """A target made of what is given, or else that of a scenario's file, for the time of a block.

        `name` is its name in `targets`. Raises `NoTarget` if the settings of that file name none.
        """
        if given is not None:
            return self.own_target(given)
        return self._while_open(self.configured_target().of(file, name), None)

    def own_target(self, value: object, use: Use = Use.ONE_BY_ONE) -> AbstractContextManager[Target]:
        """A target made of a value for the time of a block.

        It is closed at the end, unless the value is a target itself: then it is its owner's to close.
        """
        return self._while_open(self.as_target(value, use), value)

    @contextmanager
    def _while_open(self, target: Target, given: object) -> Iterator[Target]:
        try:
            yield target
        finally:
            self.close_target(None if target is given else target)

    def shared_target(self, value: object) -> Target:
        """A target that lives as long as the session; the same one for the same value."""
        if id(value) not in self._shared:
            self._shared[id(value)] = (value, self.as_target(value))
        return self._shared[id(value)][1]

    def close_target(self, target: Target | None, until: float | None = None) -> None:
        """Close a target. Raises what it raises; one that takes too long is left alone."""
        if target is not None:
            self._end(target.aclose(), self._deadline() if until is None else until)

    # Running

    def job(
        self,
        scenario: LoadedScenario,
        scenario_id: str,
        target: Target,
        settings: ScenarioSettings | None = None,
        mask: MaskText | None = None,
        **more: Any,
    ) -> Job:
        """A job with the settings of the scenario's file and its own `config`, unless others are given.

        `mask` is the project's own masking of personal data, beside that of the settings.

        Raises `SettingsError`, and `NoTarget` if the target is the configured one and there is none.
        """
        loaded = self.settings_of(scenario.file, scenario.configured)
        if settings is None:
            override = scenario.scenario.config if scenario.scenario else None
            settings = scenario_settings(loaded, override)
        target = of_scenario(target, scenario)
        settings = with_own_wiring(settings, target)
        masking = self._masking(loaded, mask)
        more = {
            "masking": masking,
            "secrets": (*loaded.secrets, *self._given_secrets),
            "waiting": self.waiting,
            **more,
        }
        return Job(scenario, scenario_id, target, settings, root=loaded.root or self.rootdir, **more)

    def _masking(self, loaded: LoadedSettings, own: MaskText | None = None) -> Masking:
        # Those of the run and those of the file: what either says is personal is shown to nobody.
        rules = (*loaded.settings.results.mask, *self.settings.settings.results.mask)
        return Masking(patterns_of(rules), own, loaded.origins.get("results.mask", ""))

    def submit(self, job: Job, recorder: RunRecorder | None = None) -> Handle[ScenarioResult]:
        """Queue a conversation. A recorder stores its result as soon as it is there."""
        run = self.runner.run if recorder is None else partial(recorder.run, self.runner.run)
        self._submitted += 1
        # Every run is a new one, a rerun of the same scenario too: hence the number in the key.
        return self.pool.submit((job.scenario_id, job.trial, self._submitted), partial(adjusted, run, job))

    def wait(self, handle: Handle[ScenarioResult], tick: Callable[[], object] = bool) -> ScenarioResult:
        """Wait for a conversation; it goes to the front of the queue. `tick` is called now and then."""
        self.pool.promote(handle.key)
        try:
            return self._in_order(handle, tick)
        except BaseException as error:
            # Ctrl-C, or a signal of somebody else: nobody waits for this one any more.
            self._hurry_after(type(error))
            self.pool.cancel(handle.key)
            raise

    def wait_on(self, work: Coroutine[Any, Any, T], tick: Callable[[], object] = bool) -> T:
        """What the coroutine returns. It is cancelled when the waiting is interrupted."""
        try:
            return self.loop.run(work, tick=tick)
        except KeyboardInterrupt:
            self.hurry()
            raise

    def run(self, job: Job) -> ScenarioResult:
        """Run one job to its end."""
        return self.wait(self.submit(job))

    def run_all(
        self,
        jobs: Iterable[Job],
        recorder: RunRecorder | None = None,
        tick: Callable[[], object] = bool,
    ) -> list[ScenarioResult]:
        """Run jobs, as many at once as the settings allow; the results in the order of the jobs.

        Those whose agents are bound to this thread run one after another.
        """
        jobs = list(jobs)
        if any(runs_on_waiting_thread(job.target) for job in jobs):
            return [self.wait(self.submit(job, recorder), tick) for job in jobs]
        handles = [self.submit(job, recorder) for job in jobs]
        try:
            return [self._in_order(handle, tick) for handle in handles]
        except BaseException as error:
            self._hurry_after(type(error))
            self.cancel()
            raise

    def _in_order(self, handle: Handle[ScenarioResult], tick: Callable[[], object]) -> ScenarioResult:
        while not self.waiting.wait(handle, POLL_SECONDS):
            tick()
        return handle.result(0)

    # Ending

    def hurry(self) -> None:
        """The run was interrupted: all that has to end may take `INTERRUPTED_SECONDS` together, from now."""
        self._last_moment = min(self._last_moment, time.monotonic() + INTERRUPTED_SECONDS)

    @property
    def interrupted(self) -> bool:
        """Whether the run was interrupted, by Ctrl-C for one."""
        return self._last_moment < math.inf

    def cancel(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Cancel all conversations; later ones can still be started."""
        if self.interrupted:
            # Conversations that refuse to end must leave some time for the targets to be closed in.
            seconds = min(seconds, _FOR_CONVERSATIONS * _left(self._last_moment))
        if "pool" in self.__dict__:
            self.pool.cancel_all(seconds)

    @contextmanager
    def all_ended(self) -> Iterator[None]:
        """A time in which nothing of ours uses what the owners of shared targets are about to take away.

        A target that cannot be closed is an error, but not before its owner has cleaned up.
        """
        until = self._deadline()
        self.cancel(_left(until))
        problem = self._close_shared(until)
        yield
        if problem is not None:
            raise problem

    def _close_shared(self, until: float) -> Exception | None:
        problem = None
        while self._shared:
            value, target = self._shared.popitem()[1]
            try:
                self.close_target(None if target is value else target, until)
            except Exception as error:  # noqa: BLE001 - the project's own code, reported by the caller
                problem = error
        return problem

    def close(self) -> None:
        """Let go of everything, within `SHUTDOWN_SECONDS`: what refuses to end is left alone."""
        until = self._deadline()
        self.cancel(_left(until))
        try:
            if "runner" in self.__dict__:
                self._end(self.runner.aclose(), until)
        finally:
            self.loop.close(_left(until))

    def _deadline(self) -> float:
        return min(time.monotonic() + SHUTDOWN_SECONDS, self._last_moment)

    def _hurry_after(self, error: type[BaseException] | None) -> None:
        if error is not None and issubclass(error, KeyboardInterrupt):
            self.hurry()

    def _end(self, clean_up: Coroutine[Any, Any, None], until: float) -> None:
        """Run a clean-up on the loop. One that takes too long is left alone, even if it blocks the loop."""
        if self.loop.closed:
            clean_up.close()
            return
        with contextlib.suppress(TimeoutError):
            self.loop.run(clean_up, _left(until))


def _left(until: float) -> float:
    return max(0.0, until - time.monotonic())
