"""Numerical part of subset and coarse subset response: the report is a set of cells.

With m cells and w the size, the cell of the answer is in the report with probability p, every other cell
with probability q = (w - p) / (m - 1). So the share of reports that hold cell j has mean
q + (p - q) t_j, where t_j is the probability that an answer falls into cell j.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.channels.base import Channel, ratio, summed
from tacit.likelihood import Inclusion
from tacit_client.tables import Subsets, Value


class SubsetChannel(Channel[Subsets]):
    """Subset response; reports are rows of `size` increasing cells."""

    @cached_property
    def cell_of(self) -> Integers:
        """The cell of every category, shape (k,)."""
        if self.table.keep is None:
            return np.arange(self.k)
        cells = np.full(self.k, self.table.cells - 1)
        cells[list(self.table.keep)] = np.arange(self.table.cells - 1)
        return cells

    @cached_property
    def inclusion(self) -> tuple[float, float]:
        """(p, q): the probability that a report holds the answer's cell, and any one other cell."""
        t = self.table
        p = ratio(t.size * t.own, t.size * t.own + (t.cells - t.size) * t.other)
        return p, (t.size - p) / (t.cells - 1)

    @cached_property
    def gain(self) -> float:
        """p - q, from the integers: zero only if the report says nothing."""
        t = self.table
        m, w = t.cells, t.size
        return ratio(w * (m - w) * (t.own - t.other), (m - 1) * (w * t.own + (m - w) * t.other))

    @cached_property
    def moments(self) -> Inclusion:
        """First and second moments of which cells a report holds."""
        m, size = self.table.cells, self.table.size
        p, q = self.inclusion
        with_own = p * (size - 1) / (m - 1)
        both = 0.0
        if m > 2:
            both = (p * (size - 1) * (size - 2) + (1 - p) * size * (size - 1)) / ((m - 1) * (m - 2))
        return Inclusion(self.cell_of, m, q, self.gain, both, with_own - both, fixed_size=True)

    def matrix(self) -> Floats:
        t = self.table
        reports = np.array(self.reports(), dtype=np.int64)
        low = math.comb(t.cells - 1, t.size) * t.other
        total = math.comb(t.cells - 1, t.size - 1) * t.own + low
        return np.where(self._holds(reports)[:, self.cell_of], ratio(t.own, total), ratio(t.other, total))

    def frequencies(self, theta: Floats) -> Floats:
        share = np.bincount(self.cell_of, theta, self.table.cells).astype(np.float64)
        return self.inclusion[1] + self.gain * share

    def unbiased(self, frequencies: Floats, n: int) -> tuple[Floats, Floats]:
        q, gain = self.inclusion[1], self.gain
        if gain == 0:
            return np.full(self.k, np.nan), np.full(self.k, np.inf)
        estimate = ((frequencies - q) / gain)[self.cell_of]
        variance = (frequencies * (1 - frequencies) / (n * gain**2))[self.cell_of]
        if self.table.keep is None:
            return estimate, variance
        merged = self.cell_of == self.table.cells - 1
        return np.where(merged, np.nan, estimate), np.where(merged, np.inf, variance)

    def _empty(self, n: int) -> npt.NDArray[np.integer]:
        dtype = np.int16 if self.table.cells < 2**15 else np.int32
        return np.empty((n, self.table.size), dtype=dtype)

    def _sample(self, x: Integers, rng: np.random.Generator, out: npt.NDArray[np.integer]) -> None:
        from tacit.channels import kernels

        kernels.sample_subsets(self.cell_of[x], self.table.cells, self.inclusion[0], rng, out)

    def _holds(self, reports: Integers) -> npt.NDArray[np.bool_]:
        """Shape (n, cells): whether report i holds cell j."""
        holds = np.zeros((len(reports), self.table.cells), dtype=np.bool_)
        np.put_along_axis(holds, reports, True, axis=1)
        return holds

    def _likelihood(self, reports: Integers) -> Floats:
        t = self.table
        return np.where(self._holds(reports)[:, self.cell_of], ratio(t.own, t.other), 1.0)

    def _tally(self, reports: Integers, counts: Integers | None) -> Integers:
        held = None if counts is None else np.repeat(counts, self.table.size)
        return summed(reports.ravel(), held, self.table.cells)

    def _check_reports(self, reports: object) -> Integers:
        t = self.table
        rows = arrays.integers(reports, "reports", 0, t.cells - 1, columns=t.size)
        if (rows[:, 1:] <= rows[:, :-1]).any():
            raise arrays.refuse(reports, "reports", "give each report as increasing, distinct cells")
        return rows

    def _report_count(self) -> int:
        m, size = self.table.cells, min(self.table.size, self.table.cells - self.table.size)
        # C(m, 30) with m >= 60 is beyond any list already; the exact number would take a while.
        return math.comb(m, min(size, 30))

    def _reports(self) -> list[Value]:
        return list(combinations(range(self.table.cells), self.table.size))

    def __repr__(self) -> str:
        t = self.table
        end = f"epsilon={self.epsilon:g}, size={t.size})"
        if t.keep is None:
            return f"subset(k={t.k}, {end}"
        keep = list(t.keep) if len(t.keep) <= 12 else f"<{len(t.keep)} categories>"
        return f"coarse(k={t.k}, keep={keep}, {end}"
