"""Losses of a linear predictor: value, slope and curvature of every row.

A row with predictor eta (q numbers, mostly one) and answer y costs

    logistic       log(1 + exp(eta)) - y eta                      y in {0, 1}
    multinomial    -log softmax(H eta)[y]                          H (K, K - 1) orthonormal contrasts
    poisson        exp(eta) - y eta                                y >= 0
    hinge          max(0, 1 - y eta), rounded over a width h       y in {-1, 1}
    squared hinge  max(0, 1 - y eta)^2                             y in {-1, 1}

The contrasts take away the direction that softmax does not see, and keep squared norms: a scalar penalty of
eta's coefficients is scikit-learn's penalty of the K rows.

>>> import numpy as np
>>> value, slope, curve = Logistic().rows(np.zeros((1, 1)), np.ones(1))
>>> float(value[0].round(4)), float(slope[0, 0]), float(curve[0, 0, 0])
(0.6931, -0.5, 0.25)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_softmax

from tacit.arrays import Floats
from tacit.regression.subsample_design import Booleans

Rows = tuple[Floats, Floats, Floats]


class Loss(Protocol):
    """A loss with `q` numbers a row."""

    @property
    def q(self) -> int: ...

    def rows(self, eta: Floats, y: Floats) -> Rows:
        """(value (..., n), slope (..., n, q), curvature (..., n, q, q)) at eta (..., n, q)."""

    def null(self, y: Floats) -> Floats:
        """The intercepts (q,) that fit y without any column, kept finite."""

    def apart(self, eta: Floats, y: Floats) -> Booleans:
        """Whether eta predicts all of y without an error: then no finite fit is best. One answer for each batch."""


@dataclass(frozen=True)
class Logistic:
    """Two classes."""

    q: int = 1

    def rows(self, eta: Floats, y: Floats) -> Rows:
        """See `Loss`."""
        e = eta[..., 0]
        share = expit(e)
        curve = share * (1 - share)
        return np.logaddexp(0.0, e) - y * e, (share - y)[..., None], curve[..., None, None]

    def null(self, y: Floats) -> Floats:
        """The log-odds, with half a row of either class added."""
        ones = y.sum()
        return np.array([np.log((ones + 0.5) / (len(y) - ones + 0.5))])

    def apart(self, eta: Floats, y: Floats) -> Booleans:
        """Both classes are there, each on its own side."""
        mixed = (y.max(axis=-1) > y.min(axis=-1)) & ((2 * y - 1) * eta[..., 0] > 0).all(axis=-1)
        return mixed | (y.max(axis=-1) == y.min(axis=-1))  # type: ignore[no-any-return]


def contrasts(k: int) -> Floats:
    """An orthonormal basis (K, K - 1) of the vectors that sum to zero."""
    made = np.zeros((k, k - 1))
    for j in range(k - 1):
        made[: j + 1, j] = 1.0
        made[j + 1, j] = -(j + 1.0)
        made[:, j] /= np.sqrt((j + 1.0) * (j + 2.0))
    return made


@dataclass(frozen=True)
class Multinomial:
    """K classes, by K - 1 contrasts; y holds the numbers of the classes."""

    classes: int

    @property
    def q(self) -> int:
        """Contrasts."""
        return self.classes - 1

    def rows(self, eta: Floats, y: Floats) -> Rows:
        """See `Loss`."""
        h = contrasts(self.classes)
        logs = log_softmax(eta @ h.T, axis=-1)
        shares = np.exp(logs)
        mine = y[..., None] == np.arange(self.classes)
        value = -(logs * mine).sum(axis=-1)
        slope = (shares - mine) @ h
        mean = shares @ h
        curve = (
            np.einsum("...k,ki,kj->...ij", shares, h, h, optimize=True)
            - mean[..., :, None] * mean[..., None, :]
        )
        return value, slope, curve

    def null(self, y: Floats) -> Floats:
        """The logs of the shares, with half a row of each class added."""
        counts = np.bincount(y.astype(np.int64), minlength=self.classes) + 0.5
        return np.log(counts / counts.sum()) @ contrasts(self.classes)  # type: ignore[no-any-return]

    def apart(self, eta: Floats, y: Floats) -> Booleans:
        """Every row's own class leads, or a class is missing."""
        scores = eta @ contrasts(self.classes).T
        mine = y[..., None] == np.arange(self.classes)
        others = np.where(mine, -np.inf, scores).max(axis=-1)
        own = np.where(mine, scores, -np.inf).max(axis=-1)
        return (own > others).all(axis=-1) | ~mine.any(axis=-2).all(axis=-1)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Poisson:
    """Counts, with the logarithm as link."""

    q: int = 1

    def rows(self, eta: Floats, y: Floats) -> Rows:
        """See `Loss`; a mean that overflows is infinite, and the step that led there is refused."""
        e = eta[..., 0]
        with np.errstate(over="ignore"):
            mean = np.exp(e)
        return mean - y * e, (mean - y)[..., None], mean[..., None, None]

    def null(self, y: Floats) -> Floats:
        """The log of the mean, with half a count added."""
        return np.array([np.log((y.sum() + 0.5) / (len(y) + 0.5))])

    def apart(self, eta: Floats, y: Floats) -> Booleans:
        """No count at all."""
        return (y <= 0).all(axis=-1)  # type: ignore[return-value]


@dataclass(frozen=True)
class Hinge:
    """The hinge, a parabola where the margin is between 1 - h and 1: within h / 2 of it everywhere."""

    h: float
    q: int = 1

    def rows(self, eta: Floats, y: Floats) -> Rows:
        """See `Loss`."""
        short = 1.0 - y * eta[..., 0]
        part = np.clip(short / self.h, 0.0, 1.0)
        value = part * (short - 0.5 * self.h * part)
        inside = (short > 0) & (short < self.h)
        return value, (-y * part)[..., None], (inside / self.h)[..., None, None]

    def null(self, y: Floats) -> Floats:
        """Nothing known."""
        return np.zeros(1)

    def apart(self, eta: Floats, y: Floats) -> Booleans:
        """A machine without a penalty has no unique fit."""
        return np.ones(y.shape[:-1], dtype=bool)


@dataclass(frozen=True)
class SquaredHinge:
    """The square of the hinge."""

    q: int = 1

    def rows(self, eta: Floats, y: Floats) -> Rows:
        """See `Loss`."""
        short = np.maximum(1.0 - y * eta[..., 0], 0.0)
        return short**2, (-2.0 * y * short)[..., None], (2.0 * (short > 0))[..., None, None]  # type: ignore[return-value]

    def null(self, y: Floats) -> Floats:
        """Nothing known."""
        return np.zeros(1)

    def apart(self, eta: Floats, y: Floats) -> Booleans:
        """A machine without a penalty has no unique fit."""
        return np.ones(y.shape[:-1], dtype=bool)
