"""Scenarios inside ordinary tests: what the `convoprobe` fixture gives."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import ConvoprobeError, SettingsError, TargetStartError
from ..runs.configured import ConfiguredTarget, with_meant_target
from ..runs.pool import Handle
from ..scenario import coerce
from ..targets.given_objects import Use
from . import options
from .bridge import on_running_loop, pause
from .conversations import submit, wait
from .keys import RESULTS
from .lookahead import TARGET_FIXTURE, given_by_fixture, target_has_parameters
from .orders import Order
from .session import session_of
from .stream import show_said
from .talks import forget, keep

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..result import ScenarioResult
    from ..scenario.loading import LoadedScenario
    from ..targets.port import Target


class Convoprobe:
    """Runs scenarios for one test. What it returns is for the test's own assertions.

    A scenario may be the path of a file, relative to the test's folder or to the rootdir (with
    `::name` behind it if the file has several), the YAML text itself, a mapping with the same keys, or a
    `Scenario`. `target` is anything that can be one, by default what the fixture `convoprobe_target` gives.
    `settings` overrides settings by dotted path for this run: `{"judge.model": "openai/gpt-4o"}`. They can't
    change the target. `state` is what functions in `evaluation.checks` get by that name, such as a database.
    """

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._item: pytest.Item = request.node
        self._session = session_of(request.config)
        self._seen: dict[str, int] = {}
        # In a notebook pytest itself runs inside a loop, and may block it. The loop of an asynchronous test
        # does not run yet when fixtures are made.
        self._loop_around_pytest = _asyncio_loop()
        forget(self._item)

    @property
    def results(self) -> tuple[ScenarioResult, ...]:
        """All results of this test so far, in the order in which they came in."""
        found: list[ScenarioResult] = self._item.stash[RESULTS]
        return tuple(found)

    def run(
        self,
        scenario: coerce.AnyScenario,
        *,
        target: object = None,
        settings: Mapping[str, Any] | None = None,
        state: object = None,
    ) -> ScenarioResult:
        """Run a scenario and wait for it. In an async test use `run_async`.

        It works in a notebook too. A scenario with `skip` skips the test. Raises `ScenarioFileError` and
        `SettingsError`.
        """
        __tracebackhide__ = True  # pytest shows the test's own line
        if _asyncio_loop() not in (None, self._loop_around_pytest):
            raise RuntimeError(
                "convoprobe.run() would block the event loop: use `await convoprobe.run_async()`"
            )
        order, value = self._order(scenario, settings, target)
        with self._owned(value, order) as made:
            return self._kept(wait(submit(replace(order, state=state), made), self._item))

    async def run_async(
        self,
        scenario: coerce.AnyScenario,
        *,
        target: object = None,
        settings: Mapping[str, Any] | None = None,
        state: object = None,
    ) -> ScenarioResult:
        """The same for async tests: the target's coroutines run on the test's own event loop.

        Under trio they run on convoprobe's loop, as everything that isn't asyncio's does.
        """
        __tracebackhide__ = True
        order, value = self._order(scenario, settings, target)
        made, loop = self._opened(value, order), _asyncio_loop()
        order = replace(order, state=state)
        if made is value or loop is None:
            return await self._awaited(order, made)
        try:
            with on_running_loop(made) as there:
                return await self._awaited(order, there)
        finally:
            await made.aclose()

    async def _awaited(self, order: Order, target: Target) -> ScenarioResult:
        handle: Handle[ScenarioResult] = submit(order, target)
        self._session.pool.promote(handle.key)
        try:
            while not handle.done:
                self._session.waiting.make_waiting()
                show_said(self._item.config)
                await pause()
        finally:
            self._session.pool.cancel(handle.key)
            show_said(self._item.config)
        return self._kept(handle.result(0))

    def _kept(self, result: ScenarioResult) -> ScenarioResult:
        return keep(self._item, result)

    def _owned(self, value: object, order: Order) -> AbstractContextManager[Target]:
        """The target that this call opens. Raises `TargetStartError`, at the test's own line."""
        __tracebackhide__ = True
        try:
            if _is_name(value, order):
                return self._session.target(None, order.loaded.file, order.loaded.configured)
            return self._session.own_target(value)
        except TargetStartError as error:
            raise error.with_traceback(None) from None

    def _opened(self, value: object, order: Order) -> Target:
        if _is_name(value, order):
            return self._session.configured_target().of(order.loaded.file, order.loaded.configured)
        return self._session.as_target(value, Use.ONE_BY_ONE)

    def _target(self, given: object) -> object:
        return given_by_fixture(self._request.getfixturevalue(TARGET_FIXTURE)) if given is None else given

    def _order(
        self, scenario: coerce.AnyScenario, settings: Mapping[str, Any] | None, target: object
    ) -> tuple[Order, object]:
        """What is to be run, and what is to be its target."""
        __tracebackhide__ = True
        _require_other_than_target(settings or {})
        try:
            loaded = self._loaded(scenario)
        except (ConvoprobeError, OSError, ValueError) as error:
            # What is wrong is the scenario that was given, and nothing on the way to its reader.
            raise error.with_traceback(None) from None
        if loaded.skip is not None:
            pytest.skip(loaded.skip)
        value = self._target(target)
        loaded = self._with_target(loaded, value, is_given=target is not None)
        count = self._seen[loaded.id] = self._seen.get(loaded.id, 0) + 1
        suffix = f"[{count}]" if count > 1 else ""
        scenario_id = f"{self._item.nodeid}::{loaded.id}{suffix}"
        return Order(self._item, loaded, scenario_id, 1, settings), value

    def _with_target(self, loaded: LoadedScenario, value: object, *, is_given: bool) -> LoadedScenario:
        """The scenario with the name of its target, where there are several."""
        __tracebackhide__ = True
        if isinstance(value, ConfiguredTarget):
            chosen = options.chosen_targets(self._request.config)
            return with_meant_target(loaded, self._session.settings_of(loaded.file), chosen=chosen)
        if isinstance(value, str):
            return with_meant_target(loaded, self._session.settings_of(loaded.file), value)
        if not is_given and target_has_parameters(self._item):
            return replace(loaded, target=str(getattr(getattr(self._item, "callspec", None), "id", "")))
        return loaded

    def _loaded(self, scenario: coerce.AnyScenario) -> LoadedScenario:
        loaded = coerce.loaded(scenario, self._path)
        if not loaded.file.startswith("<"):
            return loaded
        # A scenario without a file of its own is located at the test.
        path, line, _ = self._item.reportinfo()
        return replace(loaded, file=str(path), line=(line or 0) + 1)

    def _path(self, text: str) -> Path:
        beside = self._item.path.parent / text
        path = beside if beside.exists() else self._item.config.rootpath / text
        if not path.exists():
            places = " and ".join(dict.fromkeys(map(str, (beside, path))))
            raise FileNotFoundError(f"no scenario file {text}: looked for {places}")
        return path


def _is_name(value: object, order: Order) -> bool:
    """Whether a target was given by its name in the settings."""
    return bool(order.loaded.configured) and value == order.loaded.configured


def _require_other_than_target(settings: Mapping[str, Any]) -> None:
    __tracebackhide__ = True
    # The target comes from `target` or the fixture: ignored, such a setting would mean another agent.
    for key in settings:
        if key.partition(".")[0] == "target":
            raise SettingsError.of(
                "the settings of one run can't change the target: give the agent as `target=`, or change the "
                "settings file",
                path=key,
            )


def _asyncio_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
