"""Compiled inner loops of the location-scale models. Imported only when one is called.

A base law is given by its code and, for Student's t, by its degrees of freedom and ln of its density at 0. The test
oracles are the numpy functions of `families` and `location_scale`, and quadrature in many digits.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from tacit.arrays import Floats, Integers

_BLOCK = 256  # points handled at a time: their products stay in the cache
_SMALLEST = 1e-290  # a product of probabilities is turned into its logarithm before it gets smaller


@njit(cache=True)
def tail(code: int, df: float, log_constant: float, z: float) -> float:
    """P(Z > z) for z >= 0."""
    if code == 0:
        return 0.5 * math.erfc(z * math.sqrt(0.5))
    if code == 1:
        e = math.exp(-z)
        return e / (1 + e)
    if code == 2:
        return 0.5 * math.exp(-z)
    return _student_tail(df, log_constant, z)


@njit(cache=True)
def _student_tail(df: float, log_constant: float, z: float) -> float:
    # Half the incomplete beta function I_x(df / 2, 1 / 2) at x = df / (df + z^2), or of its complement.
    if z > 1e150:
        return 0.5 * math.exp(log_constant + math.log(2.0) + 0.5 * (df - 1) * math.log(df) - df * math.log(z))
    odds = z * z / df
    x = 1 / (1 + odds)
    # The density times z is x^(df / 2) (1 - x)^(1 / 2) / B(df / 2, 1 / 2).
    power = math.exp(log_constant - 0.5 * (df + 1) * math.log1p(odds)) * z
    if x < (0.5 * df + 1) / (0.5 * df + 2.5):
        return power * _beta_fraction(0.5 * df, 0.5, x) / df
    return 0.5 - power * _beta_fraction(0.5, 0.5 * df, odds * x)


@njit(cache=True)
def _beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    out = d
    for m in range(1, 500):
        for even in (True, False):
            if even:
                term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            else:
                term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            d = 1 + term * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + term / c
            c = c if abs(c) > tiny else tiny
            out *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return out


@njit(cache=True)
def _add_cell(
    code: int,
    df: float,
    log_constant: float,
    cut: float,
    weight: float,
    mu: Floats,
    inverse: Floats,
    before: Floats,
    positive: npt.NDArray[np.bool_],
    mixed: Floats,
) -> None:
    """Add weight x P(cell below the cut) at all points; `before` holds the tail at the cut before, then at this one.

    Tails are subtracted from tails. A loop over points for each cut, and not the other way round, is five times faster:
    the processor has no branch to guess and no arrays to hand over.
    """
    for p in range(len(mu)):
        z = (cut - mu[p]) * inverse[p]
        t = tail(code, df, log_constant, abs(z))
        within = before[p] - t if positive[p] else (1 - t - before[p] if z > 0 else t - before[p])
        mixed[p] += weight * within
        before[p] = t
        positive[p] = z > 0


@njit(cache=True, nogil=True)
def log_likelihood(
    code: int,
    df: float,
    log_constant: float,
    cuts: Floats,
    cut_at: Integers,
    rows: Floats,
    row_at: Integers,
    report_at: Integers,
    counts: Floats,
    least: Floats,
    points: Floats,
    out: Floats,
) -> None:
    """Add to out[p] the sum over distinct reports of counts x ln(sum_j row_j P(cell j at point p)).

    A logarithm costs as much as a tail, so the probabilities of single reports are multiplied first; `least`, the
    smallest entry of each row, bounds their product from below.
    """
    for start in range(0, len(points), _BLOCK):
        size = min(_BLOCK, len(points) - start)
        mu = points[start : start + size, 0].copy()
        inverse = 1 / points[start : start + size, 1]
        sums, product, mixed, before = np.zeros(size), np.ones(size), np.empty(size), np.empty(size)
        positive = np.empty(size, np.bool_)
        bound = 1.0
        for c in range(len(report_at) - 1):
            first, last = cut_at[c], cut_at[c + 1]
            for r in range(report_at[c], report_at[c + 1]):
                place = row_at[c] + (r - report_at[c]) * (last - first + 1) - first
                mixed[:] = 0.0
                before[:] = 0.0
                positive[:] = False
                for j in range(first, last):
                    _add_cell(
                        code, df, log_constant, cuts[j], rows[place + j], mu, inverse, before, positive, mixed
                    )
                top = rows[place + last]
                single = counts[r] == 1 and least[r] > _SMALLEST
                if not single or bound * least[r] < _SMALLEST:
                    sums += np.log(product)
                    product[:] = 1.0
                    bound = 1.0
                if single:
                    bound *= least[r]
                    for p in range(size):
                        product[p] *= mixed[p] + top * (before[p] if positive[p] else 1 - before[p])
                else:
                    for p in range(size):
                        value = mixed[p] + top * (before[p] if positive[p] else 1 - before[p])
                        sums[p] += counts[r] * (math.log(value) if value > 0 else -math.inf)
        out[start : start + size] += sums + np.log(product)
