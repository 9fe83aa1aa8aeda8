from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from pytest_convoprobe.calibration.schema import labels_schema
from pytest_convoprobe.cli import main
from pytest_convoprobe.scenario.schema import scenario_schema


def test_the_schema_is_printed() -> None:
    result = CliRunner().invoke(main, ["schema"])
    assert result.exit_code == 0
    assert json.loads(result.output) == scenario_schema()


def test_the_schema_can_be_shown_on_any_terminal() -> None:
    assert CliRunner().invoke(main, ["schema"]).output.isascii()


def test_the_schema_is_written_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    result = CliRunner().invoke(main, ["schema", "--output", str(file)])
    assert (result.exit_code, result.output) == (0, "")
    assert json.loads(file.read_text(encoding="utf-8")) == scenario_schema()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["schema", "--output", str(tmp_path / "none" / "schema.json")])
    assert result.exit_code == 3
    assert "No such file or directory" in result.output


def test_the_schema_of_labels_files() -> None:
    result = CliRunner().invoke(main, ["schema", "--labels"])
    assert result.exit_code == 0
    assert json.loads(result.output) == labels_schema()
