"""What finite channels reported about a number, flat in memory: its log-likelihood at many points in one pass.

Every channel has its own cuts, for policies move them; often it has made one report only. A `CellTable` holds all cuts,
all rows P(report | cell) and all counts one behind the other, with the places where each channel starts. Its value at
P points costs one compiled pass and O(P) memory. Tables add up, in any order.

>>> from tacit.models.location_scale import Normal
>>> signs = CellTable.of([([50.0], [[0.3, 0.7]], [1]), ([60.0], [[0.7, 0.3], [0.3, 0.7]], [2, 1])])
>>> len(signs), signs.value(Normal(mean=0, sd=100), [[55, 10], [70, 10]]).round(3)
(4, array([-2.511, -2.846]))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.models import checks
from tacit.models.location_scale import LocationScale

Part = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, eq=False)
class CellTable:
    """Distinct reports of many channels; make one with `of`. Rows are scaled to a largest entry of 1."""

    cuts: Floats  # of all channels
    rows: Floats  # of all reports, flat
    counts: Floats  # of each report
    least: Floats  # the smallest entry of each report's row
    cut_at: Integers  # where the cuts of each channel start, and the end
    row_at: Integers  # where its rows start
    report_at: Integers  # where its reports start
    constant: float  # sum of counts x ln(what a row was divided by)

    @classmethod
    def of(cls, parts: Iterable[Part]) -> CellTable:
        """From (cuts (m,), rows (D, m + 1), counts (D,)) of each channel: its distinct reports, and how often."""
        if not isinstance(parts, Iterable):
            raise arrays.refuse(parts, "parts", checks.PARTS)
        shaped = [checks.shapes(part) for part in parts]
        cuts, rows, counts = (_flat([part[i] for part in shaped]) for i in range(3))
        cut_at, row_at, report_at = (_starts([part[i].size for part in shaped]) for i in range(3))
        inside = np.ones(max(len(cuts) - 1, 0), dtype=bool)
        inside[cut_at[1:-1] - 1] = False
        checks.contents(cuts, inside, rows, counts)
        if not shaped:
            return cls(cuts, rows, counts, counts, cut_at, row_at, report_at, 0.0)
        # Every report has its own row: where it starts, and how long it is.
        lengths = np.repeat(np.diff(cut_at) + 1, np.diff(report_at))
        own = _starts(lengths)[:-1]
        tops = np.maximum.reduceat(rows, own)
        checks.possible(tops)
        scaled = rows / np.repeat(tops, lengths)
        least = np.minimum.reduceat(scaled, own)
        constant = float(counts @ np.log(tops))
        return cls(cuts, scaled, counts, least, cut_at, row_at, report_at, constant)

    @classmethod
    def joined(cls, tables: Iterable[CellTable]) -> CellTable:
        """The sum of many tables, at the cost of one copy."""
        given = list(tables)
        return cls(
            _flat([table.cuts for table in given]),
            _flat([table.rows for table in given]),
            _flat([table.counts for table in given]),
            _flat([table.least for table in given]),
            _starts(_flat([np.diff(table.cut_at) for table in given])),
            _starts(_flat([np.diff(table.row_at) for table in given])),
            _starts(_flat([np.diff(table.report_at) for table in given])),
            sum(table.constant for table in given),
        )

    def __add__(self, other: CellTable) -> CellTable:
        if not isinstance(other, CellTable):
            return NotImplemented
        return CellTable.joined([self, other])

    def __len__(self) -> int:
        """The number of reports, each as often as it was made."""
        return round(float(self.counts.sum()))

    def value(self, model: LocationScale, points: npt.ArrayLike) -> Floats:
        """The log-likelihood at each row (mu, sigma) of `points`: shape (P,)."""
        from tacit.models import kernels

        where = np.ascontiguousarray(checks.points(points))
        out = np.full(len(where), self.constant)
        kernels.log_likelihood(
            *model.family.key,
            self.cuts,
            self.cut_at,
            self.rows,
            self.row_at,
            self.report_at,
            self.counts,
            self.least,
            where,
            out,
        )
        return out


def _flat(parts: Sequence[npt.NDArray[np.number]]) -> Floats:
    return np.concatenate([part.ravel() for part in parts]).astype(float) if parts else np.empty(0)


def _starts(sizes: npt.ArrayLike) -> Integers:
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)
