"""The conversations of pytest's items: submitted with the project's hooks, waited for, and stored."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SettingsError
from ..runs.progress import ProgressLine
from ..settings.file_formats import given_in_code
from ..settings.judge_settings import as_judge
from ..settings.several_targets import with_target
from .dealt_items import dealt_items
from .gating import first_orders
from .judge_gate import require_fit
from .keys import OVERLAPPED, WAITED
from .lookahead import LookAhead
from .model_variables import changes_environment
from .orders import Order
from .session import backend_of, session_of, settings_for, settings_source
from .storing import recorder_of
from .stream import show_said, stream_of
from .terminal import PytestTerminal

if TYPE_CHECKING:
    from ..result import ScenarioResult
    from ..runs.job import Job
    from ..runs.pool import Handle
    from ..scenario.models import Scenario
    from ..settings.loading import LoadedSettings
    from ..settings.models import ScenarioSettings
    from ..targets.port import Target
    from ..transcript import Transcript

_AHEAD: pytest.StashKey[LookAhead] = pytest.StashKey()


def look_ahead(config: pytest.Config) -> LookAhead:
    """The conversations that start before their turn."""
    if _AHEAD not in config.stash:
        cancel = partial(_cancel, config)
        ahead = config.stash[_AHEAD] = LookAhead(
            submit, _has_to_be_waited_for, first_orders, cancel, changes_environment
        )
        if (dealt := dealt_items(config)) is not None:
            dealt.when_stopped(ahead.stop)
    return config.stash[_AHEAD]


def _cancel(config: pytest.Config, handle: Handle[ScenarioResult]) -> None:
    session_of(config).pool.cancel(handle.key)


def _has_to_be_waited_for(order: Order, target: Target) -> bool:
    return session_of(order.item.config).has_to_be_waited_for(target, order.loaded)


def submit(order: Order, target: Target) -> Handle[ScenarioResult]:
    """Queue a conversation. Raises what the settings raise."""
    __tracebackhide__ = True  # a test that gave wrong settings sees its own line
    config = order.item.config
    job, recorder = _job(order, target), recorder_of(config)
    recorder.describe()  # before the agent runs: one that ends the process leaves a run that broke off
    return session_of(config).submit(job, recorder)


def wait(handle: Handle[ScenarioResult], item: pytest.Item) -> ScenarioResult:
    """Wait for a conversation on pytest's thread; a line on the terminal says how far all of them are."""
    session = session_of(item.config)
    begun, stats = time.perf_counter(), session.pool.stats
    if stats.running + stats.waiting > 1:
        item.stash[OVERLAPPED] = True
    try:
        with ProgressLine(PytestTerminal(item.config), session.words) as progress:

            def tick() -> None:
                show_said(item.config)
                progress.tick()

            return session.wait(handle, tick)
    finally:
        show_said(item.config)
        item.stash[WAITED] = item.stash.get(WAITED, 0.0) + time.perf_counter() - begun


def _overridden(order: Order) -> LoadedSettings:
    """With what a test overrides: it counts for that conversation alone, so it is merged again."""
    __tracebackhide__ = True
    try:
        loaded = settings_source(order.item.config, order.settings).of(order.loaded.file)
        return with_target(loaded, order.loaded.configured) if order.loaded.configured else loaded
    except SettingsError as error:
        wrong = given_in_code(error)
    raise wrong


def _job(order: Order, target: Target) -> Job:
    __tracebackhide__ = True
    scenario, item = order.loaded.scenario, order.item
    assert scenario is not None  # noqa: S101 - a skipped scenario is never submitted
    session = session_of(item.config)
    loaded = _overridden(order) if order.settings else settings_for(order)
    settings = backend_of(item.config).scenario_settings(loaded, scenario)
    hook, mask = item.ihook.pytest_convoprobe_settings, item.ihook.pytest_convoprobe_mask
    checks = item.ihook.pytest_convoprobe_checks
    if not hook.get_hookimpls() and scenario.evaluation.asks_judge:
        require_fit(item.session.items, settings.judge, loaded)
    stream = stream_of(item.config)
    # Without an implementation of a hook there is nothing to start a thread for.
    return session.job(
        order.loaded,
        order.scenario_id,
        target,
        settings,
        trial=order.trial,
        state=order.state,
        extra_checks=partial(_extra_checks, item) if checks.get_hookimpls() else None,
        mask=partial(_masked, item) if mask.get_hookimpls() else None,
        adjust=partial(_adjusted, item, scenario, loaded) if hook.get_hookimpls() else None,
        on_said=stream.take if stream else None,
    )


def _adjusted(
    item: pytest.Item, scenario: Scenario, loaded: LoadedSettings, settings: ScenarioSettings
) -> ScenarioSettings | None:
    """What the project's own hook makes of the settings. Only then it is known who the judge is."""
    changed: ScenarioSettings | None = item.ihook.pytest_convoprobe_settings(
        item=item, scenario=scenario, settings=settings
    )
    if not scenario.evaluation.asks_judge:
        return changed
    judge = as_judge((changed or settings).judge)
    # The requirement is the project's, whichever model a hook names.
    required = judge.require or settings.judge.require
    require_fit(item.session.items, judge.model_copy(update={"require": required}), loaded)
    return changed


def _masked(item: pytest.Item, text: str) -> str | None:
    masked: str | None = item.ihook.pytest_convoprobe_mask(text=text)
    return masked


def _extra_checks(item: pytest.Item, scenario: Scenario, transcript: Transcript) -> list[Any]:
    """What the project's own hook adds, of all its implementations."""
    found = item.ihook.pytest_convoprobe_checks(item=item, scenario=scenario, transcript=transcript)
    return [check for checks in found for check in checks or ()]
