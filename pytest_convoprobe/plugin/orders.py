"""What is to be run for an item of pytest's, before the target and the settings are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..gate.choosing import Chosen
    from ..scenario.loading import LoadedScenario


@dataclass(frozen=True)
class Order:
    """One trial of a scenario.

    `settings` overrides the settings by dotted path, for this run only. `state` is what the scenario's own
    checks get by that name.
    """

    item: pytest.Item
    loaded: LoadedScenario
    scenario_id: str
    trial: int = 1
    settings: Mapping[str, Any] | None = None
    state: object = field(default=None, repr=False, compare=False)


#: On the item of a scenario, and on no other: what it runs.
ORDER: pytest.StashKey[Order] = pytest.StashKey()
#: On the item of a scenario that a policy of the gate decides: which policy.
GATED: pytest.StashKey[Chosen] = pytest.StashKey()
#: On the item of a scenario: whether its turn has come.
BEGUN: pytest.StashKey[bool] = pytest.StashKey()


def order_of(item: pytest.Item) -> Order | None:
    """What an item runs; None for one that isn't a scenario."""
    return item.stash.get(ORDER, None)


def has_mark(item: pytest.Item, *names: str) -> bool:
    """Whether an item has one of these marks."""
    return any(mark.name in names for mark in item.iter_markers())
