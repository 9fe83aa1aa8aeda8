"""Student's t against another implementation's quantiles."""

from __future__ import annotations

import pytest

from pytest_convoprobe.stats import student_t

# Computed with scipy 1.17 (stats.t.ppf).
QUANTILES = {
    (0.9, 1): 3.0776835371752544,
    (0.9, 2): 1.8856180831641272,
    (0.9, 3): 1.637744353696209,
    (0.9, 7): 1.4149239276505086,
    (0.9, 30): 1.3104150253913955,
    (0.9, 1000): 1.2823987214609247,
    (0.9, 100_000): 1.2815600314493614,
    (0.975, 1): 12.706204736174694,
    (0.975, 2): 4.302652729749462,
    (0.975, 3): 3.1824463052837078,
    (0.975, 7): 2.364624251592784,
    (0.975, 30): 2.0422724563012378,
    (0.975, 1000): 1.9623390808264083,
    (0.975, 100_000): 1.9599877075346095,
    (0.995, 1): 63.656741162871526,
    (0.995, 2): 9.924843200918287,
    (0.995, 3): 5.840909309733355,
    (0.995, 7): 3.4994832973504924,
    (0.995, 30): 2.7499956535672254,
    (0.995, 1000): 2.580754698065951,
    (0.995, 100_000): 2.575878469908375,
}


@pytest.mark.parametrize(("level", "degrees"), QUANTILES)
def test_students_t_is_that_of_scipy(level: float, degrees: float) -> None:
    assert student_t(level, degrees) == pytest.approx(QUANTILES[level, degrees], rel=1e-8)
