"""The rows of all stored runs, with a line of progress while they are read."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .exits import UsageProblem
from .progress import progress_line
from .project import Project

if TYPE_CHECKING:
    from ..results.store import IndexRow


def all_rows(project: Project, choose: Callable[[IndexRow], bool] | None = None) -> list[IndexRow]:
    """The rows of every stored run that `choose` takes. Raises `UsageProblem` if there are no runs."""
    runs = project.runs()
    if not runs:
        raise UsageProblem(f"no stored runs in {project.results}: run pytest on some scenarios first")
    rows: list[IndexRow] = []
    with progress_line() as progress, _no_collection():
        for number, run in enumerate(runs):
            progress.tick(f"reading run {number + 1} of {len(runs)} …")
            rows += filter(choose, run.open().rows())
    return rows


@contextmanager
def _no_collection() -> Iterator[None]:
    """Rows are many, live until the command ends and have no cycles, so a search for those is in vain."""
    # Each collection would look through all rows that were read so far.
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_scenario(text: str | None) -> Callable[[IndexRow], bool] | None:
    """Whether a row is of a scenario whose id or name has the text in it; None takes all."""
    if not text:
        return None
    wanted = text.casefold()
    return lambda row: wanted in row.scenario_id.casefold() or wanted in row.name.casefold()
