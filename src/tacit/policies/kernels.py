"""Compiled sums of the utilities: for each k, one pass over the reports. Symbols as in `utilities`.

The test oracle is the brute force over the whole matrix in tests/oracles.py.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from tacit.arrays import Floats


@njit(cache=True)
def entropy(theta: Floats, a: Floats, b: Floats, o: Floats, e: Floats, g: Floats) -> Floats:
    """Sum of h ln h."""
    out = np.zeros(len(theta))
    mass = 0.0
    for k in range(len(theta)):
        base = g[k] * (1 - mass) + o[k] * mass
        for y in range(len(theta)):
            h = b[k] + (a[k] - b[k]) * theta[y] if y < k else base + (e[k] - g[k]) * theta[y]
            out[k] += h * math.log(h)
        mass += theta[k]
    return out


@njit(cache=True)
def tv_posterior(theta: Floats, a: Floats, b: Floats, o: Floats, e: Floats, g: Floats) -> Floats:
    """Half the sum of abs(P(y|x) - h_y) theta_x: the sum of its positive parts, since both have the same mass."""
    out = np.zeros(len(theta))
    mass = 0.0
    for k in range(len(theta)):
        base = g[k] * (1 - mass) + o[k] * mass
        for y in range(len(theta)):
            t = theta[y]
            if y < k:
                out[k] += (a[k] - b[k]) * t * (1 - t)
            else:
                h = base + (e[k] - g[k]) * t
                out[k] += t * max(e[k] - h, 0.0) + mass * max(o[k] - h, 0.0)
                out[k] += max(1 - mass - t, 0.0) * max(g[k] - h, 0.0)
        mass += theta[k]
    return out


@njit(cache=True)
def tv_marginal(theta: Floats, a: Floats, b: Floats, o: Floats, e: Floats, g: Floats) -> Floats:
    """Minus half the sum of abs(h - theta)."""
    out = np.zeros(len(theta))
    mass = 0.0
    for k in range(len(theta)):
        base = g[k] * (1 - mass) + o[k] * mass
        for y in range(len(theta)):
            h = b[k] + (a[k] - b[k]) * theta[y] if y < k else base + (e[k] - g[k]) * theta[y]
            out[k] -= 0.5 * abs(h - theta[y])
        mass += theta[k]
    return out


@njit(cache=True)
def mse(theta: Floats, a: Floats, b: Floats, o: Floats, e: Floats, g: Floats) -> Floats:
    """Sum of P(y|x)^2 theta_x^2 / h_y, less one."""
    out = np.full(len(theta), -1.0)
    everything = (theta**2).sum()
    mass = 0.0
    squares = 0.0
    for k in range(len(theta)):
        base = g[k] * (1 - mass) + o[k] * mass
        for y in range(len(theta)):
            own = theta[y] ** 2
            if y < k:
                h = b[k] + (a[k] - b[k]) * theta[y]
                out[k] += (a[k] ** 2 * own + b[k] ** 2 * (everything - own)) / h
            else:
                h = base + (e[k] - g[k]) * theta[y]
                out[k] += (e[k] ** 2 * own + o[k] ** 2 * squares) / h
                out[k] += g[k] ** 2 * (everything - squares - own) / h
        mass += theta[k]
        squares += theta[k] ** 2
    return out
