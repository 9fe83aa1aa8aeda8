"""Binary content becomes its type and size; what is too long is cut where it hurts least."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.excerpts import cut_middle, fitting, without_binary

NOISE = random.Random(1).randbytes(30_000)
BASE64 = base64.b64encode(NOISE).decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + NOISE).decode()
LINES = base64.encodebytes(NOISE).decode()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"see data:image/png;base64,{BASE64} and pay", "see [image/png, 30 kB] and pay"),
        (f"data:application/pdf;name=a.pdf;base64,{BASE64[:100]}", "[application/pdf, 75 bytes]"),
        (f"data:;base64,{BASE64}", "[binary data, 30 kB]"),
        ("data:image/svg+xml;charset=utf8," + "%3Csvg%20" * 100, "[image/svg+xml, 900 bytes]"),
        (f"before {BASE64} after", "before [binary data, 30 kB] after"),
        (PNG, "[image/png, 30 kB]"),
        (BASE64.replace("+", "-").replace("/", "_"), "[binary data, 30 kB]"),
        (NOISE, "[binary data, 30 kB]"),
        ({"a": {"b": [PNG]}, "s": "no"}, {"a": {"b": ["[image/png, 30 kB]"]}, "s": "no"}),
        (f'{{"image": "data:image/png;base64,{BASE64}", "k": 1}}', '{"image": "[image/png, 30 kB]", "k": 1}'),
    ],
)  # fmt: skip
def test_binary_content_is_named(value: Any, shown: Any) -> None:
    assert without_binary(value) == shown


@pytest.mark.parametrize("text", [LINES, json.dumps(LINES)[1:-1]])
def test_base64_on_many_lines_is_one_piece(text: str) -> None:
    assert without_binary(f"a {text}").strip().startswith("a [binary data, ")
    assert len(without_binary(f"a {text}")) < 60


@pytest.mark.parametrize(
    "value",
    [
        "x" * 5_000,
        "-" * 5_000,
        "a long word " * 1_000,
        "https://shop.example/orders/4711/items/1?page=2",
        "a token of eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
        b"short",
        {"a": [1, 2.5, None, True]},
        "データ" * 500,
    ],
)
def test_other_content_stays(value: Any) -> None:
    assert without_binary(value) == value


def test_long_values_are_cut_before_short_ones() -> None:
    shown = fitting(
        {"log": "line " * 10_000, "status": "DECLINED", "rows": [{"id": n} for n in range(5_000)]}
    )
    data = json.loads(shown)
    assert data["status"] == "DECLINED"
    assert "characters left out" in data["log"]
    assert (data["rows"][0], data["rows"][-1]) == ({"id": 0}, {"id": 4_999})
    assert any("items left out" in str(row) for row in data["rows"])


def test_json_in_a_text_is_cut_value_by_value() -> None:
    shown = fitting(json.dumps({"log": "line " * 10_000, "status": "DECLINED"}))
    assert json.loads(shown)["status"] == "DECLINED"


def test_json_within_json_is_cut_value_by_value_too() -> None:
    inner = json.dumps({"log": "lorem ipsum " * 4000, "status": "DECLINED", "more": "dolor sit " * 4000})
    for value in ({"body": inner}, [{"type": "text", "text": inner}], json.dumps({"body": inner})):
        shown = fitting(value)
        assert "DECLINED" in shown
        assert len(shown) <= 20_000


def test_the_mark_counts_what_is_left_out() -> None:
    cut = cut_middle("+" * 500 + "-" * 500, 100)
    kept = cut.count("+") + cut.count("-")
    assert f"+ … ({1000 - kept} characters left out) … -" in cut
    assert len(cut) <= 100


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=9), inner, max_size=30),
    max_leaves=200,
)


@given(JSON, st.integers(100, 500))
def test_it_always_fits(value: Any, limit: int) -> None:
    assert len(fitting(value, limit)) <= limit


@given(JSON)
def test_what_fits_is_not_changed(value: Any) -> None:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    assert fitting(value, len(text)) == text
