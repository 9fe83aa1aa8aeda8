"""Who does the items of which stage; a stage's module is imported when its hand is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType

from ..work import Hand, Task

_STAGES = ("gen-metrics", "draft-scenarios", "gen-scenarios", "simulate", "evaluate")


def _hand(stage: str, task: Task) -> Hand:
    module = import_module(f".{stage.replace('-', '_')}", __package__)
    make: Callable[[Task], Hand] = getattr(module, f"{stage.title().replace('-', '')}Hand")
    return make(task)


hands: Mapping[str, Callable[[Task], Hand]] = MappingProxyType(
    {stage: partial(_hand, stage) for stage in _STAGES}
)
"""By the name of a stage, as in `Task.stage`, what makes its hand in a process."""
