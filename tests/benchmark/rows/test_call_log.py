"""Calls that were made for rows that were never finished."""

from __future__ import annotations

from pathlib import Path

from pytest_convoprobe.benchmark.rows.call_log import CallLog, LostCalls, has_calls, keep_lost
from pytest_convoprobe.llm.budget import Spent
from pytest_convoprobe.llm.ledger import Spending
from pytest_convoprobe.llm.port import Role
from pytest_convoprobe.transcript import Usage

JUDGED = Spending(1, 2, 0, Usage(10, 5), 0.5)


def log(rows: Path) -> None:
    """Two rows: of `b`, the last call was still in flight when the process died."""
    calls = CallLog(rows, "simulate")
    for ticket in ("a", "b"):
        for _ in range(JUDGED.attempts):
            calls.sent(ticket, "model", Role.TARGET, Spent(0.25, 100))
        calls.ended(ticket, "model", Role.TARGET, JUDGED)
    calls.sent("b", "model", Role.TARGET, Spent(0.25, 100))
    calls.close()


def lost(rows: Path) -> tuple[dict[str, Spending], int]:
    found = LostCalls.read(rows, {"a"})
    return found.sums["simulate", "model"].by_role(), found.estimated


def test_calls_without_a_row_are_kept_when_the_others_are_dropped(tmp_path: Path) -> None:
    rows = tmp_path / ".rows"
    log(rows)
    expected = {"target": Spending(2, 3, 0, Usage(110, 5), 0.75)}, 1
    assert lost(rows) == expected
    for _ in range(2):
        assert has_calls(rows)
        keep_lost(rows, {"a"})
        assert not has_calls(rows)
        assert lost(rows) == expected
        log(rows)  # the same tickets: a process that was killed before it had dropped its file
    (rows / "calls" / "torn.calls").write_bytes(b'["c","simulate","model","target",[1,1,0\n[]\nnull')
    assert lost(rows) == expected


def test_a_folder_of_another_machine_is_not_made_here(tmp_path: Path) -> None:
    log(tmp_path / "elsewhere" / ".rows")
    assert not (tmp_path / "elsewhere").exists()
