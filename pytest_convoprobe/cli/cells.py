"""Outcomes, rates and commits as cells of a table, with their colours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..formatting import UNKNOWN, percent
from .tables import Cell

if TYPE_CHECKING:
    from ..results.store import RunInfo

NO_VERDICT = "no verdict"
COLORS = {"passed": "green", "failed": "red", "error": "yellow", "skipped": "faint"}


def outcome_cell(outcome: str) -> Cell:
    """`passed`, `failed`, `error` or `skipped` in its colour."""
    return Cell(outcome, COLORS.get(outcome, ""))


def commit_text(info: RunInfo) -> str:
    """The branch and the commit, or a dash."""
    return info.git.label if info.git else UNKNOWN


def counts_text(counts: Mapping[str, int], none: str = "none") -> str:
    """`5 passed, 1 failed`, or what to say of none."""
    return ", ".join(f"{counts[name]} {name}" for name in COLORS if counts.get(name)) or none


def errors_text(errors: Mapping[str, int]) -> str:
    """`2 judge, 1 budget`: errors by blame; empty without any."""
    return ", ".join(f"{number:,} {blame}" for blame, number in errors.items())


def reruns_text(reruns: int) -> str:
    """How many attempts a rerun replaced; empty without any."""
    return f"{reruns:,}" if reruns else ""


def rate_text(rate: float | None) -> str:
    """`75 %`; without a verdict no rate is known, which is not 0 %."""
    return NO_VERDICT if rate is None else percent(rate)


def rate_color(rate: float | None) -> str:
    """Green for all, red for none, yellow between."""
    if rate is None:
        return "faint"
    return "green" if rate == 1 else "red" if rate == 0 else "yellow"
