"""The conversations of one scenario's item: the first ones, and those that its gate asks for besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import HookTimeout
from ..gate.types import Decision, Word
from ..reports.decisions import figures_of, sentence, stops
from ..result import ScenarioFailed, ScenarioResult, figures, with_attempts
from ..runs.gated_scenario import GatedScenario, free_trials, kept_for_rerun
from ..text import harmless, one_line
from .conversations import look_ahead, submit, wait
from .gating import ONE_OBJECT, first_orders, gate_of, one_talk_terms
from .keys import DECISION, EARLIER, OVERLAPPED, REPORTED, RESULTS, WAITED
from .lookahead import target_is_shared
from .orders import GATED, ORDER, Order
from .session import session_of
from .storing import recorder_of

if TYPE_CHECKING:
    from ..runs.pool import Handle
    from ..targets.port import Target

PROPERTY_PREFIX = "convoprobe_"


class Decided:
    """What came of a scenario under the gate: the decision, and the conversation that shows it best."""

    def __init__(self, decision: Decision, result: ScenarioResult) -> None:
        self.decision = decision
        self.result = result

    def assert_passed(self) -> None:
        """Fail if the gate is red; what failed and doesn't block is expected, with its sentence."""
        __tracebackhide__ = True
        decision = self.decision
        if stops(decision):
            raise ScenarioFailed(self.result, sentence(decision))
        if decision.word is not Word.GREEN or decision.failed:
            pytest.xfail(sentence(decision))


class OnlyReported:
    """A trial that counts alone, of a scenario that may not make a run fail; `why` says so."""

    def __init__(self, result: ScenarioResult, why: str) -> None:
        self.result = result
        self.why = why

    def assert_passed(self) -> None:
        """Expect a failure."""
        __tracebackhide__ = True
        if not self.result.passed:
            pytest.xfail(harmless(f"{self.result.outcome.value}; {one_line(self.why)}, so it blocks nothing"))


class Talks:
    """Runs the conversations of an item with one target, and keeps their results at the item."""

    def __init__(self, item: pytest.Item, target: Target) -> None:
        self._item = item
        self._target = target
        self._order: Order = item.stash[ORDER]
        self._ready: dict[int, Handle[ScenarioResult]] = {}
        self._one_by_one = session_of(item.config).has_to_be_waited_for(target, self._order.loaded)

    def run(self, trials: Sequence[int]) -> list[ScenarioResult]:
        """The results of these trials. They talk at the same time, unless each needs this thread."""
        if target_is_shared(self._item):
            self._ready.update(look_ahead(self._item.config).take(self._item))
        groups = [[trial] for trial in trials] if self._one_by_one else [trials]
        return [result for group in groups if group for result in self._run_together(group)]

    def _run_together(self, trials: Sequence[int]) -> list[ScenarioResult]:
        handles = [self._started(trial) for trial in trials]
        self._start_others()
        return [self._ended(handle) for handle in handles]

    def _start_others(self) -> None:
        if target_is_shared(self._item):
            others = look_ahead(self._item.config).start_others(self._item, self._target)
            # One that ran ahead has printed in the turn of another item, and those that start now may have
            # ended before anybody counts how many are running.
            self._item.stash[OVERLAPPED] = self._item.stash.get(OVERLAPPED, False) or others

    def _started(self, trial: int) -> Handle[ScenarioResult]:
        ready = self._ready.pop(trial, None)
        if ready is not None:
            self._item.stash[OVERLAPPED] = True
            return ready
        return submit(replace(self._order, trial=trial), self._target)

    def _ended(self, handle: Handle[ScenarioResult]) -> ScenarioResult:
        return keep(self._item, wait(handle, self._item))


def run_gated(item: pytest.Item, talks: Talks, *, one_talk: bool) -> GatedScenario:
    """Run a scenario until its gate has decided, or can't.

    `one_talk`: the target can take part in one conversation only.
    """
    order, results = item.stash[ORDER], item.stash[RESULTS]
    # Of a rerun, some may be there already.
    missing = max(0, (1 if one_talk else len(first_orders(order))) - len(results))
    talks.run(free_trials((one.trial for one in results), missing))
    prints = recorder_of(item.config).stored_prints(order.scenario_id, results[0].trial)
    terms = gate_of(item).terms(order, prints)
    gated = GatedScenario(
        order.scenario_id, one_talk_terms(terms, ONE_OBJECT) if one_talk else terms, results
    )
    while (trial := gated.next_trial) is not None:
        for result in talks.run([trial]):
            gated.add(result)
    _conclude(item, gated)
    return gated


def _conclude(item: pytest.Item, gated: GatedScenario) -> None:
    decision = gated.decision()
    _describe(item, gated, decision)
    if decision is not None:
        item.stash[DECISION] = decision
        recorder_of(item.config).decide(decision)


def _describe(item: pytest.Item, gated: GatedScenario, decision: Decision | None) -> None:
    """The item's properties: of the conversation that shows best how it did, and what all of them cost."""
    shown, results = gated.shown, gated.results
    others = [one.spending for one in results if one is not shown]
    drop_properties(item)
    item.user_properties.extend(properties(with_attempts(shown, shown.attempts, others)))
    if decision is not None:
        found = figures_of(decision).items()
        item.user_properties.extend((PROPERTY_PREFIX + name, value) for name, value in found)


def forget(item: pytest.Item) -> None:
    """Drop what an earlier run of the same item left (a rerun), but for what its gate goes on from."""
    # What the earlier attempts spent is spent, and the last one says how many there were.
    results: list[ScenarioResult] = item.stash.get(RESULTS, [])
    kept = kept_for_rerun(results) if GATED in item.stash else []
    earlier = item.stash.setdefault(EARLIER, {})
    earlier.update({(one.scenario_id, one.trial): one for one in results})
    item.stash[RESULTS], item.stash[REPORTED], item.stash[WAITED] = kept, 0, 0.0
    item.stash[OVERLAPPED] = False
    if DECISION in item.stash:
        del item.stash[DECISION]
    drop_properties(item)


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


def drop_properties(item: pytest.Item) -> None:
    """Take away the properties that an earlier run of the item had."""
    item.user_properties[:] = [
        pair for pair in item.user_properties if not pair[0].startswith(PROPERTY_PREFIX)
    ]


def properties(result: ScenarioResult) -> list[tuple[str, Any]]:
    """The JUnit properties of a result; what isn't known is left out."""
    return [(PROPERTY_PREFIX + name, value) for name, value in figures(result).items()]
