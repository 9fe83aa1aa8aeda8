"""What the tests of imports share: a suite from data or from a sample, and what became of it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from pytest_convoprobe.importing.formats import read_suite
from pytest_convoprobe.importing.notes import Fate, ImportedSuite, ImportedTest
from pytest_convoprobe.importing.options import ImportOptions
from pytest_convoprobe.importing.writing import checked

SAMPLES = Path(__file__).parent / "samples"


def imported(kind: str, path: Path, options: ImportOptions | None = None) -> ImportedSuite:
    """The suite in a file, with only such scenarios as can be loaded."""
    suite, _ = checked(read_suite(kind, path, options or ImportOptions()), "0")
    return suite


def from_data(kind: str, folder: Path, data: Any, options: ImportOptions | None = None) -> ImportedSuite:
    """The suite in a file that is written first."""
    if kind == "promptfoo":
        path = folder / "promptfooconfig.yaml"
        path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    else:
        path = folder / "suite.json"
        path.write_text(json.dumps(data), encoding="utf-8")
    return imported(kind, path, options)


def only(suite: ImportedSuite) -> ImportedTest:
    """The one test of a suite, of which there is a scenario."""
    (test,) = suite.tests
    assert test.scenario is not None, test.notes
    return test


def scenario_of(test: ImportedTest) -> dict[str, Any]:
    """The scenario of a test, for which there has to be one."""
    assert test.scenario is not None, test.notes
    return test.scenario


def kinds(test: ImportedTest | ImportedSuite, fate: Fate) -> dict[str, int]:
    """How often each kind of note is there."""
    notes = test.every_note if isinstance(test, ImportedSuite) else test.notes
    return dict(Counter(note.kind for note in notes if note.fate is fate))
