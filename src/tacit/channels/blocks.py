"""Numerical part of SRR and RRRR: the report is one category.

With f the law of the report and T = sum of theta over S, the table's weights (over their total) give

    f_y = d + (b - d) T + (a - b) theta_y   for y in S        inside  = (a, b, c)
    f_y = g + (c - g) T + (e - g) theta_y   for y outside S   outside = (e, d, g)

so theta follows from f in O(k), without a matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.channels.base import Channel, ratio, summed
from tacit_client.tables import Blocks, Value


class Weights(NamedTuple):
    """The table's six probabilities, in the letters of the module."""

    a: float
    b: float
    c: float
    e: float
    d: float
    g: float


class BlockChannel(Channel[Blocks]):
    """Standard (S empty) and randomly restricted randomised response."""

    @cached_property
    def _in_subset(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.k, dtype=np.bool_)
        mask[list(self.table.subset)] = True
        return mask

    @cached_property
    def _weights(self) -> Weights:
        t = self.table
        return Weights(*(ratio(w, t.total) for w in t.inside + t.outside))

    @cached_property
    def _order(self) -> Integers:
        """The categories, those of S first."""
        return np.argsort(~self._in_subset, kind="stable").astype(np.int64)

    def matrix(self) -> Floats:
        return self._likelihood(np.array(self.reports(), dtype=np.int64))

    def frequencies(self, theta: Floats) -> Floats:
        w, inside = self._weights, self._in_subset
        mass = float(theta[inside].sum())
        return np.where(
            inside,
            w.d + (w.b - w.d) * mass + (w.a - w.b) * theta,
            w.g + (w.c - w.g) * mass + (w.e - w.g) * theta,
        )

    def unbiased(self, frequencies: Floats, n: int) -> tuple[Floats, Floats]:
        w, inside, f = self._weights, self._in_subset, frequencies
        s = len(self.table.subset)
        # T from the share F of reports in S; then theta_y is linear in f_y and F.
        share = float(f[inside].sum())
        t = self.table
        # Differences are taken between the integers: floats would lose those of a tiny epsilon.
        spread = ratio(t.inside[0] + (s - 1) * t.inside[1] - s * t.outside[1], t.total) if s else 0.0
        slope = 1 / spread if spread else 0.0
        mass = (share - s * w.d) * slope
        gains = ratio(t.inside[0] - t.inside[1], t.total), ratio(t.outside[0] - t.outside[2], t.total)
        gain = np.where(inside, *gains)
        known = (gain > 0) & (s == 0 or spread != 0)
        by_own = np.divide(1.0, gain, out=np.full(self.k, np.nan), where=known)
        by_mass = np.where(inside, w.b - w.d, w.c - w.g)
        offset = np.where(inside, w.d, w.g) + by_mass * mass
        by_share = -by_mass * slope * by_own
        covariance = np.where(inside, f * (1 - share), -f * share)
        variance = by_own**2 * f * (1 - f) + by_share**2 * share * (1 - share)
        variance = (variance + 2 * by_own * by_share * covariance) / n
        return (f - offset) * by_own, np.where(known, variance, np.inf)

    def _empty(self, n: int) -> npt.NDArray[np.integer]:
        return np.empty(n, dtype=np.int64)

    def _sample(self, x: Integers, rng: np.random.Generator, out: npt.NDArray[np.integer]) -> None:
        w, s = self._weights, len(self.table.subset)
        u = rng.random(len(x))
        # As in the exact path: the own category's surplus first, then S, then the rest.
        if s == 0:
            u -= w.e - w.g
            np.clip(u / w.g, 0, self.k - 1, out=out, casting="unsafe")
        else:
            inside = self._in_subset[x]
            u -= np.where(inside, w.a - w.b, w.e - w.g)
            to_subset = np.where(inside, w.b, w.d)
            to_rest = np.where(inside, w.c, w.g)
            past = u - s * to_subset
            position = np.where(past < 0, _over(u, to_subset), s + _over(past, to_rest))
            position = np.clip(position, 0, self.k - 1).astype(np.int64)
            np.take(self._order, position, out=out)
        np.copyto(out, x, where=u < 0)

    def _likelihood(self, reports: Integers) -> Floats:
        w, inside = self._weights, self._in_subset
        rows = np.where(
            inside[reports][:, None],
            np.where(inside, w.b, w.d),
            np.where(inside, w.c, w.g),
        )
        own = np.where(inside[reports], w.a, w.e)
        rows[np.arange(len(reports)), reports] = own
        return rows

    def _tally(self, reports: Integers, counts: Integers | None) -> Integers:
        return summed(reports, counts, self.k)

    def _check_reports(self, reports: object) -> Integers:
        return arrays.integers(reports, "reports", 0, self.k - 1)

    def _report_count(self) -> int:
        return self.k

    def _reports(self) -> list[Value]:
        return list(range(self.k))

    def __repr__(self) -> str:
        t = self.table
        if not t.subset:
            return f"srr(k={t.k}, epsilon={self.epsilon:g})"
        subset = list(t.subset) if len(t.subset) <= 12 else f"<{len(t.subset)} categories>"
        return f"rrrr(k={t.k}, subset={subset}, epsilon={self.epsilon:g})"


def _over(u: Floats, weight: Floats) -> Floats:
    return np.divide(u, weight, out=np.zeros_like(u), where=weight > 0)
