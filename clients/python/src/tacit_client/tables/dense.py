"""A randomiser given by its whole table: one integer weight for every report and answer.

All answers have the same sum of weights, so P(y | x) = rows[y][x] / total, and the loss is read off row by
row: the largest weight over the smallest.

>>> from fractions import Fraction
>>> Dense(2, Fraction(1), ((3, 1), (1, 3))).worst().ratio
Fraction(3, 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

from tacit_client import check
from tacit_client.tables.base import (
    RandBelow,
    Table,
    Value,
    Worst,
    bad_weights,
    most_and_least,
    plain_integer,
    refuse_zero,
)


@dataclass(frozen=True)
class Dense(Table):
    """`rows[y][x]` is the weight of report y under answer x."""

    kind: ClassVar[str] = "dense"
    required: ClassVar[frozenset[str]] = frozenset({"rows"})

    k: int
    epsilon: Fraction
    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.rows, tuple) or not all(isinstance(row, tuple) for row in self.rows):
            raise bad_weights("rows is not a tuple of tuples", "rows", "give tuples, which cannot change")
        self.check_common(*(weight for row in self.rows for weight in row))
        if not self.rows:
            raise bad_weights("there are no rows", "rows", "give one row for every report")
        for row in self.rows:
            if len(row) != self.k:
                raise bad_weights(
                    f"a row has {len(row)} weights", "rows", f"give {self.k} weights in each row"
                )
            refuse_zero(min(row), "rows")
        if len({sum(column) for column in zip(*self.rows, strict=True)}) != 1:
            raise bad_weights(
                "the columns have different sums",
                "rows",
                "every answer's weights must have the same sum",
            )

    @cached_property
    def total(self) -> int:
        """The sum of the weights of one answer over all reports."""
        return sum(row[0] for row in self.rows)

    @cached_property
    def _cumulative(self) -> list[list[int]]:
        return [list(accumulate(column)) for column in zip(*self.rows, strict=True)]

    @classmethod
    def read(cls, fields: dict[str, object], k: int, epsilon: Fraction) -> Dense:
        rows = fields["rows"]
        if not isinstance(rows, list):
            raise bad_weights("rows is not a list", "rows", "give a list of rows")
        return cls(
            k,
            epsilon,
            tuple(check.parse_integers(row, "rows", 0, 10**check.MAX_DIGITS) for row in rows),
        )

    def write(self) -> dict[str, object]:
        return {"rows": [[str(w) for w in row] for row in self.rows]}

    def weight(self, report: Value, x: int) -> int:
        assert isinstance(report, int)
        return self.rows[report][x]

    def worst(self) -> Worst:
        return max(
            (most_and_least([(w, x) for x, w in enumerate(row)], y) for y, row in enumerate(self.rows)),
            key=lambda worst: worst.ratio,
        )

    def check_report(self, report: object) -> int:
        return plain_integer(report, len(self.rows))

    def _draw(self, x: int, randbelow: RandBelow) -> int:
        t = randbelow(self.total)
        # Every bound is compared, whatever the outcome, so that the time tells less of it.
        return sum(t >= bound for bound in self._cumulative[x])
