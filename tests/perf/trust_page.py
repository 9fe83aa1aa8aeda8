"""The page `docs/trust.md`, from the figures that `gate_error` simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_convoprobe.stats import wilson

PAGE = Path(__file__).resolve().parents[2] / "docs" / "trust.md"
_TEXT = Path(__file__).with_suffix(".md")

PULL_REQUEST, ONE, NIGHTLY = "paired, pull request", "paired, 1 first", "paired, 3 first"
SIZES = (6, 20, 100)
Cell = Mapping[str, Any]


def rendered(stored: Mapping[str, Any]) -> str:
    """The page, from the stored figures."""
    found = Found(stored["cells"])
    few, many = _runs(stored, least=True), _runs(stored, least=False)
    return _TEXT.read_text("utf-8").format(
        seed=stored["seed"],
        before=stored["before"],
        runs=f"{few:,}",
        many=f"{many:,}",
        off=_off(0.05, many),
        off_few=_off(0.05, few),
        off_half=_off(0.5, many),
        off_half_few=_off(0.5, few),
        promises=_promises(found),
        ways=_ways(found),
        grid=_grid(found, PULL_REQUEST),
        nightly=_grid(found, NIGHTLY),
        rivals=_rivals(found),
        tried=_tried(stored["tried"]),
        nights=_nights(stored["nights"]),
    )


def _runs(stored: Mapping[str, Any], *, least: bool) -> int:
    runs = [way["runs"] for cell in stored["cells"] for way in cell["ways"].values()]
    return int(min(runs) if least else max(runs))


def _off(share: float, runs: int) -> str:
    """How far a simulated share may be from the true one, in points, at 95 %."""
    interval = wilson(share * runs, runs)
    assert interval is not None
    return f"{100 * (interval.high - share):.1f}"


class Found:
    """The stored figures, by world and way."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = {
            (cell["systematic"], cell["agents"], cell["error"], cell["scenarios"]): cell for cell in cells
        }

    def way(
        self, name: str, size: int, *, systematic: bool, agents: str = "mixed", error: float = 0.05
    ) -> Cell:
        """What was counted for one way to gate in one world."""
        way: Cell = self._cells[systematic, agents, error, size]["ways"][name]
        return way

    def ways(self) -> list[str]:
        """Every way to gate."""
        return list(next(iter(self._cells.values()))["ways"])


def red(way: Cell) -> float:
    """The share of runs that are red though nothing has changed."""
    return float(way["red"] / way["runs"])


def missed(way: Cell, broken: str) -> float:
    """The share of runs in which the broken scenario isn't red."""
    return float(1 - way["caught"][broken] / way["runs"])


def cost(way: Cell) -> float:
    """Conversations a scenario."""
    return float(way["talks"] / way["scenarios"])


def promises(found: Found) -> list[tuple[str, float, float, float]]:
    """Each promise: what, the worst figure of all suite sizes, the end of its interval, and the target."""
    both, none, some = (False, True), (False,), (True,)
    asked = [
        ("red on an unchanged agent: pull request", PULL_REQUEST, red, both, 0.03),
        ("the same: nightly, 3 first", NIGHTLY, red, both, 0.03),
        ("one scenario always broken, missed: pull request", PULL_REQUEST, _always, none, 0.06),
        ("the same: nightly, 3 first", NIGHTLY, _always, none, 0.02),
        ("the same: pull request, 3 % misread and 3 % not seen", PULL_REQUEST, _always, some, 0.1),
    ]
    shares = [
        (what, *_worst(found, way, figure, where), target) for what, way, figure, where, target in asked
    ]
    dearest = max(cost(found.way(PULL_REQUEST, size, systematic=one)) for size in SIZES for one in both)
    return [*shares, ("conversations a scenario: pull request", dearest, dearest, 1.8)]


def _always(way: Cell) -> float:
    return missed(way, "always")


def _worst(
    found: Found, name: str, figure: Callable[[Cell], float], systematic: Sequence[bool]
) -> tuple[float, float]:
    ways = [found.way(name, size, systematic=one) for size in SIZES for one in systematic]
    worst = max(ways, key=figure)
    interval = wilson(round(figure(worst) * worst["runs"]), worst["runs"])
    assert interval is not None
    return figure(worst), interval.high


