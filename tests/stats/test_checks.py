"""Numbers that cannot be are errors with words, in every formula."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from pytest_convoprobe import stats

NAN = math.nan


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda: stats.wilson(5, 3), "5 of 3 trials cannot be"),
        (lambda: stats.wilson(-1, 3), "-1 of 3 trials cannot be"),
        (lambda: stats.wilson(NAN, 3), "has to be finite"),
        (lambda: stats.wilson(1, NAN), "has to be finite"),
        (lambda: stats.wilson(0, -3), "finite and not negative"),
        (lambda: stats.wilson(1, 3, 1.0), "a confidence has to be above 0 and below 1, not 1.0"),
        (lambda: stats.mid_p(5, 3), "5 of 3 trials cannot be"),
        (lambda: stats.ShareEstimate.of([(3, 2)]), "3 of 2 trials cannot be"),
        (lambda: stats.ShareEstimate.of([(0.5, 2)]), "a whole number, not 0.5"),
        (lambda: stats.GapEstimate.of([(0.5, NAN)]), "a paired share has to be between 0 and 1, not nan"),
        (lambda: stats.newcombe(NAN, stats.Interval(0, 1), 0.5, stats.Interval(0, 1)), "a share has to be"),
        (lambda: stats.pass_at_k(3, 5, 1), "5 of 3 trials cannot be"),
        (lambda: stats.pass_hat_k(-3, 0, 1), "cannot be negative: -3"),
        (lambda: stats.BinaryRates(1, -1, 0, 0), "a count of answers cannot be negative: -1"),
        (lambda: stats.binary_rates([(None, True)]), "true or false on either side"),
        (lambda: stats.paired_gap([NAN], [1.0]), "a rate has to be between 0 and 1, not nan"),
        (lambda: stats.holm([0.01, NAN, 0.04]), "a p-value has to be between 0 and 1, not nan"),
        (lambda: stats.holm([0.01, 1.5]), "a p-value has to be between 0 and 1, not 1.5"),
        (lambda: stats.mcnemar_exact(-1, 3), "a count of pairs cannot be negative: -1"),
        (lambda: stats.mean_difference([0.5, NAN]), "a paired difference has to be a finite number, not nan"),
        (lambda: stats.sign_flip_p([math.inf]), "a paired difference has to be a finite number, not inf"),
        (lambda: stats.bootstrap([1.0, 2.0], sum, confidence=NAN), "a confidence has to be"),
        (lambda: stats.bootstrap([1.0, 2.0], sum, resamples=-1), "the number of draws cannot be negative"),
        (lambda: stats.student_t(NAN, 3), "no quantile for nan and 3"),
        (lambda: stats.student_t(0.9, 0), "no quantile for 0.9 and 0"),
        (lambda: stats.fleiss_kappa([[3, -1], [1, 1]]), "a number of ratings cannot be negative: -1"),
        (lambda: stats.fleiss_kappa([[NAN, 2]]), "a whole number, not nan"),
        (lambda: stats.cohen_kappa([(NAN, 1.0)]), "a rating is NaN"),
        (lambda: stats.krippendorff_alpha([[NAN, 1.0]]), "a rating is NaN"),
        (lambda: stats.majority_agreement([[NAN, 1.0]]), "a rating is NaN"),
        (lambda: stats.unanimous_share([[NAN, 1.0]]), "a rating is NaN"),
        (lambda: stats.spearman([1, NAN], [1, 2]), "a value is NaN"),
    ],
)
def test_a_number_that_cannot_be_is_refused(compute: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compute()
