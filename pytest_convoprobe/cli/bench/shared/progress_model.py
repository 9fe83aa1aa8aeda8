"""What is known of a benchmark's run in progress: a bar for each stage and target."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ....llm.waits import Waits

if TYPE_CHECKING:
    from ....benchmark.pipeline.driver import Counts, StageReport, TargetReport
    from ....benchmark.rows.work import RowResult
    from ....llm.ledger import Spending

QUIET_SECONDS = 10.0
_LONG_CALL = 2.0
"""Without a finished row for so long, a stage says what it waits for."""


@dataclass
class Bar:
    """How far a stage is with a target (an empty text in stages that have none).

    `missing` rows are to be made, `before` were done already. Of those that came to an end, `failed` came to
    nothing and `unreadable` have no readable answer. `cost` is in US dollars, None once a price was
    unknown; what a recording answered costs nothing. `report` is there when the stage is over.
    """

    stage: str
    target: str
    before: int
    missing: int
    began: float
    done: int = 0
    failed: int = 0
    unreadable: int = 0
    cost: float | None = 0.0
    tokens: int = 0
    ended: float | None = None
    report: TargetReport | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.ended is not None

    def seconds(self, now: float) -> float:
        """How long it has taken so far."""
        return max(0.0, (now if self.ended is None else self.ended) - self.began)

    def rate(self, now: float) -> float | None:
        """Rows a second; None before the first."""
        seconds = self.seconds(now)
        return self.done / seconds if self.done and seconds else None

    def seconds_left(self, now: float) -> float | None:
        """How much longer it takes at that rate; None if nobody knows."""
        rate = self.rate(now)
        return (self.missing - self.done) / rate if rate else None

    def take(self, outcome: RowResult) -> None:
        """Count a unit that has come to an end."""
        # A row that the budget refused was not tried. It is left, and a later run makes it.
        self.done += not outcome.over_budget
        self.failed += outcome.row is None and not outcome.over_budget
        self.unreadable += outcome.row is not None and outcome.row.get("present", True) is None
        for spending in outcome.spending.values():
            self._spend(spending)

    def _spend(self, spending: Spending) -> None:
        # A replay costs nothing now; its recorded price would look like this run's.
        if spending.replayed >= spending.calls:
            return
        self.tokens += spending.usage.total
        known = self.cost is not None and spending.cost is not None
        self.cost = (self.cost or 0.0) + (spending.cost or 0.0) if known else None


@dataclass
class ProgressModel:
    """Listens to a run (it is a `driver.StageListener`); any thread may look at `bars` meanwhile."""

    clock: Callable[[], float] = time.monotonic
    waits: Waits = field(default_factory=Waits)
    """The calls that the run waits for; whoever runs it puts this into `WAITS`."""
    _progress_at: float = -math.inf
    _bars: list[Bar] = field(default_factory=list)
    _running: dict[tuple[str, str], Bar] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def bars(self) -> list[Bar]:
        """All bars, in the order in which they began."""
        with self._lock:
            return list(self._bars)

    @property
    def stage(self) -> str:
        """The stage that is running; empty between two."""
        return next((bar.stage for bar in self.bars if not bar.over), "")

    def waiting(self) -> str:
        """What the stage waits for, in words, if it has made no progress for some seconds; else empty."""
        now = self.clock()
        if not self.stage or now - self._progress_at < QUIET_SECONDS:
            return ""
        # Before its first call a stage may have imported a library: nobody waits for a provider then.
        return self.waits.words(least=_LONG_CALL)

    def started(self, stage: str, counts: Mapping[str, Counts]) -> None:
        """A stage begins."""
        self._progress_at = now = self.clock()
        bars = [Bar(stage, target, one.done, one.missing, now) for target, one in counts.items()]
        self._running.update(((stage, bar.target), bar) for bar in bars)
        with self._lock:
            self._bars += bars

    def advanced(self, stage: str, target: str, outcome: RowResult) -> None:
        """A unit has come to an end."""
        self._progress_at = self.clock()
        self._running[stage, target].take(outcome)

    def ended(self, report: StageReport) -> None:
        """A stage is over."""
        now = self.clock()
        for target, one in report.targets.items():
            bar = self._running.pop((report.stage, target))
            bar.report, bar.ended = one, now
