"""The scheduler for pytest-xdist's `-n`: it deals the scenarios to the workers at the beginning.

A conversation mostly waits, so a worker can hold many at once. But it may start only those that are certain
to come to it. Tests are scheduled as xdist does, and so are scenarios that can't run ahead. This module is
imported only where its scheduler is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from xdist import scheduler

from .dealt_items import CHANNEL

_CHANNELS: pytest.StashKey[dict[Any, WorkerChannel]] = pytest.StashKey()
_MAY_BE_ANOTHER = (
    "; another scenario that was talking in that worker at the same time may be the cause: the others run "
    "again, one at a time"
)


class WorkerChannel:
    """The channel to one worker, which may not have started yet. A worker without scenarios ignores it."""

    def __init__(self, worker: Any) -> None:
        self.scenarios: list[int] = []
        """The places of those that can run ahead, among the items that the worker has collected."""
        self._dealt: set[int] = set()
        self._channel = worker.gateway.newchannel()
        # What plug-ins put into the input of a worker travels by execnet, which can send its channels too.
        worker.workerinput[CHANNEL] = self._channel
        self._channel.setcallback(self.scenarios.extend)

    def deal(self, places: Sequence[int]) -> None:
        """Tell the worker which items come to it."""
        self._dealt = set(places)
        self._send(list(places))

    def has_some_ahead(self, left: Sequence[int]) -> bool:
        """Whether scenarios may be talking there before their turn. `left` is what it has still to end.

        They begin with the first of them whose turn comes.
        """
        dealt = self._dealt.intersection(self.scenarios)
        ahead = dealt.intersection(left[1:])
        return bool(ahead) and ahead != dealt

    def stop(self, reason: str) -> None:
        """Have the worker end its session after the present item."""
        self._send(reason)

    def _send(self, message: list[int] | str) -> None:
        with contextlib.suppress(OSError):  # the worker has ended
            self._channel.send(message)


def connect(worker: Any) -> None:
    """Make the connection to a worker of xdist that is about to start."""
    worker.config.stash.setdefault(_CHANNELS, {})[worker] = WorkerChannel(worker)


class LoadScheduling(scheduler.LoadScheduling):  # type: ignore[misc]  # xdist has no types
    """xdist's own, with all scenarios dealt at the beginning.

    It has the name of xdist's, which `-v` shows: without scenarios it does nothing else.
    """

    collection: list[str] | None
    said_of_crash = ""
    """A sentence on the last worker that crashed, if the scenario in its turn may not be the cause."""
    _has_dealt = False
    _has_stopped = False

    def add_node(self, node: Any) -> None:
        super().add_node(node)
        if self._has_dealt:
            # It replaces a worker that has crashed. If it runs one scenario at a time, the next crash is
            # reported on the scenario that causes it.
            self._channels[node].deal([])

    def schedule(self) -> None:
        scenarios = self._announced() if self.collection is None else []
        if not scenarios:
            super().schedule()
            return
        self.collection = next(iter(self.node2collection.values()))
        self.maxschedchunk = len(self.collection)
        tests = sorted(set(range(len(self.collection))) - set(scenarios))
        hands, self.pending[:] = deal(scenarios, tests, len(self.nodes))
        self._has_dealt = True
        # In the order in which workers were started: the same worker gets the same scenarios in each run.
        nodes = sorted(self.nodes, key=list(self._channels).index)
        for node, hand in zip(nodes, hands, strict=True):
            self._give(node, hand)

    def _announced(self) -> list[int]:
        """The places of the scenarios; none if the workers have collected different items: xdist says so."""
        found = [(self._channels[node].scenarios, ids) for node, ids in self.node2collection.items()]
        return found[0][0] if all(one == found[0] for one in found) else []

    @property
    def _channels(self) -> dict[Any, WorkerChannel]:
        found: dict[Any, WorkerChannel] = self.config.stash[_CHANNELS]
        return found

    def _give(self, node: Any, hand: list[int]) -> None:
        self._channels[node].deal(hand)
        self.node2pending[node].extend(hand)
        node.send_runtest_some(hand)
        if not self.pending:
            node.shutdown()  # a worker runs its last item once it knows that none follows

    def remove_node(self, node: Any) -> str | None:
        ahead = self._channels[node].has_some_ahead(self.node2pending.get(node, []))
        self.said_of_crash = _MAY_BE_ANOTHER if ahead else ""
        crashed: str | None = super().remove_node(node)
        return crashed

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        if self._has_dealt and not self._has_stopped:
            self._stop_if_session_does()

    def _stop_if_session_does(self) -> None:
        """When a session stops early, xdist's workers run what they have already: here, all scenarios."""
        session = self.config.pluginmanager.get_plugin("dsession")
        if reason := getattr(session, "shouldstop", False):
            self._has_stopped = True
            for node in self.nodes:
                self._channels[node].stop(str(reason))


def deal(scenarios: Sequence[int], tests: Sequence[int], workers: int) -> tuple[list[list[int]], list[int]]:
    """The items that each worker gets at the beginning, and those that are scheduled later.

    Each gets every n-th scenario, and as many tests as xdist would give it if there were no scenarios.
    """
    size = max(2, len(tests) // workers // 4)
    if len(tests) < 2 * workers:  # a worker needs two, so xdist deals them all
        given, some = len(tests), [tests[place::workers] for place in range(workers)]
    else:
        given, some = size * workers, [tests[place * size :][:size] for place in range(workers)]
    hands = [sorted([*scenarios[place::workers], *some[place]]) for place in range(workers)]
    return hands, list(tests[given:])
