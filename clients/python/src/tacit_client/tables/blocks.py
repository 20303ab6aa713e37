"""Randomised response in two blocks: SRR and RRRR (restrict, randomise, report, randomise).

The answers fall into a restricted set S and the rest. A report is one category, and its weight depends on
three things only: whether the answer is in S, whether the report is in S, and whether they are equal.

              report = answer   other report in S   other report outside S
    inside    inside[0]         inside[1]           inside[2]               (answer in S)
    outside   outside[0]        outside[1]          outside[2]              (answer outside S)

Both rows of weights must have the same sum over all k reports, so P(y | x) is weight / total. An entry
that no pair uses is zero. With S empty this is standard randomised response.

>>> from fractions import Fraction
>>> Blocks(3, Fraction(7, 10), (), (0, 0, 0), (2, 0, 1)).worst()
Worst(ratio=Fraction(2, 1), likely=0, unlikely=1, report=0)
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from tacit_client import check
from tacit_client.tables.base import (
    RandBelow,
    Table,
    Value,
    Worst,
    bad_weights,
    check_increasing,
    most_and_least,
    plain_integer,
    refuse_zero,
)

Row = tuple[int, int, int]


@dataclass(frozen=True)
class Blocks(Table):
    """A two-block randomiser: `subset` sorted, `inside` and `outside` as in the module's table."""

    kind: ClassVar[str] = "blocks"
    required: ClassVar[frozenset[str]] = frozenset({"subset", "inside", "outside"})

    k: int
    epsilon: Fraction
    subset: tuple[int, ...]
    inside: Row
    outside: Row

    def __post_init__(self) -> None:
        if not all(isinstance(row, tuple) and len(row) == 3 for row in (self.inside, self.outside)):
            raise bad_weights("a row does not have three weights", "inside", "give tuples of three weights")
        self.check_common(*self.inside, *self.outside)
        check_increasing(self.subset, "subset", self.k)
        s, rest = len(self.subset), self.k - len(self.subset)
        if rest < 1:
            raise bad_weights("subset holds every category", "subset", "leave one category out")
        self._check_row("inside", self.inside, (s > 0, s > 1, s > 0))
        self._check_row("outside", self.outside, (True, s > 0, rest > 1))
        if s and self._sum(self.inside, s - 1, rest) != self.total:
            raise bad_weights(
                "the weights of the two rows have different sums",
                "inside",
                "every answer's weights must have the same sum",
            )

    @staticmethod
    def _check_row(field: str, row: Row, used: tuple[bool, bool, bool]) -> None:
        for weight, needed in zip(row, used, strict=True):
            if needed:
                refuse_zero(weight, field)
            elif weight != 0:
                raise bad_weights(f"{field} has a weight that nothing uses", field, "write 0 there")
        if row[0] < (row[1] if field == "inside" else row[2]):
            raise bad_weights(f"{field} favours a lie over the answer", field, "put the largest weight first")

    @staticmethod
    def _sum(row: Row, others_in: int, others_out: int) -> int:
        return row[0] + others_in * row[1] + others_out * row[2]

    @cached_property
    def total(self) -> int:
        """The sum of the weights of one answer over all reports."""
        return self._sum(self.outside, len(self.subset), self.k - len(self.subset) - 1)

    @cached_property
    def _members(self) -> frozenset[int]:
        return frozenset(self.subset)

    @cached_property
    def _skipped(self) -> list[int]:
        # subset[i] - i categories outside S lie below subset[i].
        return [x - i for i, x in enumerate(self.subset)]

    def outsider(self, j: int) -> int:
        """The j-th category outside `subset`, without a list of them all."""
        return j + bisect_right(self._skipped, j)

    @classmethod
    def read(cls, fields: dict[str, object], k: int, epsilon: Fraction) -> Blocks:
        subset = check.parse_integers(fields["subset"], "subset", 0, k - 1)
        return cls(k, epsilon, subset, _read_row(fields, "inside"), _read_row(fields, "outside"))

    def write(self) -> dict[str, object]:
        return {
            "subset": [str(x) for x in self.subset],
            "inside": [str(w) for w in self.inside],
            "outside": [str(w) for w in self.outside],
        }

    def weight(self, report: Value, x: int) -> int:
        row = self.inside if x in self._members else self.outside
        if report == x:
            return row[0]
        return row[1] if report in self._members else row[2]

    def worst(self) -> Worst:
        # All reports in S look alike, and so do all outside: two reports stand for them.
        s, out = self.subset, self.outsider(0)
        in_rest = [(self.outside[0], out)]
        if self.k - len(s) > 1:
            in_rest.append((self.outside[2], self.outsider(1)))
        if not s:
            return most_and_least(in_rest, out)
        in_rest.append((self.inside[2], s[0]))
        in_subset = [(self.inside[0], s[0]), (self.outside[1], out)]
        if len(s) > 1:
            in_subset.append((self.inside[1], s[1]))
        found = (most_and_least(in_rest, out), most_and_least(in_subset, s[0]))
        return max(found, key=lambda worst: worst.ratio)

    def check_report(self, report: object) -> int:
        return plain_integer(report, self.k)

    def _draw(self, x: int, randbelow: RandBelow) -> int:
        inside = x in self._members
        own, to_subset, to_rest = self.inside if inside else self.outside
        # The answer's own block also gives it a share of that block's weight: take it off first.
        t = randbelow(self.total) - (own - (to_subset if inside else to_rest))
        # Another category is looked up whatever the outcome, so that the time tells less of it.
        u, first = max(t, 0), len(self.subset) * to_subset
        drawn = self.subset[u // to_subset] if u < first else self.outsider((u - first) // to_rest)
        return x if t < 0 else drawn


def _read_row(fields: dict[str, object], field: str) -> Row:
    row = check.parse_integers(fields[field], field, 0, 10**check.MAX_DIGITS)
    if len(row) != 3:
        raise bad_weights(f"{field} has {len(row)} weights", field, "give three weights")
    return row[0], row[1], row[2]
