"""A scenario as pytest sees it: a function that asks for its own result and asserts that it passed."""

from __future__ import annotations

import os
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING

import pytest

from ..errors import ConvoprobeError
from ..result import Outcome, ScenarioResult
from ..targets.factory import is_single_object
from ..targets.given_objects import Use

# The last three are for the hooks, here so that they are there before conversations begin. pytest parses the
# source of a plug-in's modules when they are imported, which must not collide with other threads.
from . import headings, item_reports, marks, representing  # noqa: F401
from .error_text import error_text, no_verdict
from .gating import mode_of_order
from .keys import RESULTS
from .lookahead import given_by_fixture, target_is_shared
from .node_ids import HasParsedId
from .orders import BEGUN, GATED, ORDER, Order
from .session import session_of
from .talks import Decided, OnlyReported, Talks, forget, run_gated

if TYPE_CHECKING:
    from ..gate.choosing import Chosen
    from ..runs.gated_scenario import GatedScenario
    from ..scenario.loading import LoadedScenario
    from ..scenario.models import Scenario
    from ..targets.port import Target


def scenario(_convoprobe_result: ScenarioResult | Decided | OnlyReported) -> None:
    """The test function of every scenario: whether the agent did what it should."""
    found = _convoprobe_result
    # The name by which one asks for it where `--pdb` stops.
    result = found if isinstance(found, ScenarioResult) else found.result  # noqa: F841
    found.assert_passed()


def function_of(loaded: LoadedScenario) -> FunctionType:
    """The function with the scenario's description, which `--collect-only -v` shows, and its place.

    pytest asks the code where a test is, for `--fixtures-per-test` say.
    """
    code = scenario.__code__.replace(co_filename=str(loaded.file), co_firstlineno=max(1, loaded.line))
    function = FunctionType(code, scenario.__globals__, scenario.__name__)
    function.__doc__ = loaded.description
    return function


class ScenarioItem(HasParsedId, pytest.Function):
    """One trial of one scenario; or all of them, where a policy decides about them together.

    `loaded` is the scenario with its place, `trial` counts from 1; `convoprobe_result` is what
    came out of the last conversation, None before.
    """

    loaded: LoadedScenario
    trial: int

    @classmethod
    def of(
        cls,
        parent: pytest.File,
        loaded: LoadedScenario,
        trial: int,
        generated: pytest.Function,
        policy: Chosen = "each",
    ) -> ScenarioItem:
        """The item of a trial of what pytest has generated, with its parameters and fixtures.

        With a `policy` other than `each` it is the item of all trials of the scenario.

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
        if policy != "each":
            item.stash[GATED] = policy
        marks.add_tags(item, loaded.tags)
        if loaded.skip is not None:
            item.add_marker(pytest.mark.skip(reason=loaded.skip))
        return item

    @property
    def convoprobe_scenario(self) -> Scenario | None:
        """What its file says; None for one that is skipped and not finished."""
        return self.loaded.scenario

    @property
    def convoprobe_result(self) -> ScenarioResult | None:
        results = self.stash.get(RESULTS, [])
        return results[-1] if results else None

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """The place in the scenario file; pytest counts lines from 0."""
        return self.path, max(0, self.loaded.line - 1), self.name

    def talk(self, value: object, state: object = None) -> ScenarioResult | GatedScenario:
        """Run the conversations with what the fixture of the target gave, and wait for what they come to.

        `state` is what the fixture of the state gave.
        """
        self.stash[BEGUN] = True
        self.stash[ORDER] = replace(self.stash[ORDER], state=state)
        forget(self)
        session = session_of(self.config)
        if target_is_shared(self):
            return self._talk_with(session.shared_target(value))
        # A target that lives no longer than this item: ours is to be closed with it.
        with session.own_target(value, Use.ONCE) as target:
            return self._talk_with(target, one_talk=is_single_object(value))

    def _talk_with(self, target: Target, *, one_talk: bool = False) -> ScenarioResult | GatedScenario:
        talks = Talks(self, target)
        if GATED in self.stash:
            return run_gated(self, talks, one_talk=one_talk)
        return talks.run([self.trial])[0]


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


def result_of(
    item: ScenarioItem, value: object, state: object = None
) -> ScenarioResult | Decided | OnlyReported | None:
    """What the function of the item asserts; an error or a skip is raised. None under `--setup-only`."""
    if item.config.getoption("setuponly", False):
        return None
    try:
        found = item.talk(given_by_fixture(value), state)
    except ConvoprobeError as error:
        raise no_verdict(error_text(error), error.blame) from None
    if isinstance(found, ScenarioResult):
        return _with_verdict(item, found)
    decision = found.decision()
    if decision is None:
        return _with_verdict(item, found.broken or found.shown)
    return Decided(decision, found.shown)


def _with_verdict(item: ScenarioItem, result: ScenarioResult) -> ScenarioResult | Decided | OnlyReported:
    if result.outcome is Outcome.SKIPPED:
        pytest.skip(result.reason)
    if result.outcome is Outcome.ERROR:
        result.assert_passed()
    mode, said = mode_of_order(item.stash[ORDER])
    # Whatever decides: one that may not make a run fail doesn't as a trial either.
    return result if mode == "block" else OnlyReported(result, said)
