"""Fisher information about (mu, sigma) in one report, exact: sums and quadrature, no simulation.

A finite channel with the reports y and the cells j has P(y) = q_y = sum_j P(y | j) p_j, so its information is
sum_y grad q_y grad q_y' / q_y.

Clipped noise reports clip(X, l, r) + noise. Let w(x) = exp(-abs(y - clip(x)) / b), the density of Laplace noise but for
its constant, for a report y in [l, r], and let f be the density of the answer. With

    A = int_l^y f w dx,   B = int_y^r f w dx,   A1 and B1 the same with z f,   z = (x - mu) / sigma

the report has the density T / (2 b), T = F(l) w(l) + (1 - F(r)) w(r) + A + B, and the score (A - B, A1 - B1) / (b T):
the derivative of E w(mu + sigma Z) falls on w, which is constant outside [l, r]. The pieces of these integrals have one
sign, so they are added up along a grid without cancellation. Left of l and right of r the score is constant.

>>> point = [[0.0, 1.0]]
>>> clipped_information("normal", -0.0706, 0.0706, 2 * 0.0706, point).round(6)[0, 0, 0]
np.float64(0.108872)
>>> odds = np.exp([[1.0, 0.0], [0.0, 1.0]]) / (1 + np.e)
>>> finite_information("normal", [0.0], odds, point).round(6)[0]
array([[0.135952, 0.      ],
       [0.      , 0.      ]])
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats
from tacit.models import checks, families
from tacit.models.families import Family
from tacit.models.location_scale import cell_masses, cell_slopes

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FINE, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(6)
_CHUNK = 1 << 18  # entries of a work array
_REACH = 10.0  # standard deviations of Gaussian noise beyond the interval


def finite_information(
    family: str | Family, cuts: npt.ArrayLike, matrix: npt.ArrayLike, points: npt.ArrayLike
) -> Floats:
    """The information in one report of a finite channel, at each point (mu, sigma): shape (P, 2, 2).

    `matrix` (Y, m + 1) holds P(report | cell) for the cells between the cuts (m,).
    """
    law, where = families.family(family), checks.points(points)
    edges, table, _ = checks.channel((cuts, matrix, np.ones(np.shape(matrix)[:1])), rows="matrix")
    q = cell_masses(law, edges, where) @ table.T
    # Slopes sum to zero over the cells, so what a row has in common may go: at small epsilon it is nearly all.
    excess = table - table.min(axis=1, keepdims=True)
    slopes = np.einsum("pjc,yj->pyc", cell_slopes(law, edges, where), excess)
    scaled = np.divide(slopes, np.sqrt(q)[:, :, None], out=np.zeros_like(slopes), where=q[:, :, None] > 0)
    return np.asarray(np.einsum("pyc,pyd->pcd", scaled, scaled))


def clipped_information(
    family: str | Family,
    lo: float,
    hi: float,
    scale: float,
    points: npt.ArrayLike,
    noise: str = "laplace",
) -> Floats:
    """The information in one report clip(answer, lo, hi) + noise, at each point (mu, sigma): shape (P, 2, 2).

    `scale` is b = (hi - lo) / epsilon of "laplace" noise or the standard deviation of "gaussian" noise.
    """
    law, where = families.family(family), checks.points(points)
    low, high, width = checks.clipped(lo, hi, scale)
    checks.noise(noise)
    inside = _laplace if noise == "laplace" else _gaussian
    with np.errstate(over="ignore"):
        out = [inside(law, (low - m) / s, (high - m) / s, width / s) / s**2 for m, s in where]
    return np.array(out)


class _Grid(NamedTuple):
    """Places with quadrature weights; the edges of panels are among them, with weight 0."""

    places: Floats
    weights: Floats


def _grid(left: float, right: float, longest: float) -> _Grid:
    """Gauss-Legendre panels on [left, right], none longer than `longest`, and short ones around 0."""
    powers = 2.0 ** np.arange(6, 1000)
    near = np.concatenate([np.arange(0.0, 40.5, 0.5), powers[powers < max(abs(left), abs(right))]])
    count = int(np.ceil((right - left) / longest))
    edges = np.concatenate([-near, near, np.linspace(left, right, count + 1)])
    edges = np.unique(np.clip(edges, left, right))
    half = np.diff(edges) / 2
    inner = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
    places = np.concatenate([np.column_stack([edges[:-1], inner]).ravel(), edges[-1:]])
    weights = np.column_stack([np.zeros(len(half)), half[:, None] * _WEIGHTS]).ravel()
    return _Grid(places, np.append(weights, 0.0))


def _laplace(law: Family, left: float, right: float, b: float) -> Floats:
    """The information at (0, 1), Laplace noise."""
    y, weights = _grid(left, right, 4 * b)
    half = np.diff(y)[:, None] / 2
    x = y[:-1, None] + half * (1 + _FINE)
    mass = half * law.pdf(x) * _FINE_WEIGHTS

    def gathered(value: Floats) -> tuple[Floats, Floats]:
        """The integrals of value f w over [left, y] and over [y, right], at every y."""
        up = np.cumsum((value * np.exp((x - left) / b)).sum(axis=1))
        down = np.cumsum((value * np.exp((right - x) / b)).sum(axis=1)[::-1])[::-1]
        return np.append(0.0, up) * np.exp((left - y) / b), np.append(down, 0.0) * np.exp((y - right) / b)

    a, c = gathered(mass)
    a1, c1 = gathered(mass * x)
    t = law.cdf(left) * np.exp((left - y) / b) + law.sf(right) * np.exp((y - right) / b) + a + c
    score = np.stack([a - c, a1 - c1]) / (b * t)
    weights = weights * t / (2 * b)
    weights[0] += t[0] / 2  # all reports left of the interval, and all right of it
    weights[-1] += t[-1] / 2
    return np.asarray((score * weights) @ score.T)


def _gaussian(law: Family, left: float, right: float, tau: float) -> Floats:
    """The information at (0, 1), Gaussian noise."""
    x, mass = _grid(left, right, tau)
    mass = mass * law.pdf(x)
    y, weights = _grid(left - _REACH * tau, right + _REACH * tau, tau)
    information = np.zeros((2, 2))
    for part in np.array_split(np.arange(len(y)), len(y) * len(x) // _CHUNK + 1):
        pull = (y[part, None] - x) / tau
        density = np.exp(-0.5 * pull**2)
        slope = density * pull / tau
        t = density @ mass + law.cdf(left) * density[:, 0] + law.sf(right) * density[:, -1]
        score = np.stack([slope @ mass, slope @ (mass * x)]) / t
        information += (score * weights[part] * t) @ score.T
    return information / (tau * math.sqrt(2 * math.pi))
