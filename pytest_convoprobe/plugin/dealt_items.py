"""What the scheduler has dealt to this worker of xdist: items that are certain to run here, and their order.

The controller has no items, and a worker does not know which of them it will get. They tell each other over
a channel of execnet, which the controller puts into the worker's input: the worker says which of its items
are scenarios, the controller answers with the items that it deals to the worker, or with a reason to stop.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

import pytest

from .orders import order_of

CHANNEL = "convoprobe_channel"
"""The key of the channel in a worker's input."""

_DEALT: pytest.StashKey[DealtItems] = pytest.StashKey()


class DealtItems:
    """The items that this worker was given at the beginning, in the order in which it runs them.

    `hear` is called by execnet's own thread.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._items: Sequence[pytest.Item] | None = None
        self._places: dict[pytest.Item, int] = {}
        self._on_stop: list[Callable[[], object]] = []

    def hear(self, message: str | list[int]) -> None:
        """Take the places of the dealt items, or the reason why the session ends after the present item."""
        if isinstance(message, str):
            return self._stop(message)
        items = [self._session.items[place] for place in message]
        self._places = {item: place for place, item in enumerate(items)}
        self._items = items

    def _stop(self, reason: str) -> None:
        self._session.shouldstop = reason
        for stop in self._on_stop:
            stop()

    def when_stopped(self, stop: Callable[[], object]) -> None:
        """Have `stop()` called when the session is to end early, on a thread of execnet."""
        self._on_stop.append(stop)
        if self._session.shouldstop:
            stop()

    def after(self, item: pytest.Item) -> Sequence[pytest.Item] | None:
        """The items that are certain to run after this one, in order; None if nothing was dealt.

        There are none if it came later, from a worker that has crashed.
        """
        if self._items is None:
            return None
        return self._items[self._places.get(item, len(self._items)) + 1 :]


def announce(session: pytest.Session, can_run_ahead: Callable[[pytest.Item], bool]) -> None:
    """Tell the controller which of the collected items it should deal, before it hears of the collection."""
    channel = getattr(session.config, "workerinput", {}).get(CHANNEL)
    if channel is None:
        return
    dealt = session.config.stash[_DEALT] = DealtItems(session)
    scenarios = [place for place, item in enumerate(session.items) if order_of(item) is not None]
    with contextlib.suppress(OSError):  # the controller has gone: xdist notices that by itself
        channel.send([place for place in scenarios if can_run_ahead(session.items[place])])
        channel.setcallback(dealt.hear)


def dealt_items(config: pytest.Config) -> DealtItems | None:
    """What was dealt to this process; None if it isn't a worker."""
    return config.stash.get(_DEALT, None)
