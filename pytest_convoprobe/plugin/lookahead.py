"""Which scenarios may start to talk before it is their turn.

A conversation that runs ahead must meet the same world as one that runs in its turn. So only
those do that are certain to run, talk with the same session-scoped target, and depend on no fixture of
the project that isn't set up yet or would be set up for them alone. None talks while there is a state of
one conversation: the agents would leave their traces in it, and a right agent would fail.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import TargetStartError
from .dealt_items import dealt_items
from .keys import NEXT_ITEM
from .orders import BEGUN, Order, has_mark, order_of

if TYPE_CHECKING:
    from ..result import ScenarioResult
    from ..runs.pool import Handle
    from ..targets.port import Target

TARGET_FIXTURE = "convoprobe_target"
SCENARIO_FIXTURE = "convoprobe_scenario"
STATE_FIXTURE = "convoprobe_state"


def given_by_fixture(value: object) -> object:
    """What the fixture of the target gave. Raises `TargetStartError` if that is nothing."""
    if value is None:
        raise TargetStartError(
            f"there is no target: `{TARGET_FIXTURE}` gave None; did it forget to `return`?"
        )
    return value


def fixture_definitions(item: pytest.Item) -> dict[str, Any]:
    """The fixture definitions that an item will use, by name.

    Only this attribute has them, which is not public, though many plug-ins rely on it. If it goes away,
    scenarios run one after another instead of going wrong.
    """
    info = getattr(item, "_fixtureinfo", None)
    found = getattr(info, "name2fixturedefs", {})
    return {name: definitions[-1] for name, definitions in found.items() if definitions}


def target_is_shared(item: pytest.Item) -> bool:
    """Whether the item's target lives as long as the session.

    With parameters it doesn't: whichever fixture has them, pytest makes it again for the next ones.
    """
    definition = fixture_definitions(item).get(TARGET_FIXTURE)
    return definition is not None and definition.scope == "session" and not hasattr(item, "callspec")


def target_has_parameters(item: pytest.Item) -> bool:
    """Whether the parameters of an item decide which target it has."""
    needed = _needed_by(TARGET_FIXTURE, fixture_definitions(item))
    return not needed.isdisjoint(getattr(getattr(item, "callspec", None), "params", {}))


def _needed_by(fixture: str, definitions: dict[str, Any]) -> set[str]:
    """The names of a fixture and of all that it depends on."""
    found, names = set[str](), [fixture]
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += getattr(definitions.get(name), "argnames", ())
    return found


def target_is_ours(item: pytest.Item) -> bool:
    """Whether nobody has overridden the fixture of the target, or given it parameters."""
    definition = fixture_definitions(item).get(TARGET_FIXTURE)
    given = getattr(getattr(item, "callspec", None), "params", {})
    return definition is not None and _is_ours(definition) and TARGET_FIXTURE not in given


def can_run_ahead(item: pytest.Item) -> bool:
    """Whether a scenario needs nothing that lasts less long than the session.

    Otherwise it runs in its turn, and fewer fixtures are set up if its neighbours run in the same process.
    """
    if not target_is_shared(item) or has_own_state(item):
        return False
    return all(scope == "session" for scope in _own_fixtures(item).values())


def has_own_checks(item: pytest.Item) -> bool:
    """Whether the item's scenario names functions of the project as checks."""
    order = order_of(item)
    scenario = order.loaded.scenario if order is not None else None
    return scenario is not None and bool(scenario.evaluation.checks)


def has_own_state(item: pytest.Item) -> bool:
    """Whether the project gives the item's own checks a state: it is that of one conversation."""
    definition = fixture_definitions(item).get(STATE_FIXTURE)
    return has_own_checks(item) and definition is not None and not _is_ours(definition)


def may_run_early(item: pytest.Item, started: pytest.Item) -> bool:
    """Whether `item` can talk now that `started` is set up."""
    if not _is_certain(item) or not can_run_ahead(item):
        return False
    mine, ready = _own_fixtures(item), _own_fixtures(started)
    same_target = fixture_definitions(item)[TARGET_FIXTURE] is fixture_definitions(started)[TARGET_FIXTURE]
    return same_target and mine.keys() <= ready.keys()


def candidates(started: pytest.Item) -> Iterator[tuple[Order, bool]]:
    """The scenarios after `started` that are known to run in this process, in order.

    Beside each: whether a test of the project's comes before it. They end where pytest takes a fixture away
    that `started` has, to make it again with parameters.
    """
    ready, after_test = fixture_definitions(started), False
    for item in _following(started):
        if _makes_again(item, ready):
            return
        order = order_of(item)
        if order is None:
            after_test = True
        else:
            yield order, after_test


def _makes_again(item: pytest.Item, ready: dict[str, Any]) -> bool:
    """Whether an item, a scenario or a test, has parameters for one of these fixtures."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    return any(name in ready and fixture_definitions(item).get(name) is ready[name] for name in given)


def _following(item: pytest.Item) -> Sequence[pytest.Item]:
    """The items after this one. An xdist worker collects all items but is given only some."""
    if not hasattr(item.config, "workerinput"):
        return list(dropwhile(lambda one: one is not item, item.session.items))[1:]
    if (dealt := _dealt_after(item)) is not None:
        return dealt
    upcoming = item.stash.get(NEXT_ITEM, None)
    return [upcoming] if upcoming is not None else []


def _dealt_after(item: pytest.Item) -> Sequence[pytest.Item] | None:
    """The items that are known to follow in this worker of xdist; None if its scheduler isn't ours."""
    dealt = dealt_items(item.config)
    return None if dealt is None else dealt.after(item)


