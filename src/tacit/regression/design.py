"""Penalised weighted least squares, again and again on the same rows.

With weights w (n,) and a Gaussian prior of the coefficients, mean m and precision P, the step minimises

    1/2 sum_i w_i (y_i - b_0 - x_i' b)^2 + 1/2 (b - m)' P (b - m),   so   (X' W X + P) b = X' W y + P m

with nothing on the intercept b_0; ridge regression is m = 0, P = alpha I. Columns are centred (dense X and an
intercept) and divided by their spread once, so that the normal equations are as well conditioned as the data allow,
and directions that no row tells apart (constant columns, copies) are left out: their coefficients are those of
least norm. Rows are read in blocks, so the memory beside the standardised X is small.

>>> import numpy as np
>>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
>>> design = Design(x, np.ones(4), intercept=True)
>>> beta = design.solve(np.ones(4), np.array([1.0, 3.0, 5.0, 7.0]), design.flat)
>>> design.user(beta, centre=0.0, unit=1.0)
(1.0, array([2.]))
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from tacit.arrays import Floats, Integers

BLOCK = 8192  # rows at a time: their temporaries stay in the cache
SAME = 1e-12  # eigenvalue of the standardised X'X, beside the largest, that counts as none


class Penalty(NamedTuple):
    """What a prior adds to the normal equations of q coefficients: precision (q, q), precision times mean (q,)."""

    precision: Floats
    pull: Floats

    def value(self, beta: Floats) -> float:
        """1/2 (b - m)' P (b - m), up to a constant."""
        return float(beta @ (0.5 * (self.precision @ beta) - self.pull))


