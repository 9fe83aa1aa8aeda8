"""A scenario as pytest sees it: a function that asks for its own result and asserts that it passed."""

from __future__ import annotations

import os
from types import FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import ConvoprobeError, HookTimeout
from ..result import Outcome, figures, with_attempts
from ..targets.given_objects import Use

# The last three are for the hooks, here so that they are there before conversations begin. pytest parses the
# source of a plug-in's modules when they are imported, which must not collide with other threads.
from . import headings, item_reports, marks, representing  # noqa: F401
from .conversations import look_ahead, submit, wait
from .error_text import error_text, no_verdict
from .keys import EARLIER, OVERLAPPED, REPORTED, RESULTS, WAITED
from .lookahead import given_by_fixture, target_is_shared
from .node_ids import HasParsedId
from .orders import BEGUN, ORDER, Order
from .session import session_of

if TYPE_CHECKING:
    from ..result import ScenarioResult
    from ..scenario.loading import LoadedScenario
    from ..targets.port import Target

PROPERTY_PREFIX = "convoprobe_"


def scenario(_convoprobe_result: ScenarioResult) -> None:
    """The test function of every scenario: whether the agent did what it should."""
    result = _convoprobe_result  # the name by which one asks for it where `--pdb` stops
    result.assert_passed()


def function_of(loaded: LoadedScenario) -> FunctionType:
    """The function with the scenario's description, which `--collect-only -v` shows, and its place.

    pytest asks the code where a test is, for `--fixtures-per-test` say.
    """
    code = scenario.__code__.replace(co_filename=str(loaded.file), co_firstlineno=max(1, loaded.line))
    function = FunctionType(code, scenario.__globals__, scenario.__name__)
    function.__doc__ = loaded.description
    return function


class ScenarioItem(HasParsedId, pytest.Function):
    """One trial of one scenario.

    `loaded` is the scenario with its place, `trial` counts from 1; `convoprobe_result` is what
    came out of the last run, None before.
    """

    loaded: LoadedScenario
    trial: int

    @classmethod
    def of(
        cls, parent: pytest.File, loaded: LoadedScenario, trial: int, generated: pytest.Function
    ) -> ScenarioItem:
        """The item of a trial of what pytest has generated, with its parameters and fixtures.

        The first trial has the plain name, so that it can be pasted back.
        """
        name = loaded.id if trial == 1 else f"{loaded.id}[trial-{trial}]"
        # The fixtures are handed on, since hooks may have added some, or parametrised them. No public name
        # has them.
        fixtures = getattr(generated, "_fixtureinfo", None)
        item: ScenarioItem = cls.from_parent(
            parent, name=name, callobj=function_of(loaded), fixtureinfo=fixtures
        )
        _take_parameters(item, generated)
        item.loaded, item.trial = loaded, trial
        item.stash[ORDER] = Order(item, loaded, f"{parent.nodeid}::{loaded.id}", trial)
        marks.add_tags(item, loaded.tags)
        if loaded.skip is not None:
            item.add_marker(pytest.mark.skip(reason=loaded.skip))
        return item

    @property
    def convoprobe_result(self) -> ScenarioResult | None:
        results = self.stash.get(RESULTS, [])
        return results[-1] if results else None

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The place in the scenario file; pytest counts lines from 0."""
        return self.path, max(0, self.loaded.line - 1), self.name

    def talk(self, value: object) -> ScenarioResult:
        """Run the conversation with what the fixture of the target gave, and wait for the result."""
        self.stash[BEGUN] = True
        forget(self)
        session = session_of(self.config)
        if target_is_shared(self):
            result = self._talk_ahead(session.shared_target(value))
        else:
            # A target that lives no longer than this item: ours is to be closed with it.
            with session.own_target(value, Use.ONCE) as target:
                result = wait(submit(self.stash[ORDER], target), self)
        return keep(self, result)

    def _talk_ahead(self, target: Target) -> ScenarioResult:
        ahead = look_ahead(self.config)
        started = ahead.take(self)
        handle = started or submit(self.stash[ORDER], target)
        others = ahead.start_others(self, target)
        # One that ran ahead has printed in the turn of another item, and those that start now may have ended
        # before anybody counts how many are running.
        self.stash[OVERLAPPED] = started is not None or others
        return wait(handle, self)


def _take_parameters(item: pytest.Function, generated: pytest.Function) -> None:
    """Give an item the parameters of another one.

    Not by the constructor: pytest would make the node id of them, and leave out the number of the trial.
    `callspec` is documented nowhere, though pytest's own plug-ins and others read it.
    """
    callspec = getattr(generated, "callspec", None)
    if callspec is not None:
        item.callspec, item.originalname = callspec, generated.originalname
        item.own_markers.extend(callspec.marks)
        item.keywords.update({callspec.id: True, **{mark.name: mark for mark in callspec.marks}})


def result_of(item: ScenarioItem, value: object) -> ScenarioResult | None:
    """The verdict on an item's conversation; an error or a skip is raised. None under `--setup-only`."""
    if item.config.getoption("setuponly", False):
        return None
    try:
        result = item.talk(given_by_fixture(value))
    except ConvoprobeError as error:
        raise no_verdict(error_text(error), error.blame) from None
    if result.outcome is Outcome.SKIPPED:
        pytest.skip(result.reason)
    if result.outcome is Outcome.ERROR:
        result.assert_passed()
    return result


def forget(item: pytest.Item) -> None:
    """Drop what an earlier run of the same item left (a rerun)."""
    # What the earlier attempts spent is spent, and the last one says how many there were.
    earlier = item.stash.setdefault(EARLIER, {})
    earlier.update({(one.scenario_id, one.trial): one for one in item.stash.get(RESULTS, [])})
    item.stash[RESULTS], item.stash[REPORTED], item.stash[WAITED] = [], 0, 0.0
    item.user_properties[:] = [
        pair for pair in item.user_properties if not pair[0].startswith(PROPERTY_PREFIX)
    ]


def keep(item: pytest.Item, result: ScenarioResult) -> ScenarioResult:
    """Note a result at its item, for reports and for whoever looks at the item; with its earlier attempts."""
    before = item.stash.get(EARLIER, {}).get((result.scenario_id, result.trial))
    if before is not None:
        result = with_attempts(result, before.attempts + 1, [before.spending])
    item.stash.setdefault(RESULTS, []).append(result)
    item.user_properties.extend(properties(result))
    hook = item.ihook.pytest_convoprobe_result
    if hook.get_hookimpls():
        from ..project_code.on_this_thread import in_time

        limit = session_of(item.config).settings_of(result.file).settings.run.scenario_timeout
        error = HookTimeout("pytest_convoprobe_result", limit)
        in_time(lambda: hook(item=item, result=result), limit, error)
    return result


def properties(result: ScenarioResult) -> list[tuple[str, Any]]:
    """The JUnit properties of a result; what isn't known is left out."""
    return [(PROPERTY_PREFIX + name, value) for name, value in figures(result).items()]
