"""Paired comparisons of errors on the same populations, with standard errors.

>>> ratio(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
Ratio(value=0.5, error=0.0)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from experiments.adobest.matrices import Floats
from scipy.stats import t as student


class Ratio(NamedTuple):
    """A ratio of mean errors and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.error:.2f})"


def ratio(mine: Floats, other: Floats) -> Ratio:
    """Of the means over paired runs; the standard error by linearisation, nan for a single run."""
    value = float(mine.mean() / other.mean())
    if len(mine) < 2:
        return Ratio(value, math.nan)
    error = np.std(mine - value * other, ddof=1) / math.sqrt(len(mine)) / other.mean()
    return Ratio(value, float(error))


def geometric(ratios: Iterable[Ratio]) -> Ratio:
    """Geometric mean over cells, whose runs are independent."""
    given = list(ratios)
    value = math.exp(np.mean([math.log(one.value) for one in given]))
    return Ratio(value, value * math.sqrt(sum((one.error / one.value) ** 2 for one in given)) / len(given))


def p_value(mine: Floats, other: Floats) -> float:
    """Two-sided paired t test that the mean difference is zero; 1 when all pairs are equal or there is one only."""
    gap = mine - other
    if len(gap) < 2 or not gap.any():
        return 1.0
    spread = np.std(gap, ddof=1) / math.sqrt(len(gap))
    if spread == 0:
        return 0.0
    return float(2 * student.sf(abs(gap.mean()) / spread, len(gap) - 1))


def holm(p_values: Floats, level: float = 0.05) -> np.ndarray:
    """Which hypotheses Holm's procedure rejects: at most `level` to reject any true one.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [True, False, False]
    """
    order = np.argsort(p_values, kind="stable")
    passed = p_values[order] <= level / np.arange(len(order), 0, -1)
    rejected = np.zeros(len(order), dtype=bool)
    rejected[order] = np.logical_and.accumulate(passed)
    return rejected
