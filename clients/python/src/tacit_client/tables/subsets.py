"""Subset response, plain and coarse: the report is a set of `size` cells.

Every answer has a cell: its own, or, when `keep` is given, the common last cell for the categories not kept.
A set of cells has weight `own` if it holds the answer's cell and `other` if not, whatever else it holds. So
there are only two probabilities, and the loss is ln(own / other).

With m cells, the share of the sets that hold a given cell is size / m. The cell of the answer is thus
included with probability size own / (size own + (m - size) other), and the others fill up uniformly.

>>> from fractions import Fraction
>>> table = Subsets(4, Fraction(7, 10), None, 2, 2, 1)
>>> table.weight((0, 3), 0), table.weight((0, 3), 1)
(2, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from tacit_client import check
from tacit_client.errors import TacitError
from tacit_client.tables.base import (
    RandBelow,
    Table,
    Value,
    Worst,
    bad_weights,
    check_increasing,
    check_pair,
    impossible,
    read_pair,
    write_pair,
)

MAX_SIZE = 2**16  # every report then fits into a message, whichever cells it holds


@dataclass(frozen=True)
class Subsets(Table):
    """`keep`: the categories with a cell of their own, sorted, or None for all of them."""

    kind: ClassVar[str] = "subset"
    required: ClassVar[frozenset[str]] = frozenset({"size", "own", "other"})
    optional: ClassVar[frozenset[str]] = frozenset({"keep"})

    k: int
    epsilon: Fraction
    keep: tuple[int, ...] | None
    size: int
    own: int
    other: int

    def __post_init__(self) -> None:
        self.check_common(self.size, self.own, self.other)
        if self.keep is not None:
            check_increasing(self.keep, "keep", self.k)
        if self.keep is not None and not 1 <= len(self.keep) <= self.k - 2:
            raise bad_weights(
                f"keep has {len(self.keep)} categories",
                "keep",
                f"keep 1 to {self.k - 2} categories, or leave keep out for all",
            )
        if not 1 <= self.size < self.cells:
            raise bad_weights(f"size is {self.size}", "size", f"give a size from 1 to {self.cells - 1}")
        if self.size > MAX_SIZE:
            raise bad_weights(
                f"size is {self.size}",
                "size",
                f"a report holds at most {MAX_SIZE} cells; use a hashed channel, or a smaller size",
            )
        check_pair(self.own, self.other)

    @property
    def columns(self) -> int:
        return self.size

    @cached_property
    def cells(self) -> int:
        """The number m of cells."""
        return self.k if self.keep is None else len(self.keep) + 1

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {x: cell for cell, x in enumerate(self.keep or ())}

    def cell(self, x: int) -> int:
        """The cell of answer x."""
        return x if self.keep is None else self._positions.get(x, self.cells - 1)

    @classmethod
    def read(cls, fields: dict[str, object], k: int, epsilon: Fraction) -> Subsets:
        keep = None
        if "keep" in fields:
            keep = check.parse_integers(fields["keep"], "keep", 0, k - 1)
        size = check.parse_integer(fields["size"], "size", 0, k)
        return cls(k, epsilon, keep, size, *read_pair(fields))

    def write(self) -> dict[str, object]:
        fields: dict[str, object] = {"size": str(self.size), **write_pair(self.own, self.other)}
        if self.keep is not None:
            fields["keep"] = [str(x) for x in self.keep]
        return fields

    def weight(self, report: Value, x: int) -> int:
        assert isinstance(report, tuple)
        return self.own if self.cell(x) in report else self.other

    def worst(self) -> Worst:
        # The set of the first `size` cells holds the first cell and not the last.
        first = 0 if self.keep is None else self.keep[0]
        last = next(x for x in reversed(range(self.k)) if self.cell(x) == self.cells - 1)
        return Worst(Fraction(self.own, self.other), first, last, tuple(range(self.size)))

    def check_report(self, report: object) -> tuple[int, ...]:
        expected = f"a list of {self.size} distinct cells, increasing, from 0 to {self.cells - 1}"
        if isinstance(report, str | bytes) or not hasattr(report, "__len__"):
            raise impossible(report, expected)
        if len(report) != self.size or not hasattr(report, "__iter__"):
            raise impossible(report, expected)
        try:
            cells = tuple(check.integer(c, "report", 0, self.cells - 1) for c in report)
        except TacitError:
            raise impossible(report, expected) from None
        if any(a >= b for a, b in pairwise(cells)):
            raise impossible(report, expected)
        return cells

    def _draw(self, x: int, randbelow: RandBelow) -> tuple[int, ...]:
        own, last = self.cell(x), self.cells - 1
        weight_in = self.size * self.own
        include = randbelow(weight_in + (self.cells - self.size) * self.other) < weight_in
        # `size` of the other cells in uniform order, by a Fisher-Yates shuffle that stores only what it
        # moved. The number of draws must not depend on `include`, so the last one is replaced instead.
        moved: dict[int, int] = {}
        chosen = []
        for i in range(self.size):
            j = i + randbelow(last - i)
            chosen.append(moved.get(j, j))
            moved[j] = moved.get(i, i)
        cells = [c + (c >= own) for c in chosen]
        if include:
            cells[-1] = own
        return tuple(sorted(cells))
