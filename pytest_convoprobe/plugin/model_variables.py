"""When agents in this process find the gateway in their environment: around each test that runs scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ..errors import ConvoprobeError
from .orders import Order, order_of
from .session import session_of

FIXTURE = "convoprobe"


@contextmanager
def variables_for(item: pytest.Item) -> Iterator[None]:
    """A time in which they are set, if the item runs scenarios whose target has `models`.

    Fixtures import the agent, whose clients read the variables at once: so they are set before any fixture.
    """
    order = order_of(item)
    if order is None and FIXTURE not in getattr(item, "fixturenames", ()):
        yield
        return
    session = session_of(item.config)
    file = order.loaded.file if order is not None else str(item.path)
    try:
        found = session.agent_variables(file)
    except ConvoprobeError:  # the item itself reports what is wrong with its settings
        yield
        return
    with found:
        yield


def changes_environment(order: Order) -> bool:
    """Whether its conversation sets the variables, which a test that runs meanwhile would find.

    Raises `SettingsError`.
    """
    target = session_of(order.item.config).settings_of(order.loaded.file).settings.target
    return target is not None and target.models is not None
