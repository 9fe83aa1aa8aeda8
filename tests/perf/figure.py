"""One line of the report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the report; lower is better, unless the bar is to be reached (`at_least`)."""

    what: str
    value: float
    bar: float
    unit: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def __str__(self) -> str:
        mark = "ok  " if self.holds else "MISS"
        return f"{mark}  {self.what:<72} {self.value:>9.2f} {self.unit:<4} bar {self.bar:.2f}"