def _is_certain(item: pytest.Item) -> bool:
    """Whether no mark might keep it from running. Conditions are left to pytest, at the item's turn."""
    if has_mark(item, "skip", "skipif"):
        return False
    return all(mark.kwargs.get("run", True) for mark in item.iter_markers("xfail"))


def _own_fixtures(item: pytest.Item) -> dict[int, str]:
    """The project's own fixtures that an item depends on: identity to scope."""
    return {
        id(definition): definition.scope
        for definition in fixture_definitions(item).values()
        if _belongs_to_project(definition, item.config.rootpath)
    }


def set_up_for_each(item: pytest.Item) -> list[str]:
    """The project's fixtures that are made once for this item, and so for all its conversations together.

    That of the target doesn't count, as a rule: what it gives says whether it can talk more than once. One
    that asks for the scenario prepares something for it, which the first conversation changes. That of the
    state counts whatever its scope: what is in it is what one conversation has left.
    """
    definitions = fixture_definitions(item)
    found = [
        name
        for name, definition in sorted(definitions.items())
        if name != STATE_FIXTURE
        and (name != TARGET_FIXTURE or SCENARIO_FIXTURE in _needed_by(TARGET_FIXTURE, definitions))
        and definition.scope == "function"
        and _belongs_to_project(definition, item.config.rootpath)
    ]
    return [*found, STATE_FIXTURE] if has_own_state(item) else found


def _belongs_to_project(definition: Any, root: Path) -> bool:
    """Whether a fixture is defined in the project's own files rather than in an installed plug-in."""
    if _is_ours(definition):
        return False
    code = getattr(inspect.unwrap(definition.func), "__code__", None)
    return code is not None and is_of_project(Path(code.co_filename), root)


def is_of_project(file: Path, root: Path) -> bool:
    """Whether a file of Python is one of the project's own, and not of an installed package."""
    if {"site-packages", "dist-packages"} & set(file.parts):
        return False
    return file.name == "conftest.py" or root in file.parents


def _is_ours(definition: Any) -> bool:
    module = getattr(inspect.unwrap(definition.func), "__module__", None) or ""
    return module.startswith("pytest_convoprobe.")


class LookAhead:
    """The conversations that were started before their turn.

    `submit` queues one. `waits` says of one that it needs the thread that waits for it, and so its turn.
    `disturbs` says of one that tests of the project's would notice it: it isn't started before they have run.
    `first` are those of an item that can start ahead: further ones depend on what these come to.
    `cancel` ends one that is no longer wanted; it may be called on any thread.
    """

    def __init__(
        self,
        submit: Callable[[Order, Target], Handle[ScenarioResult]],
        waits: Callable[[Order, Target], bool],
        first: Callable[[Order], list[Order]],
        cancel: Callable[[Handle[ScenarioResult]], object],
        disturbs: Callable[[Order], bool],
    ) -> None:
        self._disturbs = disturbs
        self._left_for_later = False
        self._cancel = cancel
        self._first = first
        self._submit = submit
        self._waits = waits
        self._handles: dict[str, dict[int, Handle[ScenarioResult]]] = {}
        self._worlds: set[frozenset[int]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def take(self, item: pytest.Item) -> dict[int, Handle[ScenarioResult]]:
        """The conversations that were started for an item, by trial, once: a rerun has new ones."""
        with self._lock:
            return self._handles.pop(item.nodeid, {})

    def stop(self) -> None:
        """The session is to end after the present item: the conversations of others end now."""
        with self._lock:
            self._stopped, unwanted = True, [one for some in self._handles.values() for one in some.values()]
            self._handles.clear()
        # The last ones first: they may still wait for a place, which the end of others would give them.
        for handle in reversed(unwanted):
            self._cancel(handle)

    def start_others(self, started: pytest.Item, target: Target) -> bool:
        """Start what can run, now that `started` has all its fixtures. Returns whether there was any."""
        if not target_is_shared(started) or has_own_state(started) or not self._is_new_world(started):
            return False
        before, self._left_for_later = len(self._handles), False
        for order, after_test in candidates(started):
            item = order.item
            if has_own_state(item):
                self._left_for_later = True  # those after it start when its state is gone
                break
            waiting = item.nodeid not in self._handles and BEGUN not in item.stash
            if waiting and may_run_early(item, started):
                self._start(order, target, after_test)
        return len(self._handles) > before

    def _is_new_world(self, started: pytest.Item) -> bool:
        """Whether looking again may find more: other fixtures, more from xdist, or tests that have run."""
        world = frozenset(_own_fixtures(started))
        more = hasattr(started.config, "workerinput") and _dealt_after(started) is None
        known = world in self._worlds and not (more or self._left_for_later)
        self._worlds.add(world)
        return not known

    def _start(self, order: Order, target: Target, after_test: bool) -> None:
        try:
            if after_test and self._disturbs(order):
                self._left_for_later = True
            elif not self._waits(order, target):
                for one in self._first(order):
                    self._start_trial(one, target)
        except Exception:  # noqa: BLE001
            # Its settings, or a hook of the project, are at fault. It is not this item's turn:
            # when it comes, the same happens again, and pytest reports it where it belongs.
            return

    def _start_trial(self, order: Order, target: Target) -> None:
        if self._stopped:
            return
        handle = self._submit(order, target)
        with self._lock:
            unwanted = self._stopped
            if not unwanted:
                self._handles.setdefault(order.item.nodeid, {})[order.trial] = handle
        if unwanted:
            self._cancel(handle)