def _promises(found: Found) -> str:
    rows = ["| | measured | at most (95 %) | target |", "|---|---:|---:|---:|"]
    for what, figure, high, target in promises(found):
        shown = _number if target > 1 else _percent
        rows.append(f"| {what} | {shown(figure)} | {shown(high)} | {shown(target)} |")
    return "\n".join(rows)


def _ways(found: Found) -> str:
    tables = []
    for systematic, title in ((False, "Nothing is systematic:"), (True, "3 % are misread and 3 % not seen:")):
        heads = (
            "| | red: 6 | 20 | 100 | always broken: 20 | 100 | half: 20 | 100 | a third: 20 | conversations |"
        )
        rows = [title, "", heads, "|---|" + "---:|" * 9]
        for name in found.ways():
            six, twenty, hundred = (found.way(name, size, systematic=systematic) for size in SIZES)
            figures = [
                *(red(way) for way in (six, twenty, hundred)),
                *(missed(way, part) for part in ("always", "half") for way in (twenty, hundred)),
                missed(twenty, "a third"),
            ]
            rows.append(f"| {name} | {' | '.join(map(_percent, figures))} | {_number(cost(twenty))} |")
        tables.append("\n".join(rows))
    return "\n\n".join(tables)


_GRID = (
    "| judge errs | agents misbehave | red: 6 | 20 | 100 | red, 3 % misread: 6 | 20 | 100 "
    "| always broken | half | conversations |"
)


def _grid(found: Found, name: str) -> str:
    rows = [_GRID, "|---:|---|" + "---:|" * 9]
    for error in (0.0, 0.05, 0.1):
        for agents in ("never", "10 %", "30 %", "mixed"):
            ways = [
                found.way(name, size, systematic=one, agents=agents, error=error)
                for one in (False, True)
                for size in SIZES
            ]
            twenty = ways[1]
            figures = [*map(red, ways), missed(twenty, "always"), missed(twenty, "half")]
            shown = " | ".join(map(_percent, figures))
            rows.append(f"| {100 * error:g} % | {agents} | {shown} | {_number(cost(twenty))} |")
    return "\n".join(rows)


def _rivals(found: Found) -> str:
    names = found.ways()[found.ways().index("confirm, without a past") :]
    rows = [
        f"| judge errs | agents misbehave | {' | '.join(names)} |",
        "|---:|---|" + "---:|" * len(names),
    ]
    for error in (0.0, 0.05, 0.1):
        for agents in ("never", "10 %", "30 %", "mixed"):
            figures = (
                _percent(red(found.way(name, 20, systematic=True, agents=agents, error=error)))
                for name in names
            )
            rows.append(f"| {100 * error:g} % | {agents} | {' | '.join(figures)} |")
    return "\n".join(rows)


def _tried(tried: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        "| | red at the worst rate, past of 8: 20 | 100 | usual past: 20 | 100 "
        "| always broken, missed: 20 | 100 | half: 20 | 100 | conversations |",
        "|---|" + "---:|" * 9,
    ]
    names = [f"worst_{past}_{size}" for past in ("short", "own") for size in (20, 100)]
    names += [f"{part}_{size}" for part in ("always", "half") for size in (20, 100)]
    for way in tried:
        figures = " | ".join(_percent(way[name]) for name in names)
        rows.append(f"| {way['name']} | {figures} | {_number(way['cost'])} |")
    return "\n".join(rows)


def _nights(nights: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        f"| the scenario fails in | red, of {nights[0]['runs']:,} pull requests | mean rate of its past |",
        "|---:|---:|---:|",
    ]
    for one in nights:
        red_share = f"{100 * one['red'] / one['runs']:.2f} %"
        rows.append(f"| {100 * one['rate']:g} % | {red_share} | {_percent(one['mean'])} |")
    return "\n".join(rows)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _number(value: float) -> str:
    return f"{value:.2f}"
