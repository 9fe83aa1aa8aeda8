"""The same figures as scipy and statsmodels, computed by them at the same time. The tests beside this one
hold figures that they once gave, so those check the package where neither is installed."""

from __future__ import annotations

from random import Random

import pytest

from pytest_convoprobe import stats as stats

from .test_agreement import COHEN, FLEISS, in_pairs
from .test_comparisons import P_VALUES, T_TESTS
from .test_proportions import newcombe

scipy_stats = pytest.importorskip("scipy.stats")
proportion = pytest.importorskip("statsmodels.stats.proportion")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
multitest = pytest.importorskip("statsmodels.stats.multitest")

COUNTS = [(0, 5), (5, 5), (1, 3), (7, 20), (999, 1000)]
SEEDS = pytest.mark.parametrize("seed", range(3))
CONFIDENCE = pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])


def ends(interval: stats.Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


@CONFIDENCE
@pytest.mark.parametrize(("passed", "trials"), COUNTS)
def test_wilson(passed: int, trials: int, confidence: float) -> None:
    expected = proportion.proportion_confint(passed, trials, 1 - confidence, method="wilson")
    assert ends(stats.wilson(passed, trials, confidence)) == pytest.approx(expected, abs=1e-12)


@CONFIDENCE
@pytest.mark.parametrize("first", COUNTS)
@pytest.mark.parametrize("second", COUNTS)
def test_newcombe(first: tuple[int, int], second: tuple[int, int], confidence: float) -> None:
    expected = proportion.confint_proportions_2indep(
        *first, *second, method="newcomb", compare="diff", alpha=1 - confidence
    )
    assert ends(newcombe(*first, *second, confidence)) == pytest.approx(expected, abs=1e-9)


@CONFIDENCE
@pytest.mark.parametrize("differences", [case[0] for case in T_TESTS])
def test_mean_difference(differences: list[float], confidence: float) -> None:
    expected = scipy_stats.ttest_1samp(differences, 0).confidence_interval(confidence)
    assert ends(stats.mean_difference(differences, confidence)) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("degrees", [1, 2, 4.5, 30, 1000])
@pytest.mark.parametrize("level", [0.6, 0.975, 0.9995])
def test_student_t(level: float, degrees: float) -> None:
    assert stats.student_t(level, degrees) == pytest.approx(scipy_stats.t.ppf(level, degrees))


@pytest.mark.parametrize("counts", [(1, 0), (0, 5), (3, 9), (10, 10), (2, 30)])
def test_mcnemar(counts: tuple[int, int]) -> None:
    expected = contingency.mcnemar([[4, counts[0]], [counts[1], 6]], exact=True).pvalue
    assert stats.mcnemar_exact(*counts) == pytest.approx(expected)


@SEEDS
def test_holm(seed: int) -> None:
    random = Random(seed)
    for p_values in (P_VALUES, [random.random() ** 3 for _ in range(20)]):
        assert stats.holm(p_values) == pytest.approx(
            list(multitest.multipletests(p_values, method="holm")[1])
        )


@SEEDS
def test_fleiss_kappa(seed: int) -> None:
    random = Random(seed)
    ratings = [[random.choice("aabc") for _ in range(5)] for _ in range(30)]
    for counts in (FLEISS, [[rated.count(letter) for letter in "abc"] for rated in ratings]):
        assert stats.fleiss_kappa(counts) == pytest.approx(inter_rater.fleiss_kappa(counts))


@pytest.mark.parametrize("table", [case[0] for case in COHEN])
def test_cohens_kappa(table: list[list[int]]) -> None:
    expected = inter_rater.cohens_kappa(table)
    assert stats.cohen_kappa(in_pairs(table)) == pytest.approx(expected.kappa)


@SEEDS
@pytest.mark.parametrize("values", [4, 100])
def test_rank_correlations(seed: int, values: int) -> None:
    """Of few values with many ties, and of many with hardly any."""
    random = Random(seed)
    x, y = ([random.randrange(values) for _ in range(25)] for _ in range(2))
    assert stats.spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y).statistic)
    assert stats.kendall_tau_b(x, y) == pytest.approx(scipy_stats.kendalltau(x, y).statistic)


@SEEDS
def test_sign_flips(seed: int) -> None:
    """Each of the 2**10 flips, in both; in quarters, whose sums floating point keeps exact."""
    random = Random(seed)
    differences = [random.randint(-3, 4) / 4 for _ in range(10)]
    expected = scipy_stats.permutation_test(
        (differences,), lambda values: abs(sum(values)), permutation_type="samples", alternative="greater"
    )
    assert stats.sign_flip_p(differences) == pytest.approx(expected.pvalue)
