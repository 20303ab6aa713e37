"""Compiled inner loops of the location-scale models. Imported only when one is called.

A base law is given by its code and, for Student's t, by its degrees of freedom and ln of its density at 0. The test
oracles are the numpy functions of `families` and `location_scale`, and quadrature in many digits.
"""

from __future__ import annotations

import math

import numpy as np
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
def _mixture(
    code: int,
    df: float,
    log_constant: float,
    cuts: Floats,
    first: int,
    last: int,
    rows: Floats,
    place: int,
    mu: float,
    inverse: float,
) -> float:
    """The sum of row_j P(cell j): all terms are positive, and tails are subtracted from tails.

    Places instead of slices: a slice would count references, which costs as much as the arithmetic.
    """
    total = 0.0
    before, z_before = 0.0, -1.0  # P(Z < -infinity)
    for j in range(first, last):
        z = (cuts[j] - mu) * inverse
        t = tail(code, df, log_constant, abs(z))
        if z <= 0:
            mass = t - before
        elif z_before <= 0:
            mass = 1 - t - before
        else:
            mass = before - t
        total += rows[place + j - first] * mass
        before, z_before = t, z
    beyond = before if z_before > 0 else 1 - before
    out: float = total + rows[place + last - first] * beyond
    return out


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
        product = np.ones(size)
        bound = 1.0
        for c in range(len(report_at) - 1):
            first, last = cut_at[c], cut_at[c + 1]
            for r in range(report_at[c], report_at[c + 1]):
                place = row_at[c] + (r - report_at[c]) * (last - first + 1)
                single = counts[r] == 1 and least[r] > _SMALLEST
                if not single or bound * least[r] < _SMALLEST:
                    for p in range(size):
                        out[start + p] += math.log(product[p])
                        product[p] = 1
                    bound = 1.0
                if single:
                    bound *= least[r]
                for p in range(size):
                    mixed = _mixture(
                        code, df, log_constant, cuts, first, last, rows, place, mu[p], inverse[p]
                    )
                    if single:
                        product[p] *= mixed
                    else:
                        out[start + p] += counts[r] * (math.log(mixed) if mixed > 0 else -math.inf)
        for p in range(size):
            out[start + p] += math.log(product[p])
