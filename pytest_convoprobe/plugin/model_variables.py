"""When agents in this process find the gateway in their environment: around each test that runs scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ..errors import ConvoprobeError
from .orders import Order, order_of
from .session import session_of, settings_for

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
    try:
        if order is None:
            found = session.agent_variables(str(item.path))
        else:
            found = session.agent_variables(order.loaded.file, order.loaded.configured)
    except ConvoprobeError:  # the item itself reports what is wrong with its settings
        yield
        return
    with found:
        yield


def changes_environment(order: Order) -> bool:
    """Whether its conversation sets the variables, which a test that runs meanwhile would find.

    Raises `SettingsError`.
    """
    target = settings_for(order).settings.target
    return target is not None and target.models is not None
