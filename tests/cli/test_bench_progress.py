"""How far a benchmark's run is, as it is shown on stderr."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable

import pytest

from pytest_convoprobe.benchmark.pipeline.driver import Counts, StageReport, TargetReport
from pytest_convoprobe.benchmark.rows.work import Place, RowResult, Unit
from pytest_convoprobe.cli.bench.shared.display import Bars, PlainLines, display_of
from pytest_convoprobe.cli.bench.shared.lines import bar_lines, result, so_far
from pytest_convoprobe.cli.bench.shared.progress_model import ProgressModel
from pytest_convoprobe.cli.console import Console
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.waits import CallInProgress
from pytest_convoprobe.text import cell_width
from pytest_convoprobe.transcript import Usage


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """Understands as much as the bars use; `screen` is what stands there."""

    encoding = "utf-8"  # type: ignore[assignment]
    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)

    def isatty(self) -> bool:
        return True

    @property
    def screen(self) -> list[str]:
        rows, row, column = [""], 0, 0
        for escape, count, letter, character in re.findall(r"(\x1b\[(\d*)([A-Z]))|(.|\n)", self.getvalue()):
            if escape:
                row = row - int(count) if letter == "A" else row
                rows[row] = rows[row] if letter == "A" else rows[row][:column]
                rows = rows[: row + 1] if letter == "J" else rows
            elif character in "\r\n":
                row, column = row + (character == "\n"), 0
                rows += [""] * (row + 1 - len(rows))
            else:
                rows[row] = rows[row][:column].ljust(column) + character + rows[row][column + 1 :]
                column += 1
        return rows


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> ProgressModel:
    return ProgressModel(clock)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """One of 80 columns and 24 lines."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def outcome(
    target: str = "a", *, failure: str = "", cost: float | None = 0.01, replayed: int = 0, **row: object
) -> RowResult:
    spending = {"target": Spending(1, 1, replayed, Usage(100, 10), cost)}
    unit = Unit(Place("m01_s001_v01", target=target), "key")
    return RowResult(unit, None if failure else dict(row), failure, spending)


def advance(watch: ProgressModel, target: str = "a", times: int = 1, **changes: object) -> None:
    for _ in range(times):
        watch.advanced("simulate", target, outcome(target, **changes))  # type: ignore[arg-type]


def ended(**targets: TargetReport) -> StageReport:
    return StageReport("simulate", targets)


def test_rate_and_time_left(watch: ProgressModel, clock: Clock) -> None:
    watch.started("simulate", {"a": Counts(0, 40)})
    clock.now += 5
    advance(watch, times=10)
    assert so_far(watch.bars[0], clock.now) == "10 of 40, 2.0/s, $0.1000, 15 s left"


def test_slow_work_is_counted_by_the_minute(watch: ProgressModel, clock: Clock) -> None:
    watch.started("simulate", {"a": Counts(0, 2)})
    clock.now += 60
    advance(watch)
    assert so_far(watch.bars[0], clock.now) == "1 of 2, 1.0/min, $0.0100, 1 min 0 s left"


def test_what_failed_and_what_is_unreadable(watch: ProgressModel, clock: Clock) -> None:
    watch.started("simulate", {"a": Counts(3, 4)})
    advance(watch, failure="no")
    advance(watch, present=None)
    advance(watch, present=False)
    clock.now += 2
    watch.ended(ended(a=TargetReport(3, 2, left=1)))
    assert result(watch.bars[0], clock.now) == "2 made, 1 failed, 1 unreadable, 1 left, $0.0300, 2.0 s"


def test_an_unknown_price_is_told_in_tokens(watch: ProgressModel, clock: Clock) -> None:
    watch.started("simulate", {"a": Counts(0, 2)})
    advance(watch, cost=None)
    advance(watch)
    assert "220 tokens" in so_far(watch.bars[0], clock.now)


def test_a_recording_costs_nothing(watch: ProgressModel, clock: Clock) -> None:
    watch.started("simulate", {"a": Counts(0, 1)})
    advance(watch, replayed=1)
    assert "$" not in so_far(watch.bars[0], clock.now)


def test_a_row_over_budget_is_not_done(watch: ProgressModel) -> None:
    watch.started("simulate", {"a": Counts(0, 1)})
    watch.advanced("simulate", "a", RowResult(outcome().unit, None, "no money", over_budget=True))
    assert (watch.bars[0].done, watch.bars[0].failed) == (0, 0)


def test_a_stage_that_runs_twice_has_two_lanes(watch: ProgressModel) -> None:
    for times in (2, 3):
        watch.started("simulate", {"a": Counts(0, times)})
        advance(watch, times=times)
        watch.ended(ended(a=TargetReport(0, times)))
    assert [bar.done for bar in watch.bars] == [2, 3]


@pytest.mark.parametrize("width", range(20, 131, 5))
@pytest.mark.parametrize("unicode", [True, False])
def test_bars_fit_any_width(watch: ProgressModel, clock: Clock, width: int, unicode: bool) -> None:
    watch.started("simulate", {"gpt-4o": Counts(0, 12_000), "模型" * 10: Counts(0, 7), "c": Counts(0, 0)})
    clock.now += 10
    advance(watch, "gpt-4o", 30)
    advance(watch, "gpt-4o", 3, failure="no")
    lines = bar_lines(Console(width, unicode=unicode), watch.bars, clock.now)
    assert len(lines) == 3
    assert all(cell_width(line) < width for line in lines)
    assert unicode or all(line.isascii() for line in lines)
    assert lines[0].startswith("sim")


def test_figures_stand_below_one_another(watch: ProgressModel, clock: Clock) -> None:
    watch.started("simulate", {"a": Counts(0, 10), "longer": Counts(0, 10)})
    advance(watch, times=10)
    first, second = bar_lines(Console(80), watch.bars, clock.now)
    assert first.index("100 %") + 5 == second.index("0 %") + 3
    assert "█" * 30 in first
    assert "░" * 30 in second