class Design:
    """The rows (n, p) of X, dense or CSR, standardised; an intercept is coefficient 0 of q = p + 1."""

    def __init__(self, x: Any, weight: Floats, intercept: bool) -> None:
        self.intercept, self.n = int(intercept), x.shape[0]
        self.q = x.shape[1] + self.intercept
        total = float(weight.sum())
        if sparse.issparse(x):
            square = x.multiply(x).T @ weight
            self.centre = np.zeros(x.shape[1])
            self.spread = _nonzero(np.sqrt(square / total))
            self.x = sparse.csr_array(x @ sparse.diags_array(1 / self.spread))
        else:
            self.centre = weight @ x / total if intercept else np.zeros(x.shape[1])
            self.x = x - self.centre  # a copy: the caller's array stays as it is
            square = np.zeros(x.shape[1])
            for rows in self.blocks():
                square += weight[rows] @ (self.x[rows] ** 2)
            spread = np.sqrt(square / total)
            # What is left of a constant column after centring is rounding, not spread.
            flat = spread <= 1e-13 * (np.abs(self.centre) + spread)
            self.x[:, flat] = 0.0
            self.spread = _nonzero(np.where(flat, 0.0, spread))
            self.x /= self.spread
        self._basis: Floats | None = None
        self.rank = self.q
        self._find_basis(weight / total)

    def take(self, rows: Integers | slice) -> Design:
        """The same standardised columns, on some of the rows."""
        found = copy(self)
        found.x = self.x[rows]
        found.n = found.x.shape[0]
        return found

    def blocks(self) -> Iterator[slice]:
        """The rows, a block at a time."""
        for start in range(0, self.n, BLOCK):
            yield slice(start, min(start + BLOCK, self.n))

    @property
    def flat(self) -> Penalty:
        """No prior."""
        return Penalty(np.zeros((self.q, self.q)), np.zeros(self.q))

    def penalty(self, precision: Floats, mean: Floats, unit: float) -> Penalty:
        """A prior of the user's coefficients, in those of this design, where y was divided by `unit`."""
        found = self.flat
        scaled = precision * unit**2 / np.outer(self.spread, self.spread)
        found.precision[self.intercept :, self.intercept :] = scaled
        found.pull[self.intercept :] = scaled @ (mean * self.spread / unit)
        return found

    def _find_basis(self, weight: Floats) -> None:
        gram, _ = self.normal(weight, np.zeros(self.n))
        values, vectors = np.linalg.eigh(gram)
        keep = values > SAME * max(values[-1], 0.0)
        self.rank = int(keep.sum())
        if self.rank < self.q:
            self._basis = vectors[:, keep]

    def predict(self, beta: Floats) -> Floats:
        """X b."""
        found: Floats = self.x @ beta[self.intercept :]
        return found + beta[0] if self.intercept else found

    def normal(self, weight: Floats, y: Floats) -> tuple[Floats, Floats]:
        """X' W X (q, q) and X' W y (q,)."""
        gram, moment = np.zeros((self.q, self.q)), np.zeros(self.q)
        body = gram[self.intercept :, self.intercept :]
        if sparse.issparse(self.x):
            weighted = self.x.multiply(weight[:, None]).tocsr()
            body += (self.x.T @ weighted).toarray()
            moment[self.intercept :] = weighted.T @ y
            margin = np.asarray(weighted.sum(axis=0)).ravel()
        else:
            margin = np.zeros(self.x.shape[1])
            for rows in self.blocks():
                x, w = self.x[rows], weight[rows]
                weighted = x * w[:, None]
                body += x.T @ weighted
                moment[self.intercept :] += y[rows] @ weighted
                margin += w @ x
        if self.intercept:
            gram[0, 0], moment[0] = weight.sum(), weight @ y
            gram[0, 1:] = gram[1:, 0] = margin
        return gram, moment

    def product(self, columns: Floats) -> Floats:
        """X' times `columns` (n, k): (q, k)."""
        found: Floats = np.asarray(self.x.T @ columns)
        return np.vstack([columns.sum(axis=0), found]) if self.intercept else found

    def solve(self, weight: Floats, y: Floats, penalty: Penalty) -> Floats:
        """The coefficients (q,) of penalised weighted least squares."""
        gram, moment = self.normal(weight, y)
        return self.solution(
            gram + penalty.precision, moment + penalty.pull, penalised=bool(penalty.precision.any())
        )

    def solution(self, gram: Floats, moment: Floats, penalised: bool = False) -> Floats:
        """gram^-1 moment, within the directions that the rows tell apart unless a prior tells of the others."""
        basis = None if penalised else self._basis
        if basis is not None:
            gram, moment = basis.T @ gram @ basis, basis.T @ moment
        _, found, singular = lapack.dposv(gram, moment)
        if singular:
            found = np.linalg.lstsq(gram, moment, rcond=SAME)[0]
        solved: Floats = found if basis is None else basis @ found
        return solved

    def directions(self, penalty: Penalty) -> Floats:
        """Orthonormal columns (q, .) that span what rows and prior tell apart."""
        whole = self._basis is None or penalty.precision.any()
        return np.eye(self.q) if whole or self._basis is None else self._basis

    def map(self, unit: float) -> Floats:
        """The matrix (q, q) that takes coefficients of this design to the user's, but for the centre of y."""
        found = np.diag(unit / np.concatenate([np.ones(self.intercept), self.spread]))
        if self.intercept:
            found[0, 1:] = -self.centre * unit / self.spread
        return found

    def user(self, beta: Floats, centre: float, unit: float) -> tuple[float, Floats]:
        """Intercept and coefficients of y itself, given those of (y - centre) / unit."""
        found = self.map(unit) @ beta
        return (float(found[0] + centre), found[1:]) if self.intercept else (0.0, found)

    def own(self, intercept: float, coef: Floats, centre: float, unit: float) -> Floats:
        """The inverse of `user`."""
        scaled = coef * self.spread / unit
        if not self.intercept:
            return scaled
        return np.concatenate([[(intercept - centre + self.centre @ coef) / unit], scaled])


def _nonzero(spread: Floats) -> Floats:
    return np.where(spread > 0, spread, 1.0)
