"""Numerical part of a channel given by its whole matrix: the report is a row number.

The law of the report is f = P theta. theta is estimated by least squares, P+ f, with the covariance
P+ (diag f - f f') P+' / n; a category that P does not tell from others is left unknown.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.channels.base import Channel, ratio, summed
from tacit_client.tables import Dense, Value


class DenseChannel(Channel[Dense]):
    """A channel from an explicit table."""

    @cached_property
    def _probabilities(self) -> Floats:
        total = self.table.total
        return np.array([[ratio(w, total) for w in row] for row in self.table.rows])

    def matrix(self) -> Floats:
        return self._probabilities.copy()

    def frequencies(self, theta: Floats) -> Floats:
        return self._probabilities @ theta

    def unbiased(self, frequencies: Floats, n: int) -> tuple[Floats, Floats]:
        inverse = np.linalg.pinv(self._probabilities, rcond=1e-12)
        estimate = inverse @ frequencies
        variance = (inverse**2 @ frequencies - estimate**2) / n
        identity = inverse @ self._probabilities
        known = np.abs(identity - np.eye(self.k)).max(axis=1) < 1e-6
        return np.where(known, estimate, np.nan), np.where(known, variance, np.inf)

    def _empty(self, n: int) -> npt.NDArray[np.integer]:
        return np.empty(n, dtype=np.int64)

    def _sample(self, x: Integers, rng: np.random.Generator, out: npt.NDArray[np.integer]) -> None:
        u = rng.random(len(x))
        for answer in np.unique(x):
            chosen = x == answer
            edges = np.cumsum(self._probabilities[:, answer])
            out[chosen] = np.searchsorted(edges[:-1], u[chosen], side="right")

    def _likelihood(self, reports: Integers) -> Floats:
        return self._probabilities[reports]

    def _tally(self, reports: Integers, counts: Integers | None) -> Integers:
        return summed(reports, counts, len(self.table.rows))

    def _check_reports(self, reports: object) -> Integers:
        return arrays.integers(reports, "reports", 0, len(self.table.rows) - 1)

    def _report_count(self) -> int:
        return len(self.table.rows)

    def _reports(self) -> list[Value]:
        return list(range(len(self.table.rows)))

    def __repr__(self) -> str:
        rows = len(self.table.rows)
        return f"<channel from a {rows} x {self.k} matrix, epsilon={self.epsilon:g}>"