def test_bars_are_redrawn_in_place(watch: ProgressModel, terminal: Terminal) -> None:
    bars = display_of(watch, terminal)
    assert isinstance(bars, Bars)
    with bars:
        watch.started("simulate", {"a": Counts(0, 2), "b": Counts(0, 2)})
        bars.tick()
        assert [line.split()[1] for line in terminal.screen] == ["a", "b"]
        advance(watch, "b")
        bars.tick()
        first, second = terminal.screen
        assert "0 %" in first
        assert "50 %" in second
        watch.ended(ended(a=TargetReport(), b=TargetReport()))
        watch.started("evaluate", {"a": Counts(0, 1)})
        bars.tick()
        assert [line[:11] for line in terminal.screen] == ["simulate a:", "simulate b:", "evaluate a "]
    assert terminal.screen[-1] == ""


def test_nothing_is_written_while_nothing_changes(watch: ProgressModel, terminal: Terminal) -> None:
    bars = Bars(watch, terminal)
    watch.started("simulate", {"a": Counts(0, 2)})
    bars.tick()
    before = terminal.getvalue()
    bars.tick()
    assert terminal.getvalue() == before


def test_a_tick_is_one_write(watch: ProgressModel, terminal: Terminal) -> None:
    watch.started("simulate", {"a": Counts(0, 2), "b": Counts(0, 2)})
    Bars(watch, terminal).tick()
    assert terminal.writes == 1


def test_a_terminal_that_was_made_narrower(
    watch: ProgressModel, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = Bars(watch, terminal)
    watch.started("simulate", {"a": Counts(0, 2)})
    bars.tick()
    monkeypatch.setenv("COLUMNS", "30")
    advance(watch)
    bars.tick()
    assert "\x1b[1A" in terminal.getvalue()


def test_more_targets_than_lines(
    watch: ProgressModel, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "6")
    watch.started("simulate", {f"t{n}": Counts(0, 1) for n in range(9)})
    advance(watch, "t0")
    Bars(watch, terminal).tick()
    assert [line.split()[1] for line in terminal.screen] == ["t1", "t2", "t3", "6"]
    assert terminal.screen[-1] == "and 6 more"


def test_a_dumb_terminal_gets_lines(
    watch: ProgressModel, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display_of(watch, terminal), PlainLines)


@pytest.fixture
def told(watch: ProgressModel) -> Callable[[], list[str]]:
    """What the plain lines have said since the last time."""
    stream = io.StringIO()
    plain = PlainLines(watch, stream)

    def lines() -> list[str]:
        before = len(stream.getvalue())
        plain.tick()
        return stream.getvalue()[before:].splitlines()

    return lines


def test_plain_lines(watch: ProgressModel, clock: Clock, told: Callable[[], list[str]]) -> None:
    watch.started("simulate", {"a": Counts(5, 100), "b": Counts(7, 0)})
    assert told() == ["simulate a: 100 to do (5 done before)", "simulate b: nothing to do, 7 done before"]
    advance(watch, times=50)
    clock.now += 29
    assert told() == []
    clock.now += 1
    assert told() == ["simulate a: 50 of 100, 1.7/s, $0.5000, 30 s left"]
    advance(watch, times=9)
    clock.now += 31
    assert told() == []
    advance(watch)
    assert told() == ["simulate a: 60 of 100, 1.0/s, $0.6000, 41 s left"]
    watch.ended(ended(a=TargetReport(5, 60, left=40), b=TargetReport(7)))
    assert told() == ["simulate a: 60 made, 40 left, $0.6000, 1 min 1 s"]
    assert told() == []


def test_a_line_every_five_minutes_in_any_case(
    watch: ProgressModel, clock: Clock, told: Callable[[], list[str]]
) -> None:
    watch.started("simulate", {"a": Counts(0, 100)})
    told()
    clock.now += 300
    assert told() == ["simulate a: 0 of 100"]
    clock.now += 299
    assert told() == []


def test_a_target_cannot_move_the_cursor(watch: ProgressModel, told: Callable[[], list[str]]) -> None:
    watch.started("simulate", {"\x1b[2Jx": Counts(0, 1)})
    assert told() == ["simulate \\x1b[2Jx: 1 to do"]


def test_a_stage_without_progress_says_what_it_waits_for(watch: ProgressModel, clock: Clock) -> None:
    stream = io.StringIO()
    lines = PlainLines(watch, stream)
    watch.started("gen-metrics", {"": Counts(0, 1)})
    call = CallInProgress("openai/fake", 6, time.monotonic(), 60, tries=3, error="HTTP 503")
    with watch.waits.with_call(call):
        for seconds in (1.0, 10.0, 5.0, 30.0):
            clock.now += seconds
            lines.tick()
    clock.now += 60
    lines.tick()
    told = [line for line in stream.getvalue().splitlines() if "waiting for" in line]
    assert len(told) == 2
    assert told[0].startswith("gen-metrics: waiting for openai/fake for ")
    assert told[0].endswith(", try 3 of 6 (each at most 60 s); the last error: HTTP 503")


def test_what_is_waited_for_is_below_the_bars(watch: ProgressModel, clock: Clock, terminal: Terminal) -> None:
    bars = Bars(watch, terminal)
    watch.started("gen-metrics", {"": Counts(0, 1)})
    with watch.waits.with_call(CallInProgress("openai/fake", 6, time.monotonic(), 60, error="x" * 200)):
        clock.now += 20
        bars.tick()
    assert terminal.screen[1].startswith("waiting for openai/fake for ")
    assert len(terminal.screen) == 2
