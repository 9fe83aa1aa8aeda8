from __future__ import annotations

import json

import pytest

from pytest_convoprobe.cutting import at_most, cut_data, cut_text, noticed, without_addresses
from pytest_convoprobe.outside_json import read_json


def test_a_text_that_fits_is_the_same() -> None:
    with at_most(10):
        assert noticed(lambda: cut_text("0123456789")) == ("0123456789", False)


def test_a_long_text_keeps_its_start_and_its_end_around_a_mark() -> None:
    with at_most(100):
        text, was_cut = noticed(lambda: cut_text("start " + "x" * 1000 + " end"))
    assert was_cut
    assert len(text) <= 100
    assert text.startswith("start x")
    assert text.endswith("x end")
    assert "characters left out" in text


def test_a_short_value_behind_a_long_one_is_kept() -> None:
    with at_most(1000):
        data, was_cut = noticed(lambda: cut_data({"image": "A" * 5000, "status": "DECLINED"}))
    assert was_cut
    assert data["status"] == "DECLINED"
    assert len(json.dumps(data)) < 1000


def test_the_end_of_a_long_list_is_left_out_with_a_mark() -> None:
    with at_most(1000):
        data = cut_data(list(range(10_000)))
    assert data[:3] == [0, 1, 2]
    assert "items left out" in data[-1]
    assert len(data) < 200


def test_addresses_of_objects_are_left_out() -> None:
    assert without_addresses(repr(object())) == "<object object>"


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "nonsense", b"\xff"])
def test_what_is_no_json_is_one_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_a_number_of_too_many_digits_is_the_text_of_them() -> None:
    assert read_json(f"[1, {'7' * 5000}]") == [1, "7" * 5000]
