"""A ridge beside the subsamples' prior, tuned by leaving out one row at a time, approximately.

The prior N(b0, S) pulls to where subsamples agree, never to zero. Where zero is a better guess (many columns for
the rows, heavy tails), a ridge is: w |b|^2 / 2 on the standardised scale. For a fit with the curvature H of loss
and ridge, and a row z whose loss has slope s and curvature c, Newton's step without that row moves its predictor to

    eta + h s / (1 - c h),    h = z' H^-1 z

(for squared loss exactly). So one fit for each w gives the loss of every row as if it had been left out. The w of
least such loss is taken from a grid of powers of ten, walking from 1, and each fit starts at the one before.
Ten-fold cross-validation makes ten fits for each w, from nothing.

It serves for N rows only if tuned on about N: on small subsamples the best w can be far too large. With very many
rows a subsample of `MOST` numbers tunes.

Source: Rad and Maleki (2020), approximate leave-one-out; Allen (1974) for squared loss.

>>> import numpy as np
>>> from tacit.regression.subsample_losses import Logistic
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(200, 30))
>>> y = (X[:, 0] + rng.logistic(size=200) > 0).astype(float)
>>> tuned(Logistic(), Design(X, intercept=True), y, rng).ridge
100.0
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.arrays import Floats
from tacit.regression.subsample_design import Design
from tacit.regression.subsample_fits import centre_of, diagonal, moments
from tacit.regression.subsample_losses import Loss
from tacit.regression.subsample_newton import newton, terms

GRID = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
NEARLY_NONE = 1e-3  # the ridge that stands for none while tuning: it makes a fit where none exists
MOST = 2**22  # numbers of the table that tune, at least as many rows as columns
ROUGH = 1e-3  # the decrement at which these fits stop


class Tuned(NamedTuple):
    """The `ridge` that left-out rows like best, and the `fit` (q width) with it, where another fit can start."""

    ridge: float
    fit: Floats | None = None


def _table(design: Design, y: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The standardised rows that tune."""
    most = max(MOST // design.width, 2 * design.width)
    chosen = np.arange(design.count)
    if design.count > most:
        chosen = rng.choice(design.count, size=most, replace=False, shuffle=False)
    return design.rows(chosen), y[chosen]


def left_out(loss: Loss, z: Floats, y: Floats, b: Floats, curvature: Floats) -> Floats:
    """The loss (n,) of each row z (n, d) at the fit b (q d) without it, from the curvature (q d, q d) with all."""
    q, d = loss.q, z.shape[1]
    inverse = np.linalg.inv(curvature)
    with np.errstate(all="ignore"):
        eta = z @ b.reshape(q, d).T
        _, slope, curve = loss.rows(eta, y)
        if q == 1:
            lever = ((z @ inverse) * z).sum(axis=1)
            shift = (lever * slope[:, 0] / np.maximum(1 - curve[:, 0, 0] * lever, 1e-9))[:, None]
        else:
            blocks = inverse.reshape(q, d, q, d)
            levers = np.einsum("nd,idje,ne->nij", z, blocks, z, optimize=True)
            apart = np.eye(q) * (1 + 1e-9) - levers @ curve
            shift = np.linalg.solve(apart, levers @ slope[..., None])[..., 0]
        return loss.rows(eta + shift, y)[0]


def tuned(loss: Loss, design: Design, y: Floats, rng: np.random.Generator) -> Tuned:
    """The ridge of the grid with the least loss of left-out rows."""
    z, answers = _table(design, y, rng)
    centre = centre_of(loss, design, y)[None]
    fits: dict[int, tuple[float, Floats]] = {}
    near = centre

    def score(i: int) -> float:
        nonlocal near
        if not 0 <= i < len(GRID):
            return np.inf
        if i not in fits:
            precision = diagonal(design, loss.q, GRID[i] or NEARLY_NONE)
            done = newton(
                lambda _: lambda b: terms(loss, z[None], answers[None], b),
                near,
                centre,
                precision,
                steps=60,
                small=ROUGH,
            )
            near = done.values
            total = float(left_out(loss, z, answers, near[0], done.curvature[0]).sum())
            fits[i] = total if np.isfinite(total) else np.inf, near[0]
        return fits[i][0]

    at = GRID.index(1.0)
    while True:
        best = min((at, at + 1, at - 1), key=score)
        if best == at:
            return Tuned(GRID[at], fits[at][1])
        at = best


def tuned_squares(design: Design, y: Floats, rng: np.random.Generator) -> Tuned:
    """The ridge of the grid with the least squared error of left-out rows."""
    z, answers = _table(design, y, rng)
    answers = answers - moments(design, y)[0]
    slopes = z[:, : design.columns]
    values, vectors = np.linalg.eigh(slopes.T @ slopes)
    turned = slopes @ vectors
    right, squares = turned.T @ answers, turned**2
    centre = 1 / len(z) if design.intercept else 0.0  # what the intercept adds to every row's leverage
    scores = []
    for ridge in GRID:
        weights = 1 / (np.maximum(values, 0.0) + max(ridge, NEARLY_NONE))
        lever = np.minimum(squares @ weights + centre, 1 - 1e-9)
        off = answers - turned @ (weights * right)
        scores.append(float(((off / (1 - lever)) ** 2).sum()))
    return Tuned(GRID[int(np.argmin(scores))])
