"""The reference of the store is complete, and its example runs."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pytest_convoprobe.gate.types import Decision, Word
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.decisions import decision_record
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.records import to_record
from pytest_convoprobe.results.store import RunInfo
from pytest_convoprobe.transcript import Transcript
from tests.reports.results import CALLED, MET, SPENDING, TURNS, result

from .support import RUN, writer

PAGE = Path(__file__).parents[2].joinpath("docs/reference/results.md").read_text(encoding="utf-8")
WHOLE = result(
    Outcome.FAILED, criteria=(MET,), checks=(CALLED,), spending=SPENDING, transcript=Transcript(TURNS)
)


def _keys(value: Any) -> set[str]:
    """All keys of a record, but for names that a user or a tool has given."""
    if isinstance(value, list):
        return {key for item in value for key in _keys(item)}
    if not isinstance(value, dict):
        return set()
    own = {"judge", "synthetic_user", "target", "city", "units", "celsius"}
    return (value.keys() - own) | {key for item in value.values() for key in _keys(item)}


@pytest.mark.parametrize("key", sorted(decision_record(Decision("a", "paired", Word.RED, 1, 1), 0.0)))
def test_every_key_of_a_decision_is_documented(key: str) -> None:
    assert f"`{key}`" in PAGE.partition("## What the gate decided")[2].partition("\n## ")[0]


@pytest.mark.parametrize("key", sorted(_keys(to_record(WHOLE, Prints("a", "b", "c", "d")))))
def test_every_key_of_a_trial_is_documented(key: str) -> None:
    assert f"`{key}`" in PAGE.partition("## A trial")[2]


@pytest.mark.parametrize("key", ["version", *(field.name for field in fields(RunInfo))])
def test_every_key_of_a_run_is_documented(key: str) -> None:
    table = PAGE.partition("## `run.json`")[2].partition("## A trial")[0]
    assert f"`{key}`" in table


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    part = writer(tmp_path / ".convoprobe")
    part.add(WHOLE)
    part.write_info(RunInfo(RUN, 1.0))
    monkeypatch.chdir(tmp_path)
    example = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[-1]
    exec(example, {})
    told = capsys.readouterr().out.splitlines()
    assert told[1:] == ["Bye.", "None {'failed': 1} ()"]
