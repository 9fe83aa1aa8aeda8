from __future__ import annotations

from pathlib import Path

from pytest_convoprobe.results.lookup import list_runs
from pytest_convoprobe.results.tools_seen import never_called
from pytest_convoprobe.transcript import Reply, ToolCall, Transcript, Turn

from .support import PRINTS, trial, writer


def test_names_and_patterns_that_match_no_stored_call(tmp_path: Path) -> None:
    calls = (ToolCall("delete_order"), ToolCall("mcp__shop__pay", error="no", executed=False))
    transcript = Transcript(
        (Turn(1, "Hi", Reply("Done", calls)),), pending="?", pending_calls=(ToolCall("f"),)
    )
    run = writer(tmp_path)
    run.add(trial(transcript=transcript), PRINTS)
    run.close()
    names = ["delete_order", "delete_ordr", "mcp__shop__*", "mcp__bank__*", "f"]
    assert never_called(names, list_runs(tmp_path)) == ("delete_ordr", "mcp__bank__*")


def test_without_runs_nothing_was_called(tmp_path: Path) -> None:
    assert never_called(["a"], list_runs(tmp_path)) == ("a",)
