"""What makes the rows of which stage; a stage's module is imported when its rows are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType

from ..rows.work import RowMaker, Task

_STAGES = ("gen-metrics", "draft-scenarios", "gen-scenarios", "simulate", "evaluate")


def _row_maker(stage: str, task: Task) -> RowMaker:
    module = import_module(f".{stage.replace('-', '_')}", __package__)
    make: Callable[[Task], RowMaker] = getattr(module, f"{stage.title().replace('-', '')}Row")
    return make(task)


row_makers: Mapping[str, Callable[[Task], RowMaker]] = MappingProxyType(
    {stage: partial(_row_maker, stage) for stage in _STAGES}
)
"""By the name of a stage, as in `Task.stage`, what makes its rows in a process."""
