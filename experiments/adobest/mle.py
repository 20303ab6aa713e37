"""The maximum likelihood estimate from the same reports: what the papers' sampler loses.

The likelihood of theta is the product over the reports of row . theta, where row = P(report | .): a mixture problem in
the shares, concave in theta. The iteration (iterative Bayesian update, an EM step) is

    theta_x <- theta_x g_x,    g_x = mean over the reports of row_x / (row . theta)

and never decreases the likelihood. Since the log-likelihood is concave, what is left to gain is at most n (max g - 1):
the iteration stops when that is below a hundredth, far under what n reports can tell apart. Reports with the same row,
but for a factor, are counted together.

>>> rows = np.array([[0.8, 0.2], [0.2, 0.8]])
>>> estimate(np.repeat(rows, [70, 30], axis=0)).round(2)
array([0.83, 0.17])
"""

from __future__ import annotations

import numpy as np
from experiments.adobest.matrices import Floats
from numba import njit

GAIN = 0.01  # of the log-likelihood, left at the end
STEPS = 20_000


def estimate(rows: Floats) -> Floats:
    """The theta (K,) that makes the reports likeliest; `rows` (n, K) is P(report | x) of each."""
    distinct, counts = np.unique(
        (rows / rows.sum(axis=1, keepdims=True)).round(12), axis=0, return_counts=True
    )
    return _climb(distinct, counts / counts.sum(), GAIN / len(rows))


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _climb(rows, weights, enough):
    """EM until what is left to gain for each report is below `enough`; `weights` sum to one."""
    k = rows.shape[1]
    theta = np.full(k, 1.0 / k)
    gain = np.empty(k)
    for _ in range(STEPS):
        gain[:] = 0.0
        for t in range(len(rows)):
            product = 0.0
            for x in range(k):
                product += rows[t, x] * theta[x]
            weight = weights[t] / product
            for x in range(k):
                gain[x] += rows[t, x] * weight
        if gain.max() - 1 < enough:
            break
        theta *= gain
    return theta / theta.sum()
