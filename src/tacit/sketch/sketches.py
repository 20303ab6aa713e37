"""Two sketches of a stream: what there is before privacy.

A table of d rows and w columns stands for the counts f_x of all items x of a stream. Row i keeps an item in column
h_i(x), so an update costs d additions and memory does not grow.

* **Count sketch** (Charikar, Chen and Farach-Colton, 2002): C[i, h_i(x)] += s_i(x) weight, with signs s_i. Each row
  estimates f_x by s_i(x) C[i, h_i(x)], without bias and with variance (F - f_x^2) / w, F the sum of the squared
  counts. The estimate is the median of the rows. d is odd: the median of an even number of rows can be a half,
  which whole noise does not hide.
* **Count-Min sketch** (Cormode and Muthukrishnan, 2005): no signs; each row over-estimates by (n - f_x) / w on
  average, n the weight of the stream. The estimate is the minimum. Weights are not negative.

A sketch gives no privacy, and its cells and answers are secrets as the stream is. `tacit.sketch.private` releases
them.

>>> sketch = CountSketch(d=5, w=1000, seed=1)
>>> sketch.update(["ant", "bee", "ant"])
>>> sketch.query(["ant", "bee", "cow"])
array([2, 1, 0])
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tacit import arrays
from tacit.arrays import Floats, Integers
from tacit.errors import TacitError
from tacit.sketch import bounds, hashing, wire
from tacit.sketch.items import Items, check_seed, read_items, read_weights
from tacit_client import check

LARGEST_TABLE = 2**31  # cells: 16 GiB
LARGEST_BATCH = 2**24  # cells read at a time
LARGEST_TOTAL = 2**62
DEPTH, WIDTH = 5, 5000


class Sketch:
    """What both share: `d` rows, `w` columns, the public `seed`, `cells` (d, w), and `total`, the weight added."""

    kind: ClassVar[str]
    signed: ClassVar[bool]
    least_weight: ClassVar[int]

    def __init__(self, d: int = DEPTH, w: int = WIDTH, seed: int = 0) -> None:
        self.d = check.integer(d, "d", 1, 255)
        self.w = check.integer(w, "w", 1, 2**31 - 1)
        if self.d * self.w > LARGEST_TABLE:
            raise TacitError(
                "argument_invalid",
                f"{self.d} rows of {self.w} columns are more than {LARGEST_TABLE} cells",
                argument="w",
                hint="take fewer columns; `advise` picks d and w for a given memory",
            )
        self.seed = check_seed(seed)
        self.cells: Integers = np.zeros((self.d, self.w), np.int64)
        self.total = 0
        self._moved = 0  # the sum of the absolute weights: keeps every cell within 64 bits

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, w={self.w}, seed={self.seed})"

    def update(self, items: object, weights: object = None) -> None:
        """Add items, each with weight 1 or its own whole weight."""
        read = read_items(items, self.seed)
        self.add(read, read_weights(weights, len(read), self.least_weight))

    def add(self, items: Items, weights: Integers) -> None:
        """Add items that were read before; a single weight stands for all."""
        from tacit.sketch import kernels

        each = len(items) if len(weights) == 1 else 1
        moved = self._moved + each * int(np.abs(weights).sum())
        if moved > LARGEST_TOTAL:
            raise TacitError(
                "argument_invalid",
                "the weights of this stream pass 2^62",
                argument="weights",
                hint="begin a new sketch, or weigh in a larger unit",
            )
        words = hashing.coefficients(self.seed, self.d)
        if items.keys is not None:
            keys = np.ascontiguousarray(items.keys).view(np.uint64)
            flip = hashing.integer_flip(self.seed)
            kernels.add_integers(keys, flip, weights, words, self.signed, self.cells)
        else:
            kernels.add_digests(items.digests, weights, words, self.signed, self.cells)
        self._moved = moved
        self.total += each * int(weights.sum())

    def rows(self, items: object) -> Integers:
        """What each row says of each item: (n, d)."""
        from tacit.sketch import kernels

        digests = read_items(items, self.seed).digests
        out = np.empty((len(digests), self.d), np.int64)
        kernels.read(digests, hashing.coefficients(self.seed, self.d), self.signed, self.cells, out)
        return out

    def places(self, items: object) -> tuple[Integers, npt.NDArray[np.int8]]:
        """The columns (n, d) that hold each item, and its signs (n, d); all signs are 1 in a Count-Min sketch."""
        digests = read_items(items, self.seed).digests
        columns, signs = hashing.places(digests, self.seed, self.d, self.w)
        return columns, signs if self.signed else np.ones_like(signs)

    def query(self, items: object) -> Integers:
        """The estimates (n,) of the counts of items."""
        read = read_items(items, self.seed)
        step = max(LARGEST_BATCH // self.d, 1)
        if len(read) <= step:
            return self.estimate(self.rows(read))
        digests = read.digests
        parts = [Items(self.seed, None, digests[k : k + step]) for k in range(0, len(digests), step)]
        return np.concatenate([self.estimate(self.rows(part)) for part in parts])

    @staticmethod
    def estimate(rows: npt.NDArray[Any]) -> Integers:
        """One number for each row of `rows` (n, d)."""
        raise NotImplementedError

    def interval(self, items: object, level: float = 0.95) -> tuple[Floats, Floats]:
        """Ends of an interval around each estimate that holds the count with probability `level` or more.

        The probability is over the seed: it must not be chosen by who makes the stream or the queries. See `bounds`.
        """
        alpha = 1 - bounds.check_level(level)
        return self._interval(read_items(items, self.seed), alpha)

    def _interval(self, items: Items, alpha: float) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def heavy_hitters(self, candidates: object, share: float) -> Integers:
        """The positions of the candidates estimated at `share` of the stream or more, the heaviest first."""
        least = check.bounded(share, "share", lambda v: 0 < v <= 1, "give a share above 0 and at most 1")
        estimates = self.query(candidates)
        found = np.flatnonzero(estimates >= float(least) * self.total)
        return found[np.argsort(-estimates[found], kind="stable")]

    def merge(self, other: Sketch) -> None:
        """Add all that `other` holds. Both must be of one kind, shape and seed."""
        if not isinstance(other, Sketch) or repr(other) != repr(self):
            raise TacitError(
                "sketch_mismatch",
                f"{check.shown(other)} does not merge into {self!r}",
                argument="other",
                hint="build both with the same class, d, w and seed",
            )
        if self._moved + other._moved > LARGEST_TOTAL:
            raise arrays.refuse(other, "other", "the weights of both pass 2^62: keep the sketches apart")
        self.cells += other.cells
        self.total += other.total
        self._moved += other._moved

    def copy(self) -> Self:
        """An independent sketch with the same content."""
        made = type(self)(self.d, self.w, self.seed)
        made.cells[:] = self.cells
        made.total, made._moved = self.total, self._moved
        return made

    def forget_total(self) -> None:
        """Drop the exact weight of the stream, which a state that others may see must not hold."""
        self.total = self._moved = 0

    def header(self) -> dict[str, Any]:
        """All but the cells, for `wire`."""
        names = {"kind": self.kind, "d": self.d, "w": self.w, "seed": self.seed}
        return names | {"total": self.total, "moved": self._moved}

    def to_bytes(self) -> bytes:
        """A versioned, checksummed form: `tacit.sketch.from_bytes` reads it back. It holds secrets."""
        return wire.pack("sketch", self.header(), {"cells": self.cells})


class CountSketch(Sketch):
    """Signed rows, estimate by the median; d is odd."""

    kind = "count"
    signed = True
    least_weight = -(2**31 - 1)

    def __init__(self, d: int = DEPTH, w: int = WIDTH, seed: int = 0) -> None:
        super().__init__(d, w, seed)
        if self.d % 2 == 0:
            raise TacitError(
                "argument_invalid",
                f"d is {self.d}",
                argument="d",
                hint="take an odd number of rows: an even one has half-integer medians, which whole noise cannot hide",
            )

    @staticmethod
    def estimate(rows: npt.NDArray[Any]) -> Integers:
        from tacit.sketch import kernels

        out = np.empty(len(rows), np.int64)
        kernels.medians(np.ascontiguousarray(rows, dtype=np.int64), out)
        return out

    def second_moment(self) -> float:
        """The median over the rows of the sums of squared cells: an estimate of F, the sum of the squared counts."""
        return float(np.median((self.cells.astype(np.float64) ** 2).sum(axis=1)))

    def _interval(self, items: Items, alpha: float) -> tuple[Floats, Floats]:
        k = bounds.ranks(alpha, self.d)
        if k:
            rows = np.sort(self.rows(items), axis=1).astype(np.float64)
            return rows[:, k - 1], rows[:, self.d - k]
        estimates = self.query(items).astype(np.float64)
        reach = bounds.median_reach(alpha, self.d, self.second_moment() / self.w)
        return estimates - reach, estimates + reach


class CountMinSketch(Sketch):
    """Rows without signs, estimate by the minimum; weights are not negative."""

    kind = "count-min"
    signed = False
    least_weight = 0

    @staticmethod
    def estimate(rows: npt.NDArray[Any]) -> Integers:
        out: Integers = rows.min(axis=1).astype(np.int64)
        return out

    def _interval(self, items: Items, alpha: float) -> tuple[Floats, Floats]:
        estimates = self.query(items).astype(np.float64)
        return estimates - bounds.minimum_reach(alpha, self.d, self.total / self.w), estimates


KINDS: dict[str, type[Sketch]] = {kind.kind: kind for kind in (CountSketch, CountMinSketch)}


def unpack(header: dict[str, Any], parts: dict[str, npt.NDArray[Any]]) -> Sketch:
    """The sketch that `header` and the cells describe; KeyError, TypeError or ValueError when they do not."""
    made = KINDS[header["kind"]](header["d"], header["w"], header["seed"])
    if parts["cells"].shape != made.cells.shape:
        raise ValueError("the cells have another shape")
    made.cells[:] = parts["cells"]
    made.total, made._moved = int(header["total"]), int(header["moved"])
    return made
