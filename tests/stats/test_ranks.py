"""Rank correlations, against another implementation and published examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe.stats import kendall_tau_b, spearman

# x, y, Spearman's rho, Kendall's tau-b; computed with scipy 1.17 (spearmanr, kendalltau).
CORRELATIONS = [
    (
        [106, 100, 86, 101, 99, 103, 97, 113, 112, 110],
        [7, 27, 2, 50, 28, 29, 20, 12, 6, 17],
        -0.17575757575757575,
        -0.1111111111111111,
    ),
    ([1, 2, 2, 3, 4, 4, 4], [2, 1, 2, 2, 5, 3, 5], 0.823529411764706, 0.7058823529411764),
    ([0.1, 0.9, 0.5, 0.5], [3, 1, 2, 7], -0.632455532033676, -0.5477225575051662),
    ([1, 1, 1, 2], [5, 5, 4, 5], 0.3333333333333333, 0.33333333333333337),
]

BOTH = pytest.mark.parametrize("correlation", [spearman, kendall_tau_b])
Correlation = Callable[[Sequence[float], Sequence[float]], "float | None"]
# Few different values, so that there are ties; and values of any size.
NUMBERS = st.integers(0, 4) | st.floats(allow_nan=False)
SIDES = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)


@pytest.mark.parametrize(("x", "y", "rho", "tau"), CORRELATIONS)
def test_rank_correlations_are_those_of_scipy(x: list[float], y: list[float], rho: float, tau: float) -> None:
    assert spearman(x, y) == pytest.approx(rho)
    assert kendall_tau_b(x, y) == pytest.approx(tau)


@BOTH
def test_one_order_is_one_and_the_opposite_is_minus_one(correlation: Correlation) -> None:
    assert correlation([0.1, 0.5, 0.7, 0.9], [1, 20, 300, 4000]) == pytest.approx(1)
    assert correlation([0.1, 0.5, 0.7, 0.9], [9, 8, 7, 6]) == pytest.approx(-1)


@BOTH
@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([1, 1, 1], [1, 2, 3]), ([1, 2], [3, 3])])
def test_no_order_has_no_correlation(correlation: Correlation, x: list[float], y: list[float]) -> None:
    assert correlation(x, y) is None


@BOTH
def test_what_has_no_place_in_an_order_is_refused(correlation: Correlation) -> None:
    with pytest.raises(ValueError, match="NaN, which has no place in an order"):
        correlation([1, math.nan], [1, 2])


@BOTH
def test_sides_of_unequal_length_are_refused(correlation: Correlation) -> None:
    with pytest.raises(ValueError, match="as many values on either side, not 2 and 1"):
        correlation([1, 2], [1])


@BOTH
@given(sides=SIDES)
def test_a_correlation_is_within_bounds_and_the_same_turned_round(
    correlation: Correlation, sides: list[tuple[float, float]]
) -> None:
    x, y = [a for a, _ in sides], [b for _, b in sides]
    found = correlation(x, y)
    assert found is None or -1 <= found <= 1
    assert correlation(y, x) == found


@BOTH
@given(sides=SIDES)
def test_only_the_order_counts(correlation: Correlation, sides: list[tuple[float, float]]) -> None:
    x, y = [a for a, _ in sides], [b for _, b in sides]
    places = {value: 2**place for place, value in enumerate(sorted(set(y)))}
    assert correlation(x, [places[value] for value in y]) == correlation(x, y)


@BOTH
@given(sides=SIDES)
def test_the_opposite_order_has_the_opposite_sign(
    correlation: Correlation, sides: list[tuple[float, float]]
) -> None:
    x, y = [a for a, _ in sides], [b for _, b in sides]
    found, opposite = correlation(x, y), correlation(x, [-value for value in y])
    assert opposite == (None if found is None else pytest.approx(-found, abs=1e-12))
