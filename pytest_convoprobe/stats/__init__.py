"""What can be concluded from repeated trials. Pure functions over counts, without a dependency.

| function | source |
|---|---|
| `wilson` | Wilson (1927), JASA 22, 209-212 |
| `mid_p` | Lancaster (1961), JASA 56, 223-234; Berry & Armitage (1995), The Statistician 44, 417-423 |
| `at_most` | Clopper & Pearson (1934), Biometrika 26, 404-413, on one side |
| `clustered` | Korn & Graubard (1998), Survey Methodology 24, 193-201, with Wilson's interval inside |
| `ShareEstimate` | the same effective number of trials, with the mid-P interval inside |
| `GapEstimate` | Donner & Zou (2012), Statistical Methods in Medical Research 21, 347-359 (MOVER) |
| `newcombe` | Newcombe (1998), Statistics in Medicine 17, 873-890, method 10 |
| `mean_difference` | Miller (2024), arXiv 2411.00640 (paired differences by cluster), with Student's t |
| `paired_gap` | the same interval; Fisher (1935), The Design of Experiments, section 21 (sign flips) |
| `pass_at_k` | Chen et al. (2021), arXiv 2107.03374, equation 1 |
| `pass_hat_k` | Yao et al. (2024), arXiv 2406.12045, section 4 (pass^k) |
| `mcnemar_exact` | McNemar (1947), Psychometrika 12, 153-157, in its exact binomial form |
| `holm` | Holm (1979), Scandinavian Journal of Statistics 6, 65-70 |
| `fleiss_kappa` | Fleiss (1971), Psychological Bulletin 76, 378-382 |
| `krippendorff_alpha` | Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, nominal data |
| `cohen_kappa` | Cohen (1960), Educational and Psychological Measurement 20, 37-46 |
| `clustered_kappa_interval` | `bootstrap` of Cohen's kappa |
| `spearman` | Spearman (1904), American Journal of Psychology 15, 72-101 |
| `kendall_tau_b` | Kendall (1945), Biometrika 33, 239-251 |
| `bootstrap` | Efron (1979), Annals of Statistics 7, 1-26; of whole clusters, by percentiles |

Whatever cannot be computed (no trials, no two ratings of anything) is None, never 0 and never NaN. Numbers
that cannot be (NaN, 5 passed of 3, a p-value of 2) are a ValueError with words. No interval has zero width:
where the data show no spread, its width is unknown, and it is None.
What draws random numbers gives the same answer for the same seed.
"""

from __future__ import annotations

from .agreement import (
    clustered_kappa_interval,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    majority_agreement,
    unanimous_share,
)
from .comparisons import Gap, holm, mcnemar_exact, mean_difference, paired_gap
from .distributions import Interval, student_t
from .estimates import GapEstimate, ShareEstimate, clustered, clusters_to_decide, side_of
from .proportions import (
    BinaryRates,
    at_most,
    binary_rates,
    mid_p,
    newcombe,
    pass_at_k,
    pass_hat_k,
    wilson,
)
from .ranks import kendall_tau_b, spearman
from .resampling import bootstrap, sign_flip_p

__all__ = [
    "BinaryRates",
    "Gap",
    "GapEstimate",
    "Interval",
    "ShareEstimate",
    "at_most",
    "binary_rates",
    "bootstrap",
    "clustered",
    "clustered_kappa_interval",
    "clusters_to_decide",
    "cohen_kappa",
    "fleiss_kappa",
    "holm",
    "kendall_tau_b",
    "krippendorff_alpha",
    "majority_agreement",
    "mcnemar_exact",
    "mean_difference",
    "mid_p",
    "newcombe",
    "paired_gap",
    "pass_at_k",
    "pass_hat_k",
    "side_of",
    "sign_flip_p",
    "spearman",
    "student_t",
    "unanimous_share",
    "wilson",
]
