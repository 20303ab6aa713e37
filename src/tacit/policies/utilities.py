"""The utilities U1..U6 of AdOBEst-LDP: how informative is RRRR with the k likeliest categories, at a given theta.

Order theta decreasingly, let S be its first k categories, T their mass, m = K - k. The matrix of RRRR has six
different entries only: with c = exp(kappa epsilon) + k,

    answer in S:       a = exp(kappa epsilon) / c own,  b = 1 / c others of S,  o = 1 / (m c) the rest
    answer outside S:  e own,                           b all of S,             g others of the rest

so the law of the report is h_y = b + (a - b) theta_y in S and h_y = r + (e - g) theta_y outside, r = g (1 - T) + o T.
Every utility is then a sum over y of a closed form: O(K) for one k, or O(1) with prefix sums (fisher and honest). No
matrix is built. The papers give O(K^3) for one choice by U2..U5 and O(K^4) by U1.

| name | utility, larger is better |
| --- | --- |
| fisher | minus the trace of the inverse Fisher information, the last category left out |
| entropy | sum h ln h |
| tv_posterior | 1/2 sum abs(P(y given x) theta_x - h_y theta_x) |
| tv_marginal | -1/2 sum abs(h - theta) |
| mse | sum P(y given x)^2 theta_x^2 / h_y - 1 |
| honest | P(report = answer) |

>>> utility_curve([0.7, 0.2, 0.1], 1.0, 0.9, "honest").round(3)
array([0.576, 0.616, 0.552])
>>> best_subset([0.2, 0.7, 0.1], 1.0, 0.9, "honest")
array([1])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats
from tacit.errors import TacitError
from tacit_client import check


class Entries(NamedTuple):
    """The entries a, b, o, e, g of the matrix for k = 0..K-1, each of shape (K,); see the module."""

    a: Floats
    b: Floats
    o: Floats
    e: Floats
    g: Floats


def matrix_entries(k: int, epsilon: float, kappa: float) -> Entries:
    """The entries of RRRR by Theorem 1, for restricted sets of 0..k-1 of the k categories."""
    size = np.arange(k, dtype=float)
    rest = k - size
    first = np.exp(kappa * epsilon)
    ratio = np.exp(epsilon)
    c = first + size
    own = np.minimum(ratio / rest, ratio * first / (ratio + rest - 1))
    own[-1] = first
    others = np.divide(first - own, rest - 1, out=np.zeros(k), where=rest > 1)
    a, b, o, e, g = first / c, 1 / c, 1 / (rest * c), own / c, others / c
    # k = 0 is standard randomised response with the full epsilon; a, b and o then multiply nothing.
    e[0], g[0] = np.array([ratio, 1.0]) / (ratio + k - 1)
    return Entries(a, b, o, e, g)


def utility_curve(theta: npt.ArrayLike, epsilon: float, kappa: float, name: str) -> Floats:
    """The utility of restricting to the k likeliest categories, for k = 0..K-1; theta in any order."""
    shares = arrays.distribution(theta)
    budget = float(check.epsilon(epsilon))
    part = float(check.bounded(kappa, "kappa", lambda v: 0 < v <= 1, "give a share above 0 and at most 1"))
    if not isinstance(name, str) or name not in UTILITIES:
        raise TacitError(
            "argument_invalid",
            f"name is {check.shown(name)}",
            argument="name",
            hint=f"give one of {', '.join(UTILITIES)}",
        )
    ordered = np.sort(shares)[::-1]
    return UTILITIES[name](ordered, matrix_entries(len(ordered), budget, part))


def best_subset(theta: npt.ArrayLike, epsilon: float, kappa: float, name: str) -> npt.NDArray[np.int64]:
    """The categories of the best restricted set, sorted; empty when standard randomised response is best."""
    curve = utility_curve(theta, epsilon, kappa, name)
    order = np.argsort(-np.asarray(theta, dtype=float), kind="stable")
    return np.sort(order[: int(np.argmax(curve))])


def _before(values: Floats) -> Floats:
    """Sums of the first 0..K-1 values."""
    return np.concatenate(([0.0], np.cumsum(values)[:-1]))


def fisher(theta: Floats, m: Entries) -> Floats:
    """G^-1 has the block form of G: row i is (delta - b) / (a - b) in S, and outside S it is
    (delta + u) / (e - g), with u = u_s at the columns of S and u_r at the others."""
    size = np.arange(len(theta))
    mass = _before(theta)
    gap, spread = m.a - m.b, m.e - m.g
    with np.errstate(divide="ignore", invalid="ignore"):
        h_in = size * m.b + gap * mass
        h_last = m.g * (1 - mass) + m.o * mass + spread * theta[-1]
        in_s = (size * m.b**2 + (1 - 2 * m.b) * h_in) / gap**2
        u_s = -m.g - (m.o - m.g) * (1 - size * m.b) / gap
        u_r = -m.g + (m.o - m.g) * size * m.b / gap
        u_s[0] = u_r[0] = -m.g[0]
        in_s[0] = h_in[0] = 0.0
        rows = len(theta) - 1 - size  # outside S and not the last category
        each = u_r**2 * (1 - h_in) + u_s**2 * h_in
        outside = (rows * each + (1 + 2 * u_r) * (1 - h_in - h_last)) / spread**2
    trace = in_s + np.where(rows > 0, outside, 0.0) - (theta[:-1] ** 2).sum()
    singular = (rows > 0) & (spread < 1e-14 * m.e)
    return np.where(singular, -np.inf, -trace)


def entropy(theta: Floats, m: Entries) -> Floats:
    """Sum of h ln h over the reports: minus their entropy."""
    from tacit.policies import kernels

    return kernels.entropy(theta, *m)


def tv_posterior(theta: Floats, m: Entries) -> Floats:
    """How far a report moves the answer's law on average, in total variation."""
    from tacit.policies import kernels

    return kernels.tv_posterior(theta, *m)


def tv_marginal(theta: Floats, m: Entries) -> Floats:
    """Minus the total variation between the laws of report and answer."""
    from tacit.policies import kernels

    return kernels.tv_marginal(theta, *m)


def mse(theta: Floats, m: Entries) -> Floats:
    """Minus the expected squared error of the posterior of one answer, up to a constant."""
    from tacit.policies import kernels

    return kernels.mse(theta, *m)


def honest(theta: Floats, m: Entries) -> Floats:
    """The probability that the report is the answer."""
    mass = _before(theta)
    return m.a * mass + m.e * (1 - mass)


UTILITIES: dict[str, Callable[[Floats, Entries], Floats]] = {
    "fisher": fisher,
    "entropy": entropy,
    "tv_posterior": tv_posterior,
    "tv_marginal": tv_marginal,
    "mse": mse,
    "honest": honest,
}
