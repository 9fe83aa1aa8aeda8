"""JSON in the folder of stored runs: what commands keep there, and lines of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_convoprobe.errors import ResultsError
from pytest_convoprobe.results.kept_json import read_kept, read_lines, replace_kept


def test_the_folder_of_what_is_kept_is_not_for_version_control(tmp_path: Path) -> None:
    results = tmp_path / ".convoprobe"
    replace_kept(results, results / "some" / "file.json", lambda: {"name": "Zürich \ud800"})
    assert (results / ".gitignore").read_text().endswith("*\n")
    assert read_kept(results / "some" / "file.json", dict, writer="us") == {"name": "Zürich \ud800"}
    assert read_kept(results / "none.json", dict, writer="us") is None
    # A file has the name of the folder of stored runs: there is nothing in it.
    assert read_kept(results / "some" / "file.json" / "more.json", dict, writer="us") is None


def test_what_the_disk_refuses_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file.json").mkdir()
    with pytest.raises(ResultsError, match=r"file\.json cannot be read"):
        read_kept(tmp_path / "file.json", dict, writer="us")
    with pytest.raises(ResultsError, match=r"file\.json cannot be written"):
        replace_kept(tmp_path, tmp_path / "file.json", dict)


@pytest.mark.parametrize("content", ["{", "[1]", "[" * 100_000, "7"])
def test_another_content_names_the_command_to_run_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "file.json").write_text(content)
    with pytest.raises(ResultsError, match="this is not what `convoprobe audit` writes"):
        read_kept(tmp_path / "file.json", lambda data: data["audit"], writer="convoprobe audit")


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    lines = [json.dumps({"at": 1}), "", "[]", json.dumps({"at": 2}), '{"at"']
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    assert list(read_lines([tmp_path / "a.jsonl"], lambda data: data["at"])) == [1, 2]
