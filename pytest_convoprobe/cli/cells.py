"""Outcomes, rates and commits as cells of a table, with their colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..formatting import UNKNOWN
from .tables import Cell

if TYPE_CHECKING:
    from ..results.store import RunInfo

COLORS = {"passed": "green", "failed": "red", "error": "yellow", "skipped": "faint"}


def outcome_cell(outcome: str) -> Cell:
    """`passed`, `failed`, `error` or `skipped` in its colour."""
    return Cell(outcome, COLORS.get(outcome, ""))


def commit_text(info: RunInfo) -> str:
    """`main 1a2b3c4d+`; the plus says that the checkout had changes of its own."""
    if info.git is None:
        return UNKNOWN
    name = info.git.commit[:8] + ("+" if info.git.dirty else "")
    return f"{info.git.branch} {name}" if info.git.branch else name


def counts_text(counts: Mapping[str, int]) -> str:
    """`5 passed, 1 failed`."""
    return ", ".join(f"{counts[name]} {name}" for name in COLORS if counts.get(name)) or "nothing"


def rate_color(rate: float | None) -> str:
    """Green for all, red for none, yellow between."""
    if rate is None:
        return "faint"
    return "green" if rate == 1 else "red" if rate == 0 else "yellow"
