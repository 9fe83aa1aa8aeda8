from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.mutants.numbers import moved, numbers_in


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It costs $54.00.", "It costs $55.00."),
        ("On 2026-11-04 at 10:30", "On 2026-11-05 at 10:31"),
        ("Order A-1049", "Order A-1048"),
        ("١٢ يوما", "١٣ يوما"),
        ("1,000 euros", "1,001 euros"),
    ],
)
def test_off_by_one(before: str, after: str) -> None:
    assert moved(before, numbers_in(before)) == after


def test_only_the_numbers_that_are_meant() -> None:
    assert moved("12 of 120, and 12.00", {"12"}) == "13 of 120, and 13.00"


@given(st.text())
def test_a_text_keeps_its_length_and_loses_the_numbers(text: str) -> None:
    numbers = numbers_in(text)
    changed = moved(text, numbers)
    assert len(changed) == len(text)
    assert (changed != text) == bool(numbers)
