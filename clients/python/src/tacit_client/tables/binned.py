"""A randomiser of numbers: cuts divide the line into cells, and a finite table randomises the cell.

    cell of x = how many cuts are <= x

So a number equal to a cut falls into the upper cell. Cuts and numbers are exact decimals and compared as fractions:
no rounding decides a cell. Finding the cell is a deterministic step before the randomiser, so the weights, the
loss and the reports are those of the finite table, whose answers are the cells 0..k-1, k one more than the cuts.

A device never adds noise to the number itself. Noise made of floating-point numbers leaves gaps between its possible
sums, and which sums are possible tells the number (Mironov 2012, "On significance of the least significant bits for
differential privacy"); a table of integers has no such gaps.

>>> from tacit_client.tables.blocks import Blocks
>>> sign = Binned((Fraction(50),), Blocks(2, Fraction(7, 10), (), (0, 0, 0), (2, 0, 1)))
>>> [sign.cell(Fraction(x)) for x in ("49.999", "50", "50.001")]
[0, 1, 1]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from tacit_client import canonical, check
from tacit_client.errors import TacitError
from tacit_client.tables.base import RandBelow, Table, Value, Worst, bad_weights, kind_of
from tacit_client.tables.blocks import Blocks
from tacit_client.tables.dense import Dense
from tacit_client.tables.hashed import Hashed
from tacit_client.tables.subsets import Subsets

FINITE: dict[str, type[Table]] = {kind.kind: kind for kind in (Blocks, Dense, Hashed, Subsets)}
MAX_CUTS = 2**16 - 1


@dataclass(frozen=True)
class Binned(Table):
    """`cuts`: increasing decimal fractions; `inner`: a finite table over the cells, whose k and epsilon it has."""

    kind: ClassVar[str] = "binned"
    required: ClassVar[frozenset[str]] = frozenset({"cuts", "inner"})

    cuts: tuple[Fraction, ...]
    inner: Table

    def __post_init__(self) -> None:
        if not isinstance(self.inner, tuple(FINITE.values())):
            raise bad_weights(
                f"inner is {check.shown(self.inner)}",
                "inner",
                "give a finite table: the cells are its answers",
            )
        if not isinstance(self.cuts, tuple) or not 1 <= len(self.cuts) <= MAX_CUTS:
            raise bad_weights(
                f"cuts is {check.shown(self.cuts)}", "cuts", f"give a tuple of 1 to {MAX_CUTS} cuts"
            )
        for cut in self.cuts:
            if not isinstance(cut, Fraction) or not check.fits_signed_decimal(cut):
                raise bad_weights(
                    f"a cut is {check.shown(cut)}",
                    "cuts",
                    f"give fractions with a finite decimal of at most {check.MAX_DECIMAL} characters",
                )
        if any(a >= b for a, b in pairwise(self.cuts)):
            raise bad_weights("the cuts do not increase", "cuts", "give each cut once, in order")
        if len(self.cuts) + 1 != self.inner.k:
            raise bad_weights(
                f"{len(self.cuts)} cuts make {len(self.cuts) + 1} cells, and inner takes {self.inner.k}",
                "cuts",
                "give one cut less than the k of inner",
            )

    @property
    def k(self) -> int:  # type: ignore[override]
        return self.inner.k

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        return self.inner.epsilon

    @property
    def columns(self) -> int:
        return self.inner.columns

    def cell(self, x: Fraction) -> int:
        """The cell of a number: how many cuts are <= x."""
        # Every cut is compared, whatever the outcome, so that the time tells less of it.
        return sum(cut <= x for cut in self.cuts)

    @classmethod
    def read(cls, fields: dict[str, object], k: int, epsilon: Fraction) -> Binned:
        inner, cuts = fields["inner"], fields["cuts"]
        if not isinstance(inner, dict):
            raise _refuse("inner", inner, "write a JSON object")
        if not isinstance(cuts, list) or len(cuts) != k - 1:
            raise _refuse("cuts", cuts, f"write a list of {k - 1} decimal strings, one less than k")
        if k > MAX_CUTS + 1:
            raise _refuse("k", k, f"a channel of numbers has at most {MAX_CUTS + 1} cells")
        table = kind_of(inner, FINITE)
        own = canonical.read_fields(inner, "inner", table.required | {"kind"}, table.optional)
        parsed = tuple(check.parse_signed_decimal(cut, "cuts") for cut in cuts)
        return cls(parsed, table.read(own, k, epsilon))

    def write(self) -> dict[str, object]:
        cuts = [check.format_decimal(cut) for cut in self.cuts]
        return {"cuts": cuts, "inner": {"kind": self.inner.kind, **self.inner.write()}}

    def weight(self, report: Value, x: int) -> int:
        return self.inner.weight(report, x)

    def worst(self) -> Worst:
        return self.inner.worst()

    def check_report(self, report: object) -> Value:
        return self.inner.check_report(report)

    def _draw(self, x: int, randbelow: RandBelow) -> Value:
        return self.inner._draw(x, randbelow)


def _refuse(field: str, value: object, hint: str) -> TacitError:
    return TacitError("field_invalid", f"{field} is {check.shown(value)}", argument=field, hint=hint)
