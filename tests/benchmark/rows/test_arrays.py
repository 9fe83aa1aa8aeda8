"""Arrays of rows, as anybody writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.benchmark.rows import arrays
from pytest_convoprobe.benchmark.rows.arrays import Broken, conversation_places, items, read_rows
from pytest_convoprobe.errors import ResultsError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.json"


@given(rows=st.lists(JSON), indent=st.sampled_from([None, 0, 2]), window=st.integers(1, 9))
def test_any_array_is_read_whatever_its_layout_and_the_size_of_the_window(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], indent: int | None, window: int
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "rows.json"
    path.write_text(json.dumps(rows, indent=indent, ensure_ascii=False), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_CHUNK", window)
        assert list(items(path)) == rows


def test_no_file_holds_no_items(file: Path) -> None:
    assert list(items(file)) == []
    assert list(conversation_places(file, [])) == []


def test_a_byte_order_mark_and_windows_line_ends_are_no_trouble(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf[\r\n{"a": 1},\r\n{"a": 2}\r\n]\r\n')
    assert list(items(file)) == [{"a": 1}, {"a": 2}]


def test_reading_goes_on_with_the_row_after_one_that_is_no_json(file: Path) -> None:
    file.write_text('[\n{"a": 1},\n{"a": ,\n{"a": 3}\n]\n')
    first, second, third = items(file)
    assert (first, third) == ({"a": 1}, {"a": 3})
    assert isinstance(second, Broken)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"rows": []}', "row 1: the file has no JSON array"),
        ('[{"a": 1}', "row 2: the file breaks off before the end of its array"),
        ("[" * 100_000, "row 1: nested too deeply"),
    ],
)
def test_what_is_no_array_is_told(file: Path, text: str, reason: str) -> None:
    file.write_text(text)
    unread: list[str] = []
    list(read_rows(file, lambda row: row, unread))
    assert reason in unread


def test_rows_that_are_refused_are_told_with_their_number(file: Path) -> None:
    def parse(row: int) -> int:
        if row == 2:
            raise ResultsError("two is too many")
        return row

    file.write_text("[1, 2, 3]")
    unread: list[str] = []
    assert list(read_rows(file, parse, unread)) == [1, 3]
    assert unread == ["row 2: two is too many"]


ROW = {"id": "m01_s001_v01", "metric_id": "m01", "sample": 2, "conversation": [], "termination": ""}
FOREIGN = {"scenario_id": "m01_s002_v01", "messages": []}


@pytest.mark.parametrize(
    "text",
    [
        f"[\n{json.dumps(ROW)}\n]\n",
        json.dumps([ROW], indent=2),
        json.dumps([ROW]),
    ],
    ids=["ours", "indented", "one line"],
)
def test_where_conversations_are_is_found_in_any_layout(file: Path, text: str) -> None:
    file.write_text(text)
    assert list(conversation_places(file, [])) == [("m01_s001_v01", 2)]


def test_a_row_of_others_between_ours_is_found_too(file: Path) -> None:
    file.write_text(f"[\n{json.dumps(ROW)},\n{json.dumps(FOREIGN)},\n[]\n]\n")
    unread: list[str] = []
    assert list(conversation_places(file, unread)) == [("m01_s001_v01", 2), ("m01_s002_v01", 1)]
    assert unread == ["row 3: a conversation must be a mapping, but it is a list"]
