"""Which S to take at a draw of theta, compiled: standard randomised response, semi-adaptive, and the six utilities.

The utilities are those of `tacit.policies.utilities`. Four of them are its compiled kernels; "fisher" and "honest" are
array code there, which compiled code cannot call, and have twins here. The tests hold the twins to `utility_curve`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from tacit.policies.kernels import entropy, mse, tv_marginal, tv_posterior
from tacit.policies.utilities import UTILITIES

RULES = tuple(UTILITIES)  # fisher, entropy, tv_posterior, tv_marginal, mse, honest
SRR, SEMI = -2, -1


def rule_of(method: str) -> tuple[int, float]:
    """The number of a method in compiled code, and its alpha."""
    if method == "srr":
        return SRR, 0.0
    head, _, mass = method.partition(":")
    return (SEMI, float(mass)) if head == "semi" else (RULES.index(method), 0.0)


@njit(cache=True)
def honest(theta, m):
    """P(report = answer) for k = 0..K-1."""
    out = np.empty(len(theta))
    mass = 0.0
    for k in range(len(theta)):
        out[k] = m[0, k] * mass + m[3, k] * (1 - mass)
        mass += theta[k]
    return out


@njit(cache=True)
def fisher(theta, m):
    """Minus the trace of the inverse Fisher information for k = 0..K-1, by the closed form of `utilities.fisher`."""
    total = len(theta)
    squares = (theta[:-1] ** 2).sum()
    out = np.empty(total)
    mass = 0.0
    for k in range(total):
        a, b, o, e, g = m[:, k]
        rows = total - 1 - k
        h_last = g * (1 - mass) + o * mass + (e - g) * theta[-1]
        h_in = k * b + (a - b) * mass if k else 0.0
        trace = (k * b**2 + (1 - 2 * b) * h_in) / (a - b) ** 2 if k else 0.0
        if rows and e - g < 1e-14 * e:
            trace = np.inf
        elif rows:
            u_s = -g - (o - g) * (1 - k * b) / (a - b) if k else 0.0
            u_r = -g + (o - g) * k * b / (a - b) if k else -g
            each = u_r**2 * (1 - h_in) + u_s**2 * h_in
            trace += (rows * each + (1 + 2 * u_r) * (1 - h_in - h_last)) / (e - g) ** 2
        out[k] = squares - trace
        mass += theta[k]
    return out


@njit(cache=True)
def curve(theta, m, code):
    """The utility of RULES[code] at an ordered theta (K,), for k = 0..K-1; `m` (5, K) as in `matrices.entries`."""
    if code == 0:
        return fisher(theta, m)
    if code == 1:
        return entropy(theta, m[0], m[1], m[2], m[3], m[4])
    if code == 2:
        return tv_posterior(theta, m[0], m[1], m[2], m[3], m[4])
    if code == 3:
        return tv_marginal(theta, m[0], m[1], m[2], m[3], m[4])
    if code == 4:
        return mse(theta, m[0], m[1], m[2], m[3], m[4])
    return honest(theta, m)


@njit(cache=True)
def best_size(theta, m, code, mass, smallest):
    """How many of the likeliest categories make S, at an ordered theta; utilities choose from `smallest` on."""
    if code == SRR:
        return 0
    if code == SEMI:
        held = 0.0
        for k in range(len(theta) - 1):
            held += theta[k]
            if held >= mass:
                return k + 1
        return len(theta) - 1
    return smallest + int(np.argmax(curve(theta, m, code)[smallest:]))
