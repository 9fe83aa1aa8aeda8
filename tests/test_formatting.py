"""One rule for each kind of number, wherever it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe import formatting
from pytest_convoprobe.stats import Interval

SHARES = st.floats(0, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0.0 s"),
        (0.04, "40 ms"),
        (0.0996, "0.1 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3599.6, "1 h 0 min"),
        (7200, "2 h 0 min"),
        (7199, "2 h 0 min"),
        (4_000_000, "1,111 h 7 min"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert formatting.seconds(value) == text


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.25, "0.25 s"), (30.0, "30 s"), (600, "600 s")])
def test_a_limit_keeps_the_unit_and_the_digits_that_it_was_given(value: float | None, text: str) -> None:
    assert formatting.exact_seconds(value) == text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        (1_795_817_700.0, "2026-11-27 22:15 UTC"),
        (0.0, ""),
        (-5.0, ""),
        (1e300, ""),
        (float("nan"), ""),
    ],
)
def test_a_moment_is_in_utc_wherever_it_is_read(
    stamp: float, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert formatting.moment(stamp) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (1 - 1e-16, "100 %"),
        (1 / 3, "33 %"),
        (0.996, "99.6 %"),
        (0.99999, "99.9 %"),
        (0.004, "0.4 %"),
        (0.00001, "0.1 %"),
        (0.994, "99 %"),
    ],
)
def test_percent(share: float | None, text: str) -> None:
    assert formatting.percent(share) == text


def test_ranges() -> None:
    assert formatting.percent_range(Interval(0.574, 0.998)) == "57-99.8 %"
    assert formatting.percent_range(None) == "-"
    assert formatting.points_range(Interval(-0.42, 1.0)) == "-42 to +100"
    assert formatting.number_range(Interval(-0.333, 0.5)) == "-0.33 to 0.50"


@pytest.mark.parametrize("level", [0.95, 0.975, 0.999, 0.5])
def test_a_setting_keeps_its_digits(level: float) -> None:
    assert float(formatting.exact_percent(level).removesuffix(" %")) == pytest.approx(100 * level)


@pytest.mark.parametrize(
    ("share", "limit", "texts"),
    [
        (0.75, 1.0, ("75 %", "100 %")),
        (2 / 3, 0.8, ("67 %", "80 %")),
        (0.996, 1.0, ("99.6 %", "100 %")),
        (0.89951, 0.9, ("89.95 %", "90 %")),
        (0.656, 0.6575, ("65.6 %", "65.75 %")),
        (0.0, 0.000001, ("0 %", "0.0001 %")),
        (0.9, 0.9, ("90 %", "90 %")),
    ],
)
def test_a_share_beside_its_limit(share: float, limit: float, texts: tuple[str, str]) -> None:
    assert formatting.percent_beside(share, limit) == texts


@given(SHARES, st.integers(0, 1000).map(lambda number: number / 1000))
def test_what_is_shown_is_on_the_same_side_of_the_limit(share: float, limit: float) -> None:
    shown, beside = (float(text.removesuffix(" %")) for text in formatting.percent_beside(share, limit))
    if abs(share - limit) > 1e-6:
        assert (shown < beside, shown > beside) == (share < limit, share > limit)


@given(SHARES)
def test_part_of_it_is_neither_all_nor_nothing(share: float) -> None:
    if 1e-9 < share < 1 - 1e-9:
        assert formatting.percent(share) not in ("0 %", "100 %")


@pytest.mark.parametrize(
    ("difference", "text"),
    [(0.123, "+12"), (-0.05, "-5"), (0.0, "0"), (0.004, "+0.4"), (-0.0004, "-0.04"), (1.0, "+100")],
)
def test_points(difference: float, text: str) -> None:
    assert formatting.points(difference) == text
    assert formatting.points(difference, signed=False) == text.lstrip("+-")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0001, "p < 0.001"), (0.0312, "p = 0.031"), (0.5, "p = 0.50"), (1.0, "p = 1.00")],
)
def test_p_values(value: float, text: str) -> None:
    assert formatting.p_equals(value) == text


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "price unknown"),
        (0.0, "$0"),
        (0.00001, "<$0.0001"),
        (0.0123, "$0.0123"),
        (1.5, "$1.50"),
        (1234.5, "$1,234.50"),
    ],
)
def test_dollars(cost: float | None, text: str) -> None:
    assert formatting.dollars(cost) == text
    assert formatting.dollars(None, "-") == "-"


def test_counted() -> None:
    assert [formatting.counted(number, "call") for number in (0, 1, 1200)] == [
        "0 calls",
        "1 call",
        "1,200 calls",
    ]
