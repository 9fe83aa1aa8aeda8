"""Differences of two sides and of many, against other implementations and published examples."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convoprobe import stats as stats

# Computed with statsmodels 0.15 (mcnemar, exact); without a difference, nothing can be less extreme.
MCNEMAR = {
    (0, 0): 1.0,
    (1, 0): 1.0,
    (0, 5): 0.0625,
    (3, 9): 0.14599609375,
    (10, 10): 1.0,
    (2, 30): 2.4633482098579407e-07,
}

# Differences, the ends of the 95 % and of the 90 % interval; computed with scipy 1.17 (ttest_1samp).
T_TESTS = [
    (
        [0.5, -0.25, 0.0, 1.0],
        (-0.569576964732674, 1.194576964732674),
        (-0.339780502592108, 0.964780502592108),
    ),
    ([0.1, 0.2, 0.3], (-0.04841377117503293, 0.448413771175033), (0.0314145539152951, 0.36858544608470484)),
    ([-1, 1], (-12.706204736174694, 12.706204736174694), (-6.313751514675045, 6.313751514675037)),
    (
        [1 / 3, 2 / 3, 0, -1 / 3, 1 / 3, 1 / 3, 0, 0, 2 / 3, 1],
        (0.014520373526075714, 0.5854796264739243),
        (0.06866488150986841, 0.5313351184901315),
    ),
]

# Benjamini & Hochberg (1995), section 4: fifteen p-values, of which at 0.05 Bonferroni's method (and Holm's)
# rejects three. The adjusted values were computed with statsmodels 0.15 (multipletests).
P_VALUES = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
    0.7590, 1.0,
]  # fmt: skip
HOLM = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213, 1, 1, 1, 1, 1, 1]

RATES = st.lists(st.tuples(st.none() | st.floats(0, 1), st.none() | st.floats(0, 1)), max_size=12)
CHANCES = st.lists(st.floats(0, 1), max_size=12)


@pytest.mark.parametrize(("only_first", "only_second"), MCNEMAR)
def test_mcnemar_is_that_of_statsmodels(only_first: int, only_second: int) -> None:
    assert stats.mcnemar_exact(only_first, only_second) == pytest.approx(MCNEMAR[only_first, only_second])


@pytest.mark.parametrize(("differences", "at_95", "at_90"), T_TESTS)
def test_mean_difference_is_the_interval_of_a_paired_t_test(
    differences: list[float], at_95: tuple[float, float], at_90: tuple[float, float]
) -> None:
    for confidence, expected in ((0.95, at_95), (0.9, at_90)):
        found = stats.mean_difference(differences, confidence)
        assert found is not None
        assert (found.low, found.high) == pytest.approx(expected)


@pytest.mark.parametrize("differences", [[], [0.5], [0.0, 0.0, 0.0], [2 / 3 - 1 / 3, 1 / 3 - 0.0, 1 - 2 / 3]])
def test_mean_difference_without_a_spread_is_unknown(differences: list[float]) -> None:
    """The last differ by how they were rounded, no more."""
    assert stats.mean_difference(differences) is None


def test_a_gap_is_that_of_the_pairs_with_both_values() -> None:
    first, second = [0.5, None, 0.25, 1.0, None, 1.0], [0.0, 1.0, 0.5, 1.0, None, 0.0]
    gap = stats.paired_gap(first, second)
    assert gap is not None
    assert gap.pairs == 4
    assert gap.difference == pytest.approx(0.3125)
    assert gap.p_value == 0.5


def test_a_gaps_interval_is_cut_at_what_a_difference_of_rates_can_be() -> None:
    gap = stats.paired_gap([0.5, 0.25, 1.0, 1.0], [0.0, 0.5, 1.0, 0.0])
    assert gap is not None
    assert gap.interval == stats.Interval(pytest.approx(-0.569576964732674), 1.0)


def test_pairs_that_all_differ_alike_tell_no_interval() -> None:
    gap = stats.paired_gap([1.0] * 6, [0.0] * 6)
    assert gap == stats.Gap(difference=1.0, interval=None, p_value=2 / 2**6, pairs=6)


def test_one_pair_tells_a_difference_and_no_more() -> None:
    assert stats.paired_gap([0.75], [0.5]) == stats.Gap(0.25, None, 1.0, 1)


@pytest.mark.parametrize(("first", "second"), [([], []), ([None, 1.0], [0.0, None])])
def test_without_pairs_there_is_no_gap(first: list[float | None], second: list[float | None]) -> None:
    assert stats.paired_gap(first, second) is None


def test_sides_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="as many values on either side, not 2 and 1"):
        stats.paired_gap([0.5, 0.5], [0.5])


@pytest.mark.parametrize("value", [3.0, math.nan, math.inf])
def test_values_that_cannot_be_rates_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="a rate has to be between 0 and 1"):
        stats.paired_gap([value, 0.5], [0.5, 0.5])


@given(RATES)
def test_a_gap_turns_round_with_the_sides(pairs: list[tuple[float | None, float | None]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    gap, turned = stats.paired_gap(first, second), stats.paired_gap(second, first)
    assert (gap is None) == (turned is None)
    if gap is not None and turned is not None:
        back = turned.turned()
        assert back.difference == pytest.approx(gap.difference)
        assert (back.interval is None) == (gap.interval is None)
        if back.interval is not None and gap.interval is not None:
            assert back.interval.low == pytest.approx(gap.interval.low)
            assert back.interval.high == pytest.approx(gap.interval.high)
        assert (back.p_value, back.pairs) == (gap.p_value, gap.pairs)


@given(RATES)
def test_a_gap_lies_within_its_interval_and_bounds(pairs: list[tuple[float | None, float | None]]) -> None:
    gap = stats.paired_gap([a for a, _ in pairs], [b for _, b in pairs])
    if gap is not None:
        assert 0 < gap.p_value <= 1
        assert -1 <= gap.difference <= 1
        if gap.interval is not None:
            assert -1 <= gap.interval.low <= gap.difference <= gap.interval.high <= 1
            assert gap.interval.low < gap.interval.high


def test_holm_of_the_published_example() -> None:
    assert stats.holm(P_VALUES) == pytest.approx(HOLM)
    assert sum(p <= 0.05 for p in stats.holm(P_VALUES)) == 3


def test_adjusted_p_values_keep_the_order_given() -> None:
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_no_or_one_p_value_needs_no_adjustment() -> None:
    assert stats.holm([]) == []
    assert stats.holm([0.03]) == [0.03]


@given(p_values=CHANCES)
def test_adjusted_p_values_only_grow_and_keep_their_ranks(p_values: list[float]) -> None:
    adjusted = stats.holm(p_values)
    assert all(p <= found <= 1 for p, found in zip(p_values, adjusted, strict=True))
    ranked = [found for _, found in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)
