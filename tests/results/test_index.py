from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.errors import Blame, ResultsError
from pytest_convoprobe.result import Outcome
from pytest_convoprobe.results.fingerprints import Prints
from pytest_convoprobe.results.index import IndexRow, LineReader, to_line

from .support import row

TEXT = st.text() | st.just("\ud800\0")
MAYBE = st.none() | st.floats(allow_nan=False)
ROWS = st.builds(
    IndexRow,
    run=st.just("r"),
    worker=st.just("gw0"),
    offset=st.integers(0),
    length=st.integers(0),
    scenario_id=TEXT,
    name=TEXT,
    file=TEXT,
    line=st.integers(0),
    trial=st.integers(1),
    outcome=st.sampled_from(Outcome),
    blame=st.none() | st.sampled_from(Blame),
    reason=TEXT,
    score=MAYBE,
    started=st.floats(allow_nan=False),
    duration=st.floats(allow_nan=False),
    turns=st.integers(0),
    latency=MAYBE,
    cost=MAYBE,
    tokens=st.integers(0),
    replayed=st.booleans(),
    tags=st.lists(TEXT).map(tuple),
    target=TEXT,
    prints=st.builds(Prints, st.none() | TEXT, st.none() | TEXT, st.none() | TEXT, st.none() | TEXT),
    holds=st.dictionaries(TEXT, st.sampled_from([True, False, None])),
    commit=st.just("c0ffee"),
)


@given(ROWS)
def test_a_row_comes_back_from_its_line(one: IndexRow) -> None:
    line = json.loads(json.dumps(to_line(one), allow_nan=False))
    assert LineReader("r", "c0ffee").row(line, "gw0") == one


def test_what_rows_have_in_common_is_kept_once() -> None:
    reader = LineReader("r", None)
    line = json.dumps(to_line(replace(row("a"), holds={"c1": True}, tags=("smoke",))))
    first, second = (reader.row(json.loads(line), "main") for _ in range(2))
    assert first.name is second.name
    assert first.prints is second.prints
    assert first.holds is second.holds
    assert first.tags is second.tags


@pytest.mark.parametrize(
    "line", [[], {}, None, 7, "text", [1, 2], [2, *to_line(row())[1:]], to_line(row())[:-1]]
)
def test_what_is_no_line_is_refused(line: object) -> None:
    with pytest.raises(ResultsError, match=r"(not a line of an index|it is of another version)"):
        LineReader("r", None).row(line, "main")
