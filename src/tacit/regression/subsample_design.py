"""The columns of X on one scale, read in blocks: dense or sparse, never copied whole when large.

A row becomes z = ((x - mean) / scale, 1). On that scale one weak penalty suits every column, and normal equations
are as well conditioned as they can be cheaply. A column that is constant becomes zero. Sparse rows are made dense a
block at a time: the p x p matrices of these estimators are dense anyway.

>>> import numpy as np
>>> design = Design(np.array([[1.0, 5.0], [3.0, 5.0]]), intercept=True)
>>> design.rows(np.array([0, 1]))
array([[-1.,  0.,  1.],
       [ 1.,  0.,  1.]])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacit.arrays import Floats, Integers

Booleans = npt.NDArray[np.bool_]

BLOCK = 2**19  # numbers in a block: four megabytes, so that it stays in the cache of a core
KEEP = 2**22  # numbers of a standardised table that is kept, instead of made again for every pass


class Design:
    """The standardised rows of a table (N, p) of finite numbers; `width` counts the intercept's column."""

    def __init__(self, table: Any, intercept: bool) -> None:
        self.table = table
        self.intercept = intercept
        self.count, self.columns = table.shape
        self.width = self.columns + intercept
        self.mean, self.scale = np.zeros(self.columns), np.ones(self.columns)
        self.mean, self.scale, self.live = self._moments()
        self._kept = self._standard(table) if self.count * self.width <= KEEP else None

    def _dense(self, rows: Any) -> Floats:
        return rows.toarray() if sparse.issparse(rows) else rows  # type: ignore[no-any-return]

    def _moments(self) -> tuple[Floats, Floats, Floats]:
        """Mean and scale of the columns, and 1.0 for those that vary."""
        step = max(1, BLOCK // max(self.columns, 1))
        starts = range(0, self.count, step)
        mean = np.zeros(self.columns)
        if self.intercept:
            mean = sum((self._dense(self.table[i : i + step]).sum(axis=0) for i in starts), mean) / self.count
        square = np.zeros(self.columns)
        for i in starts:
            square += ((self._dense(self.table[i : i + step]) - mean) ** 2).sum(axis=0)
        scale = np.sqrt(square / self.count)
        live = scale > 1e-13 * np.abs(mean)
        return mean, np.where(live, scale, 1.0), live.astype(np.float64)

    def _standard(self, rows: Any) -> Floats:
        made = np.ones((rows.shape[0], self.width))
        made[:, : self.columns] = (self._dense(rows) - self.mean) * (self.live / self.scale)
        return made

    def rows(self, chosen: Integers) -> Floats:
        """The standardised rows of these numbers, in the shape of `chosen`, and a last axis of `width`."""
        flat = chosen.ravel()
        made = self._standard(self.table[flat]) if self._kept is None else self._kept[flat]
        return made.reshape(*chosen.shape, self.width)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """All rows in order: (which, standardised)."""
        if self._kept is not None:
            yield slice(0, self.count), self._kept
            return
        step = max(1, BLOCK // self.width)
        for i in range(0, self.count, step):
            part = slice(i, min(i + step, self.count))
            yield part, self._standard(self.table[part])

    def gram(self) -> Floats:
        """Z'Z of all rows, (width, width)."""
        total = np.zeros((self.width, self.width))
        for _, block in self.blocks():
            total += block.T @ block
        return total

    def slopes(self, standard: Floats) -> Floats:
        """Coefficients (..., width) of z as those of x, (..., columns)."""
        return standard[..., : self.columns] * (self.live / self.scale)

    def offset(self, standard: Floats) -> Floats:
        """The intercept that goes with the coefficients of x."""
        if not self.intercept:
            return np.zeros(standard.shape[:-1])
        return standard[..., -1] - self.slopes(standard) @ self.mean
