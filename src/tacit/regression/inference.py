"""Standard errors of a mixture: observed information, or the sandwich.

The parameters are the coefficients b, the logits e of the weights and the log scales. With g_j and h_j the
derivatives of log f_j by r and log s, bars for means over z_i, and l_i = log f(r_i):

    dl/db   = -mean(g) x        d2l/db2    = [mean(g' + g^2) - mean(g)^2] x x'
    dl/de_j = z_j - a_j         d2l/de2    = diag(z) - z z' - diag(a) + a a'
    dl/ds_j = z_j h_j           d2l/ds_j2  = z_j (h_j' + h_j^2) - z_j^2 h_j^2,  and so on for the mixed ones

H is minus their sum over rows (and P of the prior), G the sum of products of first derivatives. The information
gives the covariance H^-1, which trusts the densities; the sandwich H^-1 G H^-1 does not. A Laplace density has a
kink at 0, where the second derivative is no function: its expectation under the fitted density, -sum_j a_j f_j(0) 2
/ s_j, takes its place, as in the classical variance of least absolute deviations. Standard errors are those of
large samples, they know nothing of the choice of components, and a component that is gone or a scale at its floor
has none (NaN).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.regression.em import Problem, State, responsibilities

GONE = 1e-6  # weight of a component that has no standard errors


class Derivatives(NamedTuple):
    """Of the log-likelihood by (beta, logits, log scales), m = q + 2 J: `h` (m, m) and `g` (m, m) as above."""

    h: Floats
    g: Floats


class Errors(NamedTuple):
    """Covariance of beta (q, q), and standard errors of weights and log scales (J,), in the problem's coordinates."""

    beta: Floats
    weights: Floats
    log_scales: Floats


def derivatives(problem: Problem, state: State) -> Derivatives:
    """H and G at a state."""
    size = problem.design.q + 2 * len(state.weights)
    h, g = np.zeros((size, size)), np.zeros((size, size))
    for rows in problem.design.blocks():
        part = replace(problem, design=problem.design.take(rows), y=problem.y[rows], v=problem.v[rows])
        curved, outer = _of_rows(part, state)
        h -= curved
        g += outer
    q = problem.design.q
    h[:q, :q] += problem.penalty.precision
    return Derivatives(h, g)


def _of_rows(problem: Problem, state: State) -> tuple[Floats, Floats]:
    """Second derivatives of the log-likelihood of these rows, and products of first ones."""
    r = problem.y - problem.design.predict(state.beta)
    z, _ = responsibilities(problem.families, state, r)
    v, j = problem.v, len(z)
    first, curve = np.zeros(len(r)), np.zeros(len(r))
    of_r, of_s = np.empty((2, j, len(r))), np.empty((2, j, len(r)))
    kink = 0.0
    for k, (one, a, s) in enumerate(zip(problem.families, state.weights, state.scales, strict=True)):
        g, h, gg, gs, hh = one.slopes(r, float(s))
        first += z[k] * g
        curve += z[k] * (gg + g * g)
        of_r[:, k] = g, gs
        of_s[:, k] = h, hh
        kink += a * one.kink(float(s)) * float(np.exp(one.log_density(np.zeros(1), float(s)))[0])
    curve -= first**2 + kink
    (g, gs), (h, hh) = of_r, of_s
    # Rows of `other` are the first derivatives by logits and log scales; `mixed` those of them by r.
    logits, logs = z - state.weights[:, None], z * h
    other = np.vstack([logits, logs])
    mixed = np.vstack([z * (g - first), z * (gs + h * (g - first))])
    zero = np.zeros(len(r))
    hess = np.empty((problem.design.q + 2 * j,) * 2)
    outer = np.empty_like(hess)
    q = problem.design.q
    hess[:q, :q] = problem.design.normal(v * curve, zero)[0]
    outer[:q, :q] = problem.design.normal(v * first**2, zero)[0]
    hess[:q, q:] = -problem.design.product((v * mixed).T)
    outer[:q, q:] = -problem.design.product((v * first * other).T)
    outer[q:, q:] = (v * other) @ other.T
    a, total = state.weights, problem.total
    own, cross = z @ v, (v * logs) @ z.T
    hess[q : q + j, q : q + j] = np.diag(own) - (v * z) @ z.T - total * (np.diag(a) - np.outer(a, a))
    hess[q + j :, q : q + j] = np.diag(logs @ v) - cross
    hess[q + j :, q + j :] = np.diag((z * (hh + h * h)) @ v) - (v * logs) @ logs.T
    hess[q : q + j, q + j :] = hess[q + j :, q : q + j].T
    hess[q:, :q] = hess[:q, q:].T
    outer[q:, :q] = outer[:q, q:].T
    return hess, outer


def errors(problem: Problem, state: State, kind: str) -> Errors:
    """Standard errors of kind "sandwich" or "information"."""
    q, j = problem.design.q, len(state.weights)
    alive = state.weights > GONE
    moving = alive & (state.scales > problem.floor * (1 + 1e-9)) & problem.learned
    found = derivatives(problem, state)
    basis = problem.design.directions(problem.penalty)
    # The logit of the largest component stays 0: only differences of logits matter.
    free = alive & (np.arange(j) != int(np.argmax(state.weights)))
    keep = [np.flatnonzero(free), np.flatnonzero(moving)]
    frame = np.zeros((q + 2 * j, basis.shape[1] + len(keep[0]) + len(keep[1])))
    frame[:q, : basis.shape[1]] = basis
    for column, row in enumerate([*(q + keep[0]), *(q + j + keep[1])], start=basis.shape[1]):
        frame[row, column] = 1
    cov = _covariance(frame, found, kind)
    if cov is None:  # the likelihood is flat in weights or scales; the coefficients still stand
        cov = _covariance(frame[:, : basis.shape[1]], found, kind)
        alive, moving = alive & False, moving & False
    if cov is None:
        cov = np.full((q + 2 * j,) * 2, np.nan)
    # Weights are softmax(logits): the derivatives are diag(a) - a a'.
    turn = np.diag(state.weights) - np.outer(state.weights, state.weights)
    of_weights = turn @ cov[q : q + j, q : q + j] @ turn
    return Errors(
        cov[:q, :q],
        np.where(alive, np.sqrt(np.diag(of_weights)), np.nan),
        np.where(moving, np.sqrt(np.diag(cov)[q + j :]), np.nan),
    )


def _covariance(frame: Floats, found: Derivatives, kind: str) -> Floats | None:
    """Within the columns of `frame`; None where the log-likelihood does not fall in all of their directions."""
    h = frame.T @ found.h @ frame
    size = np.sqrt(np.abs(np.diag(h)))
    size = np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(h / np.outer(size, size))
    if len(values) and values[0] <= 1e-10 * values[-1]:
        return None
    inverse = (vectors / values) @ vectors.T / np.outer(size, size)
    if kind == "sandwich":
        inverse = inverse @ (frame.T @ found.g @ frame) @ inverse
    found_cov: Floats = frame @ inverse @ frame.T
    return found_cov


def degrees(problem: Problem, state: State, w: Floats) -> float:
    """Free parameters: coefficients (their effective number under a prior), weights, and scales that move."""
    beta = float(problem.design.rank)
    if problem.penalty.precision.any():
        gram, _ = problem.design.normal(w, np.zeros(problem.design.n))
        beta = float(np.trace(np.linalg.lstsq(gram + problem.penalty.precision, gram, rcond=None)[0]))
    j = len(state.weights)
    return beta + (j - 1) + (j if problem.learned else 0)
