"""What a pytest session shares between its scenarios: settings, the loop, the pool, the runner."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pytest

from ..loop_thread import LoopThread
from ..runs.pool import Handle, Pool
from . import options
from .backend import Backend, RunsJobs
from .keys import BACKEND, ENGINE, WAITED
from .lookahead import LookAhead
from .progress import Progress
from .running import start
from .storing import store_of

if TYPE_CHECKING:
    from ..result import ScenarioResult
    from ..runs.trial import Job
    from ..scenario.loading import LoadedScenario
    from ..scenario.models import Scenario
    from ..settings.loading import LoadedSettings
    from ..targets.port import Target
    from ..transcript import Transcript

#: Short waits keep Ctrl-C and other plug-ins' signals prompt, and the progress line moving.
POLL_SECONDS = 0.2


def engine_of(config: pytest.Config) -> Engine:
    """The session's engine; made when it is first asked for."""
    if ENGINE not in config.stash:
        config.stash[ENGINE] = Engine(config)
        start(config)
    return config.stash[ENGINE]


def backend_of(config: pytest.Config) -> Backend:
    """The way to the rest of the package."""
    return config.stash.setdefault(BACKEND, Backend())


def load_settings(config: pytest.Config, extra: Mapping[str, Any] | None = None) -> LoadedSettings:
    """The settings as files, pytest's ini and the command line give them. Raises `SettingsError`."""
    named = options.value_of(config, "config")
    file = (config.invocation_params.dir / named) if named else None
    overrides = {**options.overrides(config), **(extra or {})}
    return backend_of(config).load_settings(config.rootpath, file, overrides)


@dataclass(frozen=True)
class Order:
    """What is to be run for an item, before the target and the settings are known.

    `settings` overrides the settings by dotted path, for this run only.
    """

    item: pytest.Item
    loaded: LoadedScenario
    scenario_id: str
    trial: int = 1
    settings: Mapping[str, Any] | None = None


