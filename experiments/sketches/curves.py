"""Figures 4.1 and 4.2 of the thesis, by exact computation.

    python -m experiments.sketches.curves

**m_i** is the fullest of w cells after n_Q items. Given their sum, independent Poisson counts are multinomial, so

    P(m_i <= m) = P(Poisson <= m)^w P(S = n_Q) / P(Poisson(n_Q) = n_Q),

S the sum of w Poisson counts, each at most m; its law comes from the w-th power of one characteristic function. The
recursion over the cells (Ramakrishna, 1988) gives the same numbers and is the oracle of the test; it costs n_Q^2 w
steps.

**Noise**: the mean absolute error that privacy adds when the exact rows of an item are (d + 1) / 2 zeros and (d -
1) / 2 times u. Median perturbation adds one draw of scale m_Q / epsilon to the median, cell perturbation one of
scale d / epsilon to each row. The thesis puts m_Q = d; here also the bound of Algorithm 4 for a real batch of 10^4
items, d E(m_i).
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, poisson

RESULTS = Path(__file__).parent / "results" / "curves.json"
COLUMNS = (500, 5000, 50_000)
SIZES = tuple(round(10 ** (k / 2)) for k in range(13))
DEPTHS = (3, 9, 15)
EPSILON = 1.0
SPREADS = tuple(range(0, 101, 2))
Floats = npt.NDArray[np.float64]


def fullest(n: int, w: int) -> float:
    """E(m_i): the mean of the largest of w multinomial counts of n items."""
    mean = n / w
    # Below this m the fullest cell is larger but for a probability of e^-40.
    m = max(math.ceil(mean), int(poisson.isf(40 / w, mean)) if w > 40 else 0)
    total = float(m)
    while True:
        total += 1 - at_most(m, n, w, mean)
        m += 1
        if w * poisson.sf(m, mean) < 1e-9 or m > n:
            return total


def at_most(m: int, n: int, w: int, mean: float) -> float:
    """P(m_i <= m)."""
    if m >= n:
        return 1.0
    mass = poisson.pmf(np.arange(m + 1), mean)
    kept = mass.sum()
    # A period far wider than the spread of the sum, so that nothing folds back onto n.
    period = 2 ** math.ceil(math.log2(20 * math.sqrt(n) + 200))
    spectrum = np.fft.fft(mass / kept, period).astype(np.complex128) ** w
    turned = np.exp(2j * np.pi * (np.arange(period) * (n % period) % period) / period)
    at_sum = float((spectrum * turned).real.mean())
    log_all = w * math.log(kept) + math.log(max(at_sum, 1e-300)) - float(poisson.logpmf(n, n))
    return min(math.exp(min(log_all, 0.0)), 1.0)


def laplace_cdf(t: npt.NDArray[np.int64], scale: float) -> Floats:
    """P(V <= t) of discrete Laplace noise."""
    a = math.exp(-1 / scale)
    return np.where(t < 0, a ** (-np.minimum(t, 0)) / (1 + a), 1 - a ** (np.maximum(t, 0) + 1) / (1 + a))


def median_noise(scale: float) -> float:
    """E abs(V)."""
    a = math.exp(-1 / scale)
    return 2 * a / (1 - a**2)


def cell_noise(d: int, u: int, scale: float) -> float:
    """E abs(median of the noisy rows), exactly: the sum of its tails."""
    reach = np.arange(-math.ceil(40 * scale) - u, math.ceil(40 * scale) + u + 1)
    zeros, others = (d + 1) // 2, (d - 1) // 2
    low, high = laplace_cdf(reach, scale), laplace_cdf(reach - u, scale)
    below = np.zeros(len(reach))  # P(at least (d + 1) / 2 rows are <= t)
    for k in range(zeros + 1):
        below += binom.pmf(k, zeros, low) * binom.sf(zeros - k - 1, others, high)
    return float((1 - below[reach >= 0]).sum() + below[reach < 0].sum())


def make() -> dict[str, Any]:
    """Both figures as numbers."""
    out: dict[str, Any] = {"sizes": SIZES, "fullest": {}, "spreads": SPREADS, "epsilon": EPSILON, "noise": {}}
    for w in COLUMNS:
        out["fullest"][w] = [round(fullest(n, w), 6) for n in SIZES]
    for d in DEPTHS:
        bound = d * fullest(10_000, 5000)
        out["noise"][d] = {
            "median": median_noise(d / EPSILON),
            "median, 10^4 items": median_noise(bound / EPSILON),
            "cell": [round(cell_noise(d, u, d / EPSILON), 6) for u in SPREADS],
        }
    return out


def main() -> None:
    """Write the results."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(make(), indent=1) + "\n")


if __name__ == "__main__":
    main()
