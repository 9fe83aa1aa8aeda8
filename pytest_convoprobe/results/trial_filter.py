"""Which trials count, and means over what is known of them.

A trial says something about its scenario where it passed, failed, or was kept from a verdict by the
judge, the synthetic user or the scenario itself. Skips, and errors of the infrastructure or the budget,
say nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

from ..errors import Blame
from ..result import Outcome
from .index import IndexRow

_TELLING = frozenset({Blame.JUDGE, Blame.SIMULATOR, Blame.SCENARIO})
REAL = "real conversations"
"""In the place of a target's name: what real users said is another series than what simulated ones did."""

_YAML = (".yaml", ".yml")


def has_file(scenario_id: str) -> bool:
    """Whether a scenario is in a file of its own, so an item of its own, and not a part of a test."""
    return PurePath(scenario_id.partition("::")[0]).suffix.lower() in _YAML


def really_happened(row: IndexRow) -> bool:
    """Whether the conversation is from an export. Such ones aren't trials of the same thing: each differs."""
    return row.scenario_id.endswith(f"[{REAL}]")


def has_verdict(row: IndexRow) -> bool:
    """Whether somebody knows how the agent did."""
    return row.outcome in (Outcome.PASSED, Outcome.FAILED)


def is_undecided(row: IndexRow) -> bool:
    """Whether the judge, the simulator or the scenario kept the trial from a verdict; a rerun would too."""
    return row.outcome is Outcome.ERROR and row.blame in _TELLING


def errors(rows: Iterable[IndexRow]) -> dict[str, int]:
    """How many rows have no verdict because of an error, by blame: they are no part of any rate."""
    return dict(
        Counter(
            row.blame.value if row.blame else row.outcome.value
            for row in rows
            if row.outcome is Outcome.ERROR
        ).most_common()
    )


def final(rows: Iterable[IndexRow]) -> list[IndexRow]:
    """The rows that count: of a trial that was run again in the same run, the last attempt.

    It carries the earlier ones, and what all of them cost.
    """
    attempts: dict[tuple[str, str, int], list[IndexRow]] = {}
    for row in rows:
        attempts.setdefault((row.run, row.scenario_id, row.trial), []).append(row)
    return [found[0] if len(found) == 1 else _last(found) for found in attempts.values()]


def _last(attempts: Iterable[IndexRow]) -> IndexRow:
    # By time and not by place in the store: under xdist, another worker may have run it again.
    *earlier, last = sorted(attempts, key=lambda row: row.started)
    return last.after(earlier)


def count(rows: Iterable[IndexRow]) -> dict[str, int]:
    """The final rows by outcome."""
    return dict(Counter(row.outcome.value for row in final(rows)))


def mean(values: Iterable[float | None]) -> float | None:
    """The mean; None if there are no values or one of them is unknown."""
    known = list(values)
    return None if None in known else mean_known(known)


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; None if none is."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None