class Engine:
    """Runs the conversations of one pytest process.

    Nothing in it is made before it is used: collecting scenarios makes neither a thread nor a model.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._runs = 0
        self._runner: RunsJobs | None = None
        self._adapted: dict[int, tuple[object, Target]] = {}
        self.backend = backend_of(config)
        self.loop = LoopThread()
        self.ahead = LookAhead(self)

    @cached_property
    def settings(self) -> LoadedSettings:
        return load_settings(self._config)

    @cached_property
    def pool(self) -> Pool:
        return Pool(self.loop, self.settings.settings.run.concurrency)

    @property
    def runner(self) -> RunsJobs:
        if self._runner is None:
            self._runner = self.backend.open_runner(self.settings, workers(self._config))
            self._runner.preload()
        return self._runner

    def make_target(self) -> Target | None:
        """The target that the settings name, if they do. Raises `SettingsError` if it makes no sense."""
        return self.backend.configured_target(self.settings, self._config.rootpath)

    @contextmanager
    def configured_target(self) -> Iterator[Target | None]:
        """The same, closed at the end."""
        target = self.make_target()
        try:
            yield target
        finally:
            self.close_target(target)

    @contextmanager
    def own_target(self, value: object) -> Iterator[Target]:
        """A target made of a value for one run; closed at the end, unless the value is a target itself."""
        target = self.as_target(value)
        try:
            yield target
        finally:
            self.close_target(None if target is value else target)

    def close_target(self, target: Target | None) -> None:
        """Close a target on the loop where it was used."""
        if target is not None and not self.loop.closed:
            self.loop.run(_bounded(target.aclose()))

    def as_target(self, value: object) -> Target:
        """A target made of whatever a fixture or a test gives. Raises `TargetStartError`."""
        return self.backend.as_target(value, self._config.rootpath)

    def shared_target(self, value: object) -> Target:
        """A target made of what a session-scoped fixture gave; the same one for the same value."""
        if id(value) not in self._adapted:
            self._adapted[id(value)] = (value, self.as_target(value))
        return self._adapted[id(value)][1]

    def submit(self, order: Order, target: Target) -> Handle[ScenarioResult]:
        """Queue a conversation. Raises what the settings and the project's own hook raise."""
        job = self._job(order, target)
        runner, store = self.runner, store_of(self._config)
        store.begin()
        self._runs += 1
        # Every run is a fresh one, a rerun of the same item too: hence the number in the key.
        return self.pool.submit((order.scenario_id, order.trial, self._runs), partial(store.run, runner, job))

    def wait(self, handle: Handle[ScenarioResult], item: pytest.Item) -> ScenarioResult:
        """Wait for a conversation; it goes to the front of the queue."""
        self.pool.promote(handle.key)
        begun = time.perf_counter()
        try:
            with Progress(self._config, self._state) as progress:
                while not handle.wait(POLL_SECONDS):
                    progress.tick()
            return handle.result(0)
        except BaseException:
            # Ctrl-C, pytest.exit or another plug-in's timeout: nobody waits for this one any more.
            self.pool.cancel(handle.key)
            raise
        finally:
            item.stash[WAITED] = item.stash.get(WAITED, 0.0) + time.perf_counter() - begun

    def cancel(self) -> None:
        """Cancel all conversations that nobody has waited for; later ones can still be started."""
        if "pool" in self.__dict__:
            self.pool.cancel_all()

    @contextmanager
    def all_ended(self) -> Iterator[None]:
        """A time in which nothing of ours uses what session-scoped fixtures gave.

        A target that can't be closed is an error, but not before the fixtures are torn down.
        """
        self.cancel()
        problem = self._close_targets()
        yield
        if problem is not None:
            raise problem

    def _close_targets(self) -> Exception | None:
        problem = None
        while self._adapted:
            value, target = self._adapted.popitem()[1]
            try:
                self.close_target(None if target is value else target)
            except Exception as error:  # noqa: BLE001 - the project's own code, reported by the caller
                problem = error
        return problem

    def close(self) -> None:
        """Let go of everything. Bounded: a conversation that won't end doesn't keep pytest from ending."""
        self.cancel()
        try:
            if self._runner is not None:
                self.loop.run(_bounded(self._runner.aclose()))
        finally:
            self.loop.close()

    def _job(self, order: Order, target: Target) -> Job:
        scenario = order.loaded.scenario
        assert scenario is not None  # noqa: S101 - a skipped scenario is never submitted
        loaded = load_settings(self._config, order.settings) if order.settings else self.settings
        settings = self.backend.scenario_settings(loaded, scenario)
        hook = order.item.ihook
        changed = hook.pytest_convoprobe_settings(item=order.item, scenario=scenario, settings=settings)
        return self.backend.make_job(
            loaded=order.loaded,
            scenario_id=order.scenario_id,
            target=target,
            settings=changed or settings,
            trial=order.trial,
            extra_checks=partial(_extra_checks, order.item),
        )

    def _state(self) -> str:
        """The words of the progress line."""
        stats = self.pool.stats
        cost, tokens = self.runner.spent
        spent = f"${cost:.2f}" if cost else f"{tokens} tokens"
        waiting = f", {stats.waiting} waiting" if stats.waiting else ""
        return f"{stats.done} done, {stats.running} running{waiting}, {spent}"


async def _bounded(coro: Any) -> None:
    """Await a clean-up for at most a few seconds; one that hangs is left behind."""
    try:
        await asyncio.wait_for(coro, 5.0)
    except asyncio.TimeoutError:
        return


def _extra_checks(item: pytest.Item, scenario: Scenario, transcript: Transcript) -> list[Any]:
    """What the project's own hook adds, of all its implementations."""
    found = item.ihook.pytest_convoprobe_checks(item=item, scenario=scenario, transcript=transcript)
    return [check for checks in found for check in checks or ()]


def workers(config: pytest.Config) -> int:
    """How many xdist workers share the run's budget."""
    workerinput = getattr(config, "workerinput", None)
    return int(workerinput.get("workercount", 1)) if workerinput else 1
