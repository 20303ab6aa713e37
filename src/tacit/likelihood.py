"""The likelihood of theta given Evidence, for many thetas at once.

Reports matter only through how often each distinct one was made: log L = sum over rows of count x ln(row . theta),
where a row is proportional to P(report | x) over x. `TableLikelihood` is that sum. When distinct reports are too many
to keep, `MomentLikelihood` replaces a channel's reports by the sums that Evidence always has: these are close to
Gaussian, with the exact mean q + (p - q) t and the exact covariance at a reference theta (t: theta by cells).

Both give `value(theta)` and `gradient(theta)` for theta of shape (P, K).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tacit.arrays import Floats

_CHUNK = 1 << 18  # entries of the work array (rows x thetas) handled at a time: it stays in the cache


class Likelihood(Protocol):
    """What a sampler may ask."""

    def value(self, theta: Floats) -> Floats:
        """The log-likelihood, up to a constant: (P, K) to (P,)."""

    def gradient(self, theta: Floats) -> Floats:
        """Its derivatives by theta, the entries taken as free: (P, K) to (P, K)."""

    def information(self, theta: Floats) -> Floats:
        """Minus its second derivatives at one theta (K,): a matrix (K, K)."""


class Inclusion(NamedTuple):
    """First and second moments of the inclusion indicators that a channel's tally sums up."""

    cell_of: npt.NDArray[np.int64]  # the cell of every category
    cells: int
    q: float  # P(a cell is held), not the answer's
    gain: float  # more for the answer's own cell
    both: float  # P(two cells are held), neither the answer's
    extra: float  # more if one of them is the answer's
    fixed_size: bool  # every report holds the same number of cells


@dataclass(frozen=True)
class TableLikelihood:
    """Distinct rows (D, K), the smallest entry of each 1, and their counts (D,)."""

    rows: Floats
    counts: Floats

    @cached_property
    def _single(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        return self.rows.astype(np.float32), self.counts.astype(np.float32)

    def _parts(self, chains: int) -> list[slice]:
        size = max(1, _CHUNK // chains)
        return [slice(start, start + size) for start in range(0, len(self.rows), size)]

    def value(self, theta: Floats) -> Floats:
        out = np.zeros(len(theta))
        for part in self._parts(len(theta)):
            mixed = self.rows[part] @ theta.T
            out += self.counts[part] @ np.log(mixed, out=mixed)
        return out

    def gradient(self, theta: Floats) -> Floats:
        out = np.zeros(theta.shape)
        for part in self._parts(len(theta)):
            out += (self.counts[part, None] / (self.rows[part] @ theta.T)).T @ self.rows[part]
        return out

    def information(self, theta: Floats) -> Floats:
        scaled = self.rows * (np.sqrt(self.counts) / (self.rows @ theta))[:, None]
        return scaled.T @ scaled

    def rough_gradient(self, theta: Floats) -> Floats:
        """The gradient in single precision: for proposals that a full-precision test then accepts or not."""
        rows, counts = self._single
        small = theta.T.astype(np.float32)
        out = np.zeros(theta.shape)
        for part in self._parts(len(theta)):
            mixed = rows[part] @ small
            np.divide(counts[part, None], mixed, out=mixed)
            out += mixed.T @ rows[part]
        return out


@dataclass(frozen=True)
class MomentLikelihood:
    """n reports of a channel whose tally has mean q + gain t by cell, t the law of the cells, known by its mean f.

    The covariance of one report's inclusions is D + U C U' with D diagonal and U = (1, t): two cells are held together
    with probability both + extra (t_i + t_j), whatever else. So its inverse costs O(cells). A subset report always
    holds the same number of cells, which makes the whole covariance singular: the last cell is left out then.
    """

    cell_of: npt.NDArray[np.int64]
    n: int
    mean: Floats  # f, the kept cells only
    q: float
    gain: float
    weight: Floats  # 1 / D
    basis: Floats  # U, (cells, 2)
    core: Floats  # C (I + U' D^-1 U C)^-1

    @classmethod
    def of(cls, moments: Inclusion, frequencies: Floats, n: int, theta: Floats) -> MomentLikelihood:
        """The likelihood of n reports with mean tally `frequencies`, its covariance taken at theta."""
        kept = slice(0, moments.cells - moments.fixed_size)
        t = np.bincount(moments.cell_of, theta, moments.cells)[kept].astype(np.float64)
        share = moments.q + moments.gain * t
        both = moments.both - moments.q**2
        extra = moments.extra - moments.q * moments.gain
        core = np.array([[both, extra], [extra, -(moments.gain**2)]])
        basis = np.column_stack([np.ones_like(t), t]).astype(np.float64)
        weight = 1 / (share * (1 - share) - np.einsum("ij,jk,ik->i", basis, core, basis))
        inner = core @ np.linalg.inv(np.eye(2) + basis.T @ (weight[:, None] * basis) @ core)
        mean = frequencies[kept]
        return cls(moments.cell_of, n, mean, moments.q, moments.gain, weight, basis, inner)

    def _cells(self, theta: Floats) -> Floats:
        if len(self.mean) == theta.shape[1]:
            return theta
        cells = np.zeros((len(theta), int(self.cell_of.max()) + 1))
        np.add.at(cells.T, self.cell_of, theta.T)
        return cells[:, : len(self.mean)]

    def _solved(self, residual: Floats) -> Floats:
        scaled: Floats = residual * self.weight
        scaled -= (scaled @ self.basis) @ self.core @ (self.basis * self.weight[:, None]).T
        return scaled

    def value(self, theta: Floats) -> Floats:
        residual = self.mean - self.q - self.gain * self._cells(theta)
        squares: Floats = (residual * self._solved(residual)).sum(axis=1)
        return -self.n / 2 * squares

    def gradient(self, theta: Floats) -> Floats:
        residual = self.mean - self.q - self.gain * self._cells(theta)
        by_cell = np.zeros((len(theta), int(self.cell_of.max()) + 1))
        by_cell[:, : len(self.mean)] = self.n * self.gain * self._solved(residual)
        return by_cell[:, self.cell_of]

    def information(self, theta: Floats) -> Floats:
        cells = int(self.cell_of.max()) + 1
        by_cell = np.zeros((cells, cells))
        kept = len(self.mean)
        by_cell[:kept, :kept] = self.n * self.gain**2 * self._solved(np.eye(kept))
        return by_cell[np.ix_(self.cell_of, self.cell_of)]


@dataclass(frozen=True)
class SumLikelihood:
    """Independent evidence: log-likelihoods add."""

    parts: tuple[Likelihood, ...]

    def value(self, theta: Floats) -> Floats:
        return self._total([part.value(theta) for part in self.parts])

    def gradient(self, theta: Floats) -> Floats:
        return self._total([part.gradient(theta) for part in self.parts])

    def information(self, theta: Floats) -> Floats:
        return self._total([part.information(theta) for part in self.parts])

    @staticmethod
    def _total(terms: list[Floats]) -> Floats:
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total
