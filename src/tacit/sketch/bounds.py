"""How far an estimate can be from the count: tails of medians and minima, and Theorem 5.

The error of row i is K_i + V_i: what collides with the item, and the noise. Over the public hashes K_i has mean 0
and variance (F - f_x^2) / w in a count sketch, mean (n - f_x) / w and no sign in a Count-Min sketch. The law of V_i
is known. Rows are independent. The stream and the queries must not depend on the seed.

* **Median.** It errs by more than r on one side only if (d + 1) / 2 rows do. So a tail q of every row gives P(error
  > r) <= 2 P(Bin(d, q) >= (d + 1) / 2), and `row_tail` inverts this. With K_i + V_i symmetric about 0, a row of
  variance s has q <= s / (2 r^2) by Chebyshev; or q <= P(V_i > r - t) + P(K_i > t) for any t, which is far better
  where noise dominates.
* **Ranks.** With symmetric rows the k-th smallest and the k-th largest row enclose the count but for 2 P(Bin(d,
  1/2) < k): no variance is needed. For d <= 5 even the extremes miss 5 %, and no rule from symmetric rows alone can
  do better: two equally likely values c - 1 and c + 1 put all rows on one side with probability 2^(1 - d).
* **Minimum.** It exceeds f_x by r only if all rows do: P <= (n / (w r))^d by Markov.

Theorem 5 (Aydin's thesis) bounds the tail of the private median. Its proof takes b^2 for the variance of Laplace(b)
noise, which is 2 b^2; and the form (4 L (1 - L))^(d/2) of the same Chernoff bound is never larger than the printed
one.

>>> round(median_reach(0.05, 9, variance=100.0), 2)
15.36
>>> ranks(0.05, 9), ranks(0.05, 5)
(2, 0)
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from tacit_client import check


def check_level(level: object) -> float:
    """A confidence level inside (0, 1)."""
    hint = "give a level between 0 and 1, such as 0.95"
    return float(check.bounded(level, "level", lambda v: 0 < v < 1, hint))


@lru_cache(maxsize=256)
def row_tail(alpha: float, d: int) -> float:
    """The largest q with 2 P(Bin(d, q) >= (d + 1) / 2) <= alpha; d is odd."""
    from scipy.special import betaincinv

    # P(Bin(d, q) >= m) is the regularised incomplete beta function I_q(m, d + 1 - m).
    return float(betaincinv((d + 1) // 2, d + 1 - (d + 1) // 2, alpha / 2))


@lru_cache(maxsize=256)
def ranks(alpha: float, d: int) -> int:
    """The largest k with 2 P(Bin(d, 1/2) < k) <= alpha; 0 when there is none."""
    below, k = 1, 0
    while k < d and 2 * below / 2**d <= alpha:
        k += 1
        below += math.comb(d, k)
    return k


def median_reach(alpha: float, d: int, variance: float) -> float:
    """How far the median of d symmetric rows of this variance strays, but for probability alpha."""
    return math.sqrt(variance / (2 * row_tail(alpha, d)))


def minimum_reach(alpha: float, d: int, mean: float) -> float:
    """How far the minimum of d rows, each above the count by `mean` on average, lies above it, but for alpha."""
    return mean * math.exp(-math.log(alpha) / d)


def tail_of_median(kappa: float, d: int, second_moment: float, w: int, noise: float = 0.0) -> float:
    """Theorem 5, corrected: P(abs(estimate - f_x) > kappa) for a median of d rows, d odd.

    `noise` is the mean over the rows of the variance of their noise: uses times 2 a / (1 - a)^2, a = exp(-e / d), in a
    use-and-keep sketch. 1 where the bound says nothing.

    >>> round(tail_of_median(500.0, 9, second_moment=1e8, w=5000, noise=2e4), 4)
    0.0612
    """
    spread = (second_moment / w + noise) / kappa**2
    return 1.0 if spread >= 0.5 else float((4 * spread * (1 - spread)) ** (d / 2))


@lru_cache(maxsize=4096)
def laplace_quantile(q: float, uses: int) -> float:
    """The upper q-quantile of a sum of `uses` Laplace variables of scale 1.

    Such a sum is normal with variance 2 G, G gamma with shape `uses`: the tail is an average over G. From 64 uses on
    two terms of Cornish and Fisher's expansion are enough: the excess kurtosis is 3 / uses.

    >>> round(laplace_quantile(0.025, 1), 3)
    2.996
    """
    from scipy.optimize import brentq
    from scipy.special import gammaincinv, ndtr

    if q >= 0.5:
        return 0.0  # the quantile is negative: 0 is above it
    if uses >= 64:
        z = normal_quantile(q)
        return math.sqrt(2 * uses) * (z + (z**3 - 3 * z) / (8 * uses))
    middles = (np.arange(4000) + 0.5) / 4000
    widths = np.sqrt(2 * gammaincinv(uses, middles))
    top = 4 * math.sqrt(2 * uses) * (1 - math.log(q))
    return float(brentq(lambda t: ndtr(-t / widths).mean() - q, 0.0, top, xtol=1e-6))


@lru_cache(maxsize=256)
def normal_quantile(q: float) -> float:
    """The upper q-quantile of a standard normal variable."""
    from scipy.special import ndtri

    return float(-ndtri(q))
